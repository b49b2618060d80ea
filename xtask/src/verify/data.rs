//! Tests questions over tables with a real Python and DuckDB.

use std::process::Command;

use anyhow::Result;

use super::built_programs::BuiltPrograms;
use super::sandbox::SandboxPython;
use crate::process::run;
use crate::workspace;

/// The modules of Python in the sandbox, and their tests.
const MODULES: &str = "functions/sandbox/python";
const MODULE_TESTS: &str = "functions/sandbox/tests/tables";

/// Runs the tests of Python's modules outside of the jail, then tables and TPC-H in the jail, then the stories.
pub(super) fn run_tests() -> Result<()> {
    let prepared = SandboxPython::prepare()?;
    let mut modules = Command::new(&prepared.python);
    modules.args(["-B", "-m", "unittest", "discover", "--start-directory"]);
    modules.arg(workspace::root().join(MODULE_TESTS));
    run(modules.env("PYTHONPATH", workspace::root().join(MODULES)))?;
    let built = BuiltPrograms::new()?;
    let jail = ["--ignored", "--nocapture", "--test-threads", "1", "tables::", "tpch::"];
    prepared.run_tests(built.test_command("functions/sandbox", "jail", &jail)?)?;
    prepared.run_tests(built.ignored_test_command("tests", "it", &["code::tables::"])?)
}
