//! A command that runs steps, in their order, up to the first failure.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::terminal::print_line;
use crate::time;

/// One thing that is done.
pub(crate) struct CheckStep {
    pub(crate) name: &'static str,
    /// What it looks at, for people.
    pub(crate) description: &'static str,
    pub(crate) run: fn() -> Result<()>,
    /// What to do when it fails.
    pub(crate) remedy: &'static str,
}

/// A command of steps.
pub(crate) struct StepCommand {
    /// How it is called: `cargo NAME`.
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [CheckStep],
    /// What it has done in the end.
    pub(crate) success_word: &'static str,
}

/// Which steps are meant.
#[derive(clap::Args)]
pub(crate) struct StepArguments {
    /// Runs this step alone; more than one run in the order in which they are named.
    #[arg(long, value_name = "STEP", conflicts_with = "list")]
    only: Vec<String>,
    /// Names the steps and what each looks at.
    #[arg(long)]
    list: bool,
}

impl StepCommand {
    /// Runs every step, or those that are named.
    ///
    /// # Errors
    /// The first step that fails, with what to do.
    pub(crate) fn run(&self, arguments: &StepArguments) -> Result<()> {
        if arguments.list {
            for step in self.steps {
                print_line(&format!("{:11}{}", step.name, step.description));
            }
            return Ok(());
        }
        self.run_steps(&self.select_steps(&arguments.only)?)
    }

    /// The steps of these names, in their order; all where none is named.
    fn select_steps(&self, names: &[String]) -> Result<Vec<&'static CheckStep>> {
        if names.is_empty() {
            return Ok(self.steps.iter().collect());
        }
        let find = |name: &String| {
            self.steps.iter().find(|step| step.name == name).with_context(|| {
                let names: Vec<_> = self.steps.iter().map(|step| step.name).collect();
                format!("there is no step {name}; there are {}", names.join(", "))
            })
        };
        names.iter().map(find).collect()
    }

    fn run_steps(&self, steps: &[&CheckStep]) -> Result<()> {
        let began = Instant::now();
        for (n, step) in (1..).zip(steps) {
            print_line(&format!("{n}/{} {}: {}", steps.len(), step.name, step.description));
            let began = Instant::now();
            let outcome = (step.run)();
            let took = time::format_duration(began.elapsed());
            if let Err(error) = outcome {
                let CheckStep { name, remedy, .. } = step;
                bail!(
                    "\n{name} failed after {took}: {error:#}\n    to do: {remedy}\n    again: cargo \
                     {} --only {name}",
                    self.name
                );
            }
            print_line(&format!("    {took}"));
        }
        print_line(&format!("{} in {}", self.success_word, time::format_duration(began.elapsed())));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const fn step(name: &'static str, run: fn() -> Result<()>) -> CheckStep {
        CheckStep { name, description: "", run, remedy: "mend it" }
    }

    const STEPS: &[CheckStep] = &[step("fmt", || Ok(())), step("tests", || Ok(()))];
    const TRY: StepCommand = StepCommand { name: "try", steps: STEPS, success_word: "tried" };

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        steps: StepArguments,
    }

    fn parse(words: &[&str]) -> Result<StepArguments, clap::Error> {
        Words::try_parse_from(["try"].iter().chain(words)).map(|words| words.steps)
    }

    fn names(words: &[&str]) -> Result<Vec<&'static str>> {
        let steps = TRY.select_steps(&parse(words)?.only)?;
        Ok(steps.iter().map(|step| step.name).collect())
    }

    #[test]
    fn all_steps_run_unless_some_are_named() {
        assert_eq!(names(&[]).unwrap(), ["fmt", "tests"]);
        assert_eq!(names(&["--only", "tests", "--only", "fmt"]).unwrap(), ["tests", "fmt"]);
        assert!(parse(&["--list"]).unwrap().list);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_there_is() {
        let error = names(&["--only", "test"]).unwrap_err().to_string();
        assert_eq!(error, "there is no step test; there are fmt, tests");
        for bad in [&["--only"][..], &["tests"], &["--list", "--only", "fmt"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_failure_stops_and_says_what_to_do() {
        let broken = step("broken", || bail!("it broke"));
        let never = step("never", || panic!("ran after a failure"));
        let error = TRY.run_steps(&[&broken, &never]).unwrap_err().to_string();
        assert!(error.starts_with("\nbroken failed after 0.0 s: it broke\n"), "{error}");
        assert!(error.ends_with("to do: mend it\n    again: cargo try --only broken"), "{error}");
    }
}
