//! `cargo soak`: tests too slow for every change.
//!
//! A new step is an entry of [`STEPS`]. A longer form of a `cargo verify` step runs the same
//! tests, with a variable for the duration.

mod sam_builds;

use std::ffi::OsString;

use anyhow::Result;
use djinn_settings::table::contributor;

use crate::steps::{CheckStep, StepArguments, StepCommand};
use crate::{process, verify};

/// The command `cargo soak` with these steps.
pub(crate) const SOAK: StepCommand =
    StepCommand { name: "soak", steps: STEPS, side_by_side: &[], success_word: "soaked" };

/// The steps in order.
const STEPS: &[CheckStep] = &[
    CheckStep {
        name: "seeds",
        description: "a plan under injected faults with 10 000 seeds, in memory",
        run: || {
            let test = ["test", "--package", "djinn-runtime", "--test", "it", "seed::"];
            process::run(process::cargo_command(&test).env(contributor::SEEDS.name, "10000"))
        },
        remedy: "run the named seed, with DJINN_SEED, and read what happened",
    },
    CheckStep {
        name: "crowd",
        description: "a plan of 1 000 tasks, also with a throttling table",
        run: || {
            let test = ["test", "--package", "djinn-tests", "--test", "it", "crowd::"];
            process::run(process::cargo_command(&test).env(contributor::CROWD.name, "1000"))
        },
        remedy: "try fewer: DJINN_CROWD=100 cargo test -p djinn-tests crowd::",
    },
    CheckStep {
        name: "lambdasim",
        description: "a run of 40 invocations, and 30 runs whose functions are killed, of each kind",
        run: || process::run(verify::lambdasim_tests()?.env(contributor::SOAK.name, "1")),
        remedy: "read what the functions logged: target/tmp/lambdasim-*.log",
    },
    CheckStep {
        name: "kills",
        description: "10 000 runs killed, 1 000 frozen for 30 s: nothing is lost or done twice",
        run: run_kills,
        remedy: "run the named seed, with DJINN_SEED; read target/tmp/lambdasim-kills-*.log",
    },
    CheckStep {
        name: "build",
        description: "sam build builds the deployable package of both functions",
        run: sam_builds::build_functions,
        remedy: "run it by hand: `sam build`, as docs/deploy.md says",
    },
    CheckStep {
        name: "sandbox",
        description: "sam build builds the sandbox with its packages, within Lambda's size limit",
        run: sam_builds::build_sandbox,
        remedy: "see docs/sandbox.md for the requirements: python3.13, npm, make and network access",
    },
    CheckStep {
        name: "gateway",
        description: "sam build builds both functions of the gateway",
        run: sam_builds::build_gateway,
        remedy: "run it by hand: `sam build Fetch --parameter-overrides WithWeb=true`, as docs/web.md says",
    },
    CheckStep {
        name: "database",
        description: "sam build builds the function for databases",
        run: sam_builds::build_database,
        remedy: "run it by hand: `sam build --template infra/database/template.yaml`, as docs/tables.md says",
    },
    CheckStep {
        name: "fuzz-guard",
        description: "deceptive URLs, mutated for an hour: only public addresses get through",
        run: || run_fuzz(&["--package", "djinn-egress", "--test", "it"]),
        remedy: FUZZ_REMEDY,
    },
    CheckStep {
        name: "fuzz-gzip",
        description: "compressed bodies, mutated for an hour: each is decoded within its limits, as by flate2",
        run: || run_fuzz(&["--package", "djinn-inflate", "--test", "it"]),
        remedy: FUZZ_REMEDY,
    },
    CheckStep {
        name: "fuzz-sandbox",
        description: "values and folders of jobs, mutated for an hour: none deceives its reader",
        run: || run_fuzz(&["--package", "sandbox", "--lib"]),
        remedy: FUZZ_REMEDY,
    },
    CheckStep {
        name: "fuzz-sse",
        description: "model streams, mutated for an hour: whole or in pieces, they give the same reply",
        run: || run_fuzz(&["--package", "djinn-model", "--test", "it"]),
        remedy: FUZZ_REMEDY,
    },
    CheckStep {
        name: "fuzz-html",
        description: "pages, mutated for an hour: each is read within its limits, and scripts are never read",
        run: || run_fuzz(&["--package", "gateway", "--lib"]),
        remedy: FUZZ_REMEDY,
    },
    CheckStep {
        name: "fuzz-table-files",
        description: "files that describe tables, mutated for an hour: each is a table, or an error with its line",
        run: || run_fuzz(&["--package", "djinn-agents", "--test", "it"]),
        remedy: FUZZ_REMEDY,
    },
    CheckStep {
        name: "datasets",
        description: "public data sets become tables with the rows and sums that pandas reads",
        run: verify::read_datasets,
        remedy: "read the named file by hand; the test is functions/sandbox/tests/tables/test_datasets.py",
    },
    CheckStep {
        name: "fuzz-tables",
        description: "queries and files of tables, mutated for an hour: each has a result or an error with a code",
        run: || verify::fuzz_tables(&fuzz_seconds(TABLE_FUZZ_SECONDS)),
        remedy: "the seed and the input are in the message: make the input a case of its test",
    },
];

/// The remedy for an input that breaks a property.
const FUZZ_REMEDY: &str = "the input is now in tests/corpora: run its test again, fix the code, and keep the input; \
                           DJINN_FUZZ_SECONDS sets the duration";

/// Default duration of a fuzz step, in seconds.
const FUZZ_SECONDS: &str = "3600";

/// Default duration of each of the five fuzz tests of tables, in seconds.
const TABLE_FUZZ_SECONDS: &str = "720";

/// Runs all steps, or the selected steps.
///
/// # Errors
/// Returns the error of the first failed step, with the remedy.
pub(crate) fn run(arguments: &StepArguments) -> Result<()> {
    SOAK.run(arguments)
}

fn run_kills() -> Result<()> {
    process::run(
        verify::kills_tests()?
            .env(contributor::KILLS.name, "10000")
            .env(contributor::SOAK.name, "1"),
    )
}

/// Runs the fuzz tests of a package for the variable's duration, by default an hour.
fn run_fuzz(target: &[&str]) -> Result<()> {
    let mut tests = process::cargo_command(&["test"]);
    tests.args(target).args(["fuzz::", "--", "--nocapture"]);
    process::run(tests.env(contributor::FUZZ_SECONDS.name, fuzz_seconds(FUZZ_SECONDS)))
}

/// Returns the duration that the variable sets, or the default.
fn fuzz_seconds(default: &str) -> OsString {
    std::env::var_os(contributor::FUZZ_SECONDS.name).unwrap_or_else(|| default.into())
}
