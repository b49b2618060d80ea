//! `cargo verify`: everything CI runs, in this order, up to the first failure.
//!
//! A new step is a line in [`STEPS`] and a function. Steps install what they need under `target/`
//! and find it there the next time.

mod bootstrap;
mod built;
mod deny;
mod rust;
pub(crate) mod rustdoc;

use anyhow::Result;

use crate::steps::{Command, Step};
use crate::template;
pub(crate) use rust::{kills_tests, lambdasim_tests};

/// The command.
const VERIFY: Command = Command { name: "verify", steps: STEPS, done: "verified" };

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
        name: "build",
        what: "everything compiles, tests included, without a warning of clippy's",
        run: rust::build,
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
        name: "bootstrap",
        what: "the built functions under AWS's runtime interface emulator",
        run: bootstrap::run_tests,
        remedy: "start one by hand, as tests/rie/emulator.rs does",
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
        name: "kills",
        what: "300 runs and `cargo dev ask` killed, 30 runs frozen: nothing is lost, nothing done twice",
        run: rust::kills,
        remedy: "run the seed that it names, with DJINN_SEED; read target/tmp/lambdasim-kills-*.log",
    },
    Step {
        name: "watch",
        what: "questions to the functions under cargo lambda watch",
        run: rust::watch,
        remedy: "try it by hand: cargo dev watch",
    },
];

/// Runs the steps, or those that are named.
///
/// # Errors
/// The first step that fails, with what to do.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    VERIFY.run(arguments)
}
