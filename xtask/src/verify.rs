//! `cargo verify`: everything CI runs, in this order, up to the first failure.
//!
//! A new step is a line in [`STEPS`] and a function. Steps install what they need under `target/`
//! and find it there the next time.

mod deny;
mod rust;
mod time;

use std::time::Instant;

use anyhow::{Result, bail};

use crate::template;
use crate::terminal::say;

/// One thing that is verified.
struct Step {
    name: &'static str,
    /// What it looks at, for people.
    what: &'static str,
    run: fn() -> Result<()>,
    /// What to do when it fails.
    remedy: &'static str,
}

/// Quick ones first; `template` before `tests`, which read the file it writes.
const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        what: "the code is formatted",
        run: rust::fmt,
        remedy: "run cargo fmt --all",
    },
    Step {
        name: "deny",
        what: "dependencies: bans, licenses, sources",
        run: deny::run_checks,
        remedy: "take the dependency out, or say in deny.toml why it may stay",
    },
    Step {
        name: "template",
        what: "template.yaml, what SAM makes of it, and that the checks can fail",
        run: template::run,
        remedy: "change template.yaml; a rule itself is in infra/check/rules.py",
    },
    Step {
        name: "clippy",
        what: "no warnings, tests included",
        run: rust::clippy,
        remedy: "change the code, or allow the lint where it is wrong, with a reason",
    },
    Step {
        name: "docs",
        what: "the documentation builds without warnings",
        run: rust::docs,
        remedy: "change the documentation that it names",
    },
    Step {
        name: "tests",
        what: "all tests",
        run: rust::tests,
        remedy: "run the failed test alone: cargo test -p CRATE NAME",
    },
    Step {
        name: "hand-over",
        what: "the stories over HTTP again, handed over after every record",
        run: rust::hand_over,
        remedy: "run the failed one alone: DJINN_ALWAYS_HAND_OVER=1 cargo test -p djinn-tests NAME",
    },
    Step {
        name: "lambdasim",
        what: "the functions in a simulated Lambda: deadlines, crashes, freezes, hand-overs",
        run: rust::lambdasim,
        remedy: "read what the functions logged: target/tmp/lambdasim-*.log",
    },
    Step {
        name: "watch",
        what: "questions to the functions under cargo lambda watch",
        run: rust::watch,
        remedy: "try it by hand: cargo dev watch",
    },
];

/// What was asked for.
enum Asked {
    /// The names of the steps.
    List,
    /// To run these.
    Steps(Vec<&'static Step>),
}

/// Runs the steps, or those that are named.
///
/// # Errors
/// The first step that fails, with what to do.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    match asked(arguments)? {
        Asked::List => {
            for step in STEPS {
                say(&format!("{:10}{}", step.name, step.what));
            }
            Ok(())
        }
        Asked::Steps(steps) => run_steps(&steps),
    }
}

fn asked(arguments: &[&str]) -> Result<Asked> {
    let mut named = Vec::new();
    let mut rest = arguments;
    loop {
        rest = match rest {
            [] if named.is_empty() => return Ok(Asked::Steps(STEPS.iter().collect())),
            [] => return Ok(Asked::Steps(named)),
            ["--list"] => return Ok(Asked::List),
            ["--only", name, rest @ ..] => {
                let Some(step) = STEPS.iter().find(|step| step.name == *name) else {
                    let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
                    bail!("there is no step {name}; there are {}", names.join(", "));
                };
                named.push(step);
                rest
            }
            _ => bail!("cargo verify takes nothing but --only STEP and --list"),
        };
    }
}

fn run_steps(steps: &[&Step]) -> Result<()> {
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
                 verify --only {name}"
            );
        }
        say(&format!("    {took}"));
    }
    say(&format!("verified in {}", time::in_words(began.elapsed())));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Result<Vec<&'static str>> {
        match asked(arguments)? {
            Asked::List => Ok(vec!["--list"]),
            Asked::Steps(steps) => Ok(steps.iter().map(|step| step.name).collect()),
        }
    }

    #[test]
    fn all_steps_run_unless_some_are_named() {
        assert_eq!(names(&[]).unwrap().len(), STEPS.len());
        assert_eq!(names(&["--only", "tests", "--only", "fmt"]).unwrap(), ["tests", "fmt"]);
        assert_eq!(names(&["--list"]).unwrap(), ["--list"]);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_there_is() {
        let error = names(&["--only", "test"]).unwrap_err().to_string();
        assert!(error.starts_with("there is no step test; there are fmt, "), "{error}");
        for bad in [&["--only"][..], &["tests"], &["--list", "--only"]] {
            assert!(names(bad).unwrap_err().to_string().contains("--only STEP"));
        }
    }

    #[test]
    fn a_failure_stops_and_says_what_to_do() {
        let step = |name, run: fn() -> Result<()>| Step { name, what: "", run, remedy: "mend it" };
        let broken = step("broken", || bail!("it broke"));
        let never = step("never", || panic!("ran after a failure"));
        let error = run_steps(&[&broken, &never]).unwrap_err().to_string();
        assert!(error.starts_with("\nbroken failed after 0.0 s: it broke\n"), "{error}");
        assert!(
            error.ends_with("to do: mend it\n    again: cargo verify --only broken"),
            "{error}"
        );
    }
}
