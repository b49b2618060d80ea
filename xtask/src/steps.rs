//! Commands that run steps in order up to the first failure.

use std::fmt;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::terminal::print_line;
use crate::time;

/// A step of a command.
pub(crate) struct CheckStep {
    pub(crate) name: &'static str,
    /// The subject of the step, for users.
    pub(crate) description: &'static str,
    pub(crate) run: fn() -> Result<()>,
    /// The action to take after a failure.
    pub(crate) remedy: &'static str,
}

/// The error of a step that is impossible on this machine. A step named with `--only` fails. A run of all
/// steps leaves the step out and reports so in the last line.
#[derive(Debug)]
pub(crate) struct Impossible(pub(crate) String);

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Impossible {}

/// A command of steps.
pub(crate) struct StepCommand {
    /// The name in `cargo NAME`.
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [CheckStep],
    /// The past participle for the success message.
    pub(crate) success_word: &'static str,
}

/// The selected steps.
#[derive(clap::Args)]
pub(crate) struct StepArguments {
    /// Runs only this step; repeat the option to run several steps in that order.
    #[arg(long, value_name = "STEP", conflicts_with = "list")]
    only: Vec<String>,
    /// Skips this step; can be repeated.
    #[arg(long, value_name = "STEP", conflicts_with = "list")]
    skip: Vec<String>,
    /// Lists the steps and what each one checks.
    #[arg(long)]
    list: bool,
}

impl StepCommand {
    /// Runs every step, or the selected steps.
    ///
    /// # Errors
    /// Returns the error of the first failed step, with the remedy.
    pub(crate) fn run(&self, arguments: &StepArguments) -> Result<()> {
        if arguments.list {
            for step in self.steps {
                print_line(&format!("{:11}{}", step.name, step.description));
            }
            return Ok(());
        }
        let summary = self.run_steps(arguments)?;
        print_line(&summary);
        Ok(())
    }

    /// The steps of these names, in their order.
    fn find_steps(&self, names: &[String]) -> Result<Vec<&'static CheckStep>> {
        let find = |name: &String| {
            self.steps.iter().find(|step| step.name == name).with_context(|| {
                let names: Vec<_> = self.steps.iter().map(|step| step.name).collect();
                format!("there is no step {name}; there are {}", names.join(", "))
            })
        };
        names.iter().map(find).collect()
    }

    /// Runs the selected steps, and returns a sentence about steps left out.
    fn run_steps(&self, arguments: &StepArguments) -> Result<String> {
        let has_names = !arguments.only.is_empty();
        let mut steps = self.find_steps(&arguments.only)?;
        if !has_names {
            steps.extend(self.steps);
        }
        let mut left_out = Vec::new();
        for skipped in self.find_steps(&arguments.skip)? {
            steps.retain(|step| step.name != skipped.name);
            left_out.push(format!("{} (--skip)", skipped.name));
        }
        let began = Instant::now();
        for (n, step) in (1..).zip(&steps) {
            print_line(&format!("{n}/{} {}: {}", steps.len(), step.name, step.description));
            let began = Instant::now();
            let outcome = (step.run)();
            let took = time::format_duration(began.elapsed());
            if let Err(error) = outcome {
                let is_impossible = error.is::<Impossible>();
                if is_impossible && !has_names {
                    print_line(&format!("    LEFT OUT: {error:#}"));
                    left_out.push(format!("{} ({error})", step.name));
                    continue;
                }
                let CheckStep { name, remedy, .. } = step;
                bail!(
                    "\n{name} failed after {took}: {error:#}\n    to do: {remedy}\n    again: cargo \
                     {} --only {name}",
                    self.name
                );
            }
            print_line(&format!("    {took}"));
        }
        let took = time::format_duration(began.elapsed());
        let but = if left_out.is_empty() { "" } else { ", BUT FOR " };
        Ok(format!("{} in {took}{but}{}", self.success_word, left_out.join(", ")))
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

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        steps: StepArguments,
    }

    fn parse(words: &[&str]) -> Result<StepArguments, clap::Error> {
        Words::try_parse_from(["try"].iter().chain(words)).map(|words| words.steps)
    }

    /// The last line of a run of these steps without its time, or why it failed.
    fn summary(steps: &'static [CheckStep], words: &[&str]) -> Result<String, String> {
        let command = StepCommand { name: "try", steps, success_word: "tried" };
        let arguments = parse(words).map_err(|error| error.to_string())?;
        let summary = command.run_steps(&arguments).map_err(|error| error.to_string())?;
        let (word, rest) = summary.split_once(" in ").unwrap();
        Ok(rest.split_once(", ").map_or(word.to_owned(), |(_, but)| format!("{word}, {but}")))
    }

    #[test]
    fn all_steps_run_unless_some_are_named_or_skipped() {
        const STEPS: &[CheckStep] =
            &[step("fmt", || bail!("fmt ran")), step("tests", || bail!("tests ran"))];
        for (words, ran) in [
            (&[][..], "fmt"),
            (&["--only", "tests", "--only", "fmt"], "tests"),
            (&["--skip", "fmt"], "tests"),
            (&["--only", "fmt", "--only", "tests", "--skip", "fmt"], "tests"),
        ] {
            let failure = summary(STEPS, words).unwrap_err();
            assert!(failure.contains(&format!("{ran} ran")), "{words:?}: {failure}");
        }
        let all = summary(STEPS, &["--skip", "fmt", "--skip", "tests"]);
        assert_eq!(all.unwrap(), "tried, BUT FOR fmt (--skip), tests (--skip)");
        assert!(parse(&["--list"]).unwrap().list);
    }

    #[test]
    fn impossible_step_fails_if_named_and_is_reported_otherwise() {
        const STEPS: &[CheckStep] = &[
            step("advisories", || Err(Impossible("no database".to_owned()).into())),
            step("fmt", || Ok(())),
        ];
        let all = summary(STEPS, &[]).unwrap();
        assert_eq!(all, "tried, BUT FOR advisories (no database)");
        assert_eq!(summary(STEPS, &["--only", "fmt"]).unwrap(), "tried");
        let failure = summary(STEPS, &["--only", "advisories"]).unwrap_err();
        assert!(
            failure.contains("advisories failed") && failure.contains("no database"),
            "{failure}"
        );
        let skipped = summary(STEPS, &["--only", "advisories", "--skip", "advisories"]).unwrap();
        assert_eq!(skipped, "tried, BUT FOR advisories (--skip)");
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_there_is() {
        for word in ["--only", "--skip"] {
            let error = summary(STEPS, &[word, "test"]).unwrap_err();
            assert_eq!(error, "there is no step test; there are fmt, tests");
        }
        for bad in [&["--only"][..], &["tests"], &["--list", "--only", "fmt"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_failure_stops_and_says_what_to_do() {
        const STEPS: &[CheckStep] = &[
            step("broken", || bail!("it broke")),
            step("never", || panic!("ran after a failure")),
        ];
        let error = summary(STEPS, &[]).unwrap_err();
        assert!(error.starts_with("\nbroken failed after 0.0 s: it broke\n"), "{error}");
        assert!(error.ends_with("to do: mend it\n    again: cargo try --only broken"), "{error}");
    }
}
