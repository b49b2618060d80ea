//! `cargo verify`: everything CI runs, in this order, up to the first failure.
//!
//! A new step is a line in [`STEPS`] and a function. Steps install what they need under `target/`
//! and find it there the next time.

mod bootstrap;
mod built_programs;
mod docs;
mod egress;
mod examples;
mod node_packages;
mod rust;
pub(crate) mod rustdoc;
mod sandbox;
mod test_process;

use anyhow::Result;

use crate::deny;
use crate::documents;
use crate::steps::{CheckStep, StepArguments, StepCommand};
use crate::template;
pub(crate) use rust::{kills_tests, lambdasim_tests};

/// The command `cargo verify` runs these steps, or those that are named.
const VERIFY: StepCommand = StepCommand { name: "verify", steps: STEPS, success_word: "verified" };

/// Quick ones first; `template` before `tests`, which read the file it writes.
const STEPS: &[CheckStep] = &[
    CheckStep {
        name: "fmt",
        description: "the code is formatted",
        run: rust::check_format,
        remedy: "run cargo fmt --all",
    },
    CheckStep {
        name: "deny",
        description: "dependencies: bans, licenses, sources",
        run: deny::run_checks,
        remedy: "take the dependency out, or say in deny.toml why it may stay",
    },
    CheckStep {
        name: "advisories",
        description: "no dependency has a known weakness; left out of a whole run without the RustSec database",
        run: deny::check_advisories,
        remedy: "cargo update -p CRATE, or say in deny.toml why it concerns nobody here; without the network name a \
                 clone of the database, cargo xtask advisories DIRECTORY, or leave it out with --skip advisories",
    },
    CheckStep {
        name: "template",
        description: "template.yaml and the example's, what SAM makes of them, and that the checks can fail",
        run: template::check,
        remedy: "change template.yaml, then cargo xtask template; a rule itself is in infra/check/rules.py",
    },
    CheckStep {
        name: "build",
        description: "everything compiles, tests included, without a warning of clippy's",
        run: rust::build_all,
        remedy: "change the code, or allow the lint where it is wrong, with a reason",
    },
    CheckStep {
        name: "rustdoc",
        description: "the documentation of the code builds without warnings",
        run: rust::build_rustdoc,
        remedy: "change the documentation that it names",
    },
    CheckStep {
        name: "contract",
        description: "the documents made from the code are those of this code, and OpenAPI is valid",
        run: documents::check,
        remedy: "run cargo xtask docs",
    },
    CheckStep {
        name: "tests",
        description: "all tests",
        run: rust::run_tests,
        remedy: "run the failed test alone: cargo test -p CRATE NAME",
    },
    CheckStep {
        name: "docs",
        description: "what documents show: pictures are parsed; the quickstart's commands run, and say what it says",
        run: docs::check,
        remedy: "change the block that it names; what is shown and not run is fenced sh, not console",
    },
    CheckStep {
        name: "egress",
        description: "what must not be fetched, in every spelling, watched at a socket, and bodies without an end",
        run: egress::run_tests,
        remedy: "run it alone: cargo test -p djinn-egress; the spellings are in shared/egress/tests/it/spellings.toml",
    },
    CheckStep {
        name: "sandbox",
        description: "model-written code in the jail: attacks, what must work, stories over HTTP",
        run: sandbox::run_tests,
        remedy: "run what it names alone, with SANDBOX_PYTHON=target/sandbox-python/bin/python",
    },
    CheckStep {
        name: "examples",
        description: "the clients in examples/, through a line that breaks, and cargo own-tool; the types of client.mjs",
        run: examples::run_tests,
        remedy: "try it by hand: cargo dev, and examples/client.py in a second terminal",
    },
    CheckStep {
        name: "bootstrap",
        description: "the built functions under AWS's runtime interface emulator",
        run: bootstrap::run_tests,
        remedy: "start one by hand, as tests/rie/emulator.rs does",
    },
    CheckStep {
        name: "hand-over",
        description: "the stories over HTTP again, handed over after every record",
        run: rust::run_hand_over,
        remedy: "run the failed one alone: DJINN_ALWAYS_HAND_OVER=1 cargo test -p djinn-tests NAME",
    },
    CheckStep {
        name: "lambdasim",
        description: "the functions in a simulated Lambda: deadlines, crashes, freezes, hand-overs",
        run: rust::run_lambdasim,
        remedy: "read what the functions logged: target/tmp/lambdasim-*.log",
    },
    CheckStep {
        name: "kills",
        description: "300 runs and `cargo dev ask` killed, 30 runs frozen: nothing is lost, nothing done twice",
        run: rust::run_kills,
        remedy: "run the seed that it names, with DJINN_SEED; read target/tmp/lambdasim-kills-*.log",
    },
    CheckStep {
        name: "watch",
        description: "questions to the functions under cargo lambda watch",
        run: rust::run_watch,
        remedy: "try it by hand: cargo dev watch",
    },
];

/// Runs the steps, or those that are named.
///
/// # Errors
/// The first step that fails, with what to do.
pub(crate) fn run(arguments: &StepArguments) -> Result<()> {
    VERIFY.run(arguments)
}
