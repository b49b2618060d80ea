//! Commands that run steps up to the first failure.

mod side_by_side;

use std::fmt;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::process::program_command;
use crate::terminal::print_line;
use crate::{time, workspace};

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
/// steps leaves out a step of [`StepCommand::steps`] and reports so in the last line.
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
    /// The steps that run one after another.
    pub(crate) steps: &'static [CheckStep],
    /// The steps that run after those, two at a time, each as a command with `--only`, so none of them may be
    /// [`Impossible`]. Steps named with `--only` run one after another.
    pub(crate) side_by_side: &'static [CheckStep],
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
            for step in self.all_steps() {
                print_line(&format!("{:11}{}", step.name, step.description));
            }
            return Ok(());
        }
        let summary = self.run_steps(arguments)?;
        print_line(&summary);
        Ok(())
    }

    /// Returns all steps, in their order.
    pub(crate) fn all_steps(&self) -> impl Iterator<Item = &'static CheckStep> {
        self.steps.iter().chain(self.side_by_side)
    }

    /// The steps of these names, in their order.
    fn find_steps(&self, names: &[String]) -> Result<Vec<&'static CheckStep>> {
        let find = |name: &String| {
            self.all_steps().find(|step| step.name == name).with_context(|| {
                let names: Vec<_> = self.all_steps().map(|step| step.name).collect();
                format!("there is no step {name}; there are {}", names.join(", "))
            })
        };
        names.iter().map(find).collect()
    }

    /// Runs the selected steps, and returns a sentence about steps left out.
    fn run_steps(&self, arguments: &StepArguments) -> Result<String> {
        let began = Instant::now();
        let mut left_out = Vec::new();
        let mut steps = self.find_steps(&arguments.only)?;
        let mut side_by_side = Vec::new();
        let has_names = !steps.is_empty();
        if !has_names {
            steps.extend(self.steps);
            side_by_side.extend(self.side_by_side);
        }
        for skipped in self.find_steps(&arguments.skip)? {
            steps.retain(|step| step.name != skipped.name);
            side_by_side.retain(|step| step.name != skipped.name);
            left_out.push(format!("{} (--skip)", skipped.name));
        }
        let total = steps.len() + side_by_side.len();
        for (n, step) in (1..).zip(&steps) {
            let place = if total == 1 { String::new() } else { format!("{n}/{total} ") };
            print_line(&format!("{place}{}: {}", step.name, step.description));
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
                bail!("\n{} failed after {took}: {error:#}\n{}", step.name, self.advice(step));
            }
            if total > 1 {
                print_line(&format!("    {took}"));
            }
        }
        self.run_side_by_side(&side_by_side)?;
        let took = time::format_duration(began.elapsed());
        let but = if left_out.is_empty() { "" } else { ", BUT FOR " };
        Ok(format!("{} in {took}{but}{}", self.success_word, left_out.join(", ")))
    }

    /// Runs steps as commands with `--only`. After a failure, no further step begins.
    fn run_side_by_side(&self, steps: &[&CheckStep]) -> Result<()> {
        // Not the running program: the build may have replaced its file.
        let program = workspace::profile_dir("debug").join("xtask");
        let command =
            |step: &&CheckStep| program_command(&program, &[self.name, "--only", step.name]);
        let commands = steps.iter().map(command).collect();
        let failed = side_by_side::run(commands, &mut std::io::stdout())?;
        let failed: Vec<_> = failed.into_iter().filter_map(|place| steps.get(place)).collect();
        let Some(first) = failed.first() else { return Ok(()) };
        let names: Vec<_> = failed.iter().map(|step| step.name).collect();
        bail!("\n{} failed, as the output says\n{}", names.join(" and "), self.advice(first))
    }

    /// What to do after a failure of a step.
    fn advice(&self, step: &CheckStep) -> String {
        let CheckStep { name, remedy, .. } = step;
        format!("    to do: {remedy}\n    again: cargo {} --only {name}", self.name)
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
        let command = StepCommand { name: "try", steps, side_by_side: &[], success_word: "tried" };
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
