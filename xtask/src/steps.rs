//! A command that runs steps, in their order, up to the first failure.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::terminal::say;
use crate::time;

/// One thing that is done.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// What it looks at, for people.
    pub(crate) what: &'static str,
    pub(crate) run: fn() -> Result<()>,
    /// What to do when it fails.
    pub(crate) remedy: &'static str,
}

/// A command of steps.
pub(crate) struct Command {
    /// How it is called: `cargo NAME`.
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [Step],
    /// What it has done in the end.
    pub(crate) done: &'static str,
}

/// What was asked for.
enum Asked {
    /// The names of the steps.
    List,
    /// To run these.
    Steps(Vec<&'static Step>),
}

impl Command {
    /// Runs every step, or those that are named.
    ///
    /// # Errors
    /// The first step that fails, with what to do.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<()> {
        match self.asked(arguments)? {
            Asked::List => {
                for step in self.steps {
                    say(&format!("{:11}{}", step.name, step.what));
                }
                Ok(())
            }
            Asked::Steps(steps) => self.run_steps(&steps),
        }
    }

    fn asked(&self, arguments: &[&str]) -> Result<Asked> {
        let mut named = Vec::new();
        let mut rest = arguments;
        loop {
            rest = match rest {
                [] if named.is_empty() => return Ok(Asked::Steps(self.steps.iter().collect())),
                [] => return Ok(Asked::Steps(named)),
                ["--list"] => return Ok(Asked::List),
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

    fn run_steps(&self, steps: &[&Step]) -> Result<()> {
        let began = Instant::now();
        for (n, step) in (1..).zip(steps) {
            say(&format!("{n}/{} {}: {}", steps.len(), step.name, step.what));
            let began = Instant::now();
            let outcome = (step.run)();
            let took = time::in_words(began.elapsed());
            if let Err(error) = outcome {
                let Step { name, remedy, .. } = step;
                bail!(
                    "\n{name} failed after {took}: {error:#}\n    to do: {remedy}\n    again: cargo \
                     {} --only {name}",
                    self.name
                );
            }
            say(&format!("    {took}"));
        }
        say(&format!("{} in {}", self.done, time::in_words(began.elapsed())));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn step(name: &'static str, run: fn() -> Result<()>) -> Step {
        Step { name, what: "", run, remedy: "mend it" }
    }

    const STEPS: &[Step] = &[step("fmt", || Ok(())), step("tests", || Ok(()))];
    const TRY: Command = Command { name: "try", steps: STEPS, done: "tried" };

    fn names(arguments: &[&str]) -> Result<Vec<&'static str>> {
        match TRY.asked(arguments)? {
            Asked::List => Ok(vec!["--list"]),
            Asked::Steps(steps) => Ok(steps.iter().map(|step| step.name).collect()),
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
