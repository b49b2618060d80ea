//! `cargo verify`: runs all CI steps up to the first failure.
//!
//! A new step is a line in [`TEST_STEPS`] and a function. Steps install their requirements under `target/` and
//! reuse the installation.

mod bootstrap;
mod built_programs;
mod clients;
mod data;
mod docs;
mod egress;
mod examples;
mod outside_tools;
mod page;
mod rust;
pub(crate) mod rustdoc;
mod sandbox;
mod stack;
mod test_process;

use anyhow::Result;

use crate::deny;
use crate::documents;
use crate::steps::{CheckStep, StepArguments, StepCommand};
use crate::template;
pub(crate) use data::{fuzz_tables, read_datasets};
pub(crate) use rust::{kills_tests, lambdasim_tests};
pub(crate) use stack::keep_stack;

/// The command `cargo verify` with these steps.
pub(crate) const VERIFY: StepCommand = StepCommand {
    name: "verify",
    steps: STEPS,
    side_by_side: TEST_STEPS,
    success_word: "verified",
};

/// The steps that need only the sources, and the build. `template` precedes the tests, because they read the generated
/// file.
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
        remedy: "remove the dependency, or justify it in deny.toml",
    },
    CheckStep {
        name: "advisories",
        description: "no dependency has a known vulnerability; skipped in a complete run without the RustSec database",
        run: deny::check_advisories,
        remedy: "run cargo update -p CRATE, or justify the advisory in deny.toml; without the network, pass a clone of \
                 the database, cargo xtask advisories DIRECTORY, or use --skip advisories",
    },
    CheckStep {
        name: "template",
        description: "template.yaml and the example's, their output from SAM, and the checks themselves",
        run: template::check,
        remedy: "change template.yaml, then run cargo xtask template; the rules are in infra/check/rules.py",
    },
    CheckStep {
        name: "build",
        description: "everything compiles, including tests, without clippy warnings",
        run: rust::build_all,
        remedy: "change the code, or allow the lint where it is wrong, with a reason",
    },
    CheckStep {
        name: "rustdoc",
        description: "the documentation of the code builds without warnings",
        run: rust::build_rustdoc,
        remedy: "correct the named documentation",
    },
    CheckStep {
        name: "contract",
        description: "the generated documents match the code, and OpenAPI is valid",
        run: documents::check,
        remedy: "run cargo xtask docs",
    },
];

/// The steps that run the built programs, long ones first, so that two of them end at about the same time.
const TEST_STEPS: &[CheckStep] = &[
    CheckStep {
        name: "tests",
        description: "all tests",
        run: rust::run_tests,
        remedy: "run the failed test alone: cargo test -p CRATE NAME",
    },
    CheckStep {
        name: "kills",
        description: "300 runs and `cargo dev ask` killed, 30 runs frozen: nothing is lost or done twice",
        run: rust::run_kills,
        remedy: "run the named seed, with DJINN_SEED; read target/tmp/lambdasim-kills-*.log",
    },
    CheckStep {
        name: "sandbox",
        description: "model-written code in the jail: attacks, allowed actions, stories over HTTP",
        run: sandbox::run_tests,
        remedy: "run the named test alone, with SANDBOX_PYTHON=target/sandbox-python/bin/python",
    },
    CheckStep {
        name: "page",
        description: "the web page: types, rules, tests, sizes, and stories in a browser",
        run: page::run_tests,
        remedy: "run npm test in web/, or one story by hand: node web/stories/run.mjs NAME",
    },
    CheckStep {
        name: "hand-over",
        description: "the stories over HTTP again, with a handoff after every record",
        run: rust::run_hand_over,
        remedy: "run the failed one alone: DJINN_ALWAYS_HAND_OVER=1 cargo test -p djinn-tests NAME",
    },
    CheckStep {
        name: "stack",
        description: "template.yaml deployed to an emulator of AWS: stories, permissions, each option",
        run: stack::run_tests,
        remedy: "deploy by hand with cargo xtask stack; read target/stack/stories/logs and emulator.log",
    },
    CheckStep {
        name: "data",
        description: "questions over tables: hostile statements, TPC-H, stories over HTTP",
        run: data::run_tests,
        remedy: "run the named test alone, with SANDBOX_PYTHON=target/sandbox-python/bin/python",
    },
    CheckStep {
        name: "clients",
        description: "unmodified clients of other protocols: stories in Node.js and Python",
        run: clients::run_tests,
        remedy: "read the story in tests/clients",
    },
    CheckStep {
        name: "lambdasim",
        description: "the functions in a simulated Lambda: deadlines, crashes, freezes, handoffs",
        run: rust::run_lambdasim,
        remedy: "read what the functions logged: target/tmp/lambdasim-*.log",
    },
    CheckStep {
        name: "docs",
        description: "blocks in documents: pictures are parsed; the quickstart's commands print the shown output",
        run: docs::check,
        remedy: "correct the named block; blocks that are shown but not run are fenced sh, not console",
    },
    CheckStep {
        name: "outside-tools",
        description: "the client of MCP servers against hostile servers, and real ones of three SDKs",
        run: outside_tools::run_tests,
        remedy: "run the named test alone, with MCP_PYTHON_1, MCP_PYTHON_2 and MCP_NODE as outside_tools.rs sets them",
    },
    CheckStep {
        name: "egress",
        description: "forbidden URLs in every spelling, observed at a socket, and endless bodies",
        run: egress::run_tests,
        remedy: "run it alone: cargo test -p djinn-egress; the spellings are in shared/egress/tests/it/spellings.toml",
    },
    CheckStep {
        name: "examples",
        description: "the clients in examples/ over a breaking connection, cargo own-tool, the types of client.mjs",
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
        name: "watch",
        description: "questions to the functions under cargo lambda watch",
        run: rust::run_watch,
        remedy: "try it by hand: cargo dev watch",
    },
];

/// Runs all steps, or the selected steps.
///
/// # Errors
/// Returns the error of the first failed step, with the remedy.
pub(crate) fn run(arguments: &StepArguments) -> Result<()> {
    VERIFY.run(arguments)
}
