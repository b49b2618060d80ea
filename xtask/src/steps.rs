//! A command that runs steps, in their order, up to the first failure.

use std::time::Instant;

use anyhow::{Result, bail};

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

/// What was asked for.
enum Selection {
    /// The names of the steps.
    List,
    /// The steps are to run in this order: those of `--only` as they were named, else all.
    Steps(Vec<&'static CheckStep>),
}

impl StepCommand {
    /// Runs every step, or those that are named.
    ///
    /// # Errors
    /// The first step that fails, with what to do.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<()> {
        match self.parse_selection(arguments)? {
            Selection::List => {
                for step in self.steps {
                    print_line(&format!("{:11}{}", step.name, step.description));
                }
                Ok(())
            }
            Selection::Steps(steps) => self.run_steps(&steps),
        }
    }

    fn parse_selection(&self, arguments: &[&str]) -> Result<Selection> {
        let mut named = Vec::new();
        let mut rest = arguments;
        loop {
            rest = match rest {
                [] if named.is_empty() => return Ok(Selection::Steps(self.steps.iter().collect())),
                [] => return Ok(Selection::Steps(named)),
                ["--list"] => return Ok(Selection::List),
                ["--only", name, rest @ ..] => {
                    let Some(step) = self.steps.iter().find(|step| step.name == *name) else {
                        let names: Vec<_> = self.steps.iter().map(|step| step.name).collect();
                        bail!("there is no step {name}; there are {}", names.join(", "));
                    };
                    named.push(step);
                    rest
                }
                _ => bail!("cargo {} takes nothing but --only STEP and --list", self.name),
            };
        }
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
    use super::*;

    const fn step(name: &'static str, run: fn() -> Result<()>) -> CheckStep {
        CheckStep { name, description: "", run, remedy: "mend it" }
    }

    const STEPS: &[CheckStep] = &[step("fmt", || Ok(())), step("tests", || Ok(()))];
    const TRY: StepCommand = StepCommand { name: "try", steps: STEPS, success_word: "tried" };

    fn names(arguments: &[&str]) -> Result<Vec<&'static str>> {
        match TRY.parse_selection(arguments)? {
            Selection::List => Ok(vec!["--list"]),
            Selection::Steps(steps) => Ok(steps.iter().map(|step| step.name).collect()),
        }
    }

    #[test]
    fn all_steps_run_unless_some_are_named() {
        assert_eq!(names(&[]).unwrap(), ["fmt", "tests"]);
        assert_eq!(names(&["--only", "tests", "--only", "fmt"]).unwrap(), ["tests", "fmt"]);
        assert_eq!(names(&["--list"]).unwrap(), ["--list"]);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_there_is() {
        let error = names(&["--only", "test"]).unwrap_err().to_string();
        assert_eq!(error, "there is no step test; there are fmt, tests");
        for bad in [&["--only"][..], &["tests"], &["--list", "--only"]] {
            let error = names(bad).unwrap_err().to_string();
            assert_eq!(error, "cargo try takes nothing but --only STEP and --list");
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
