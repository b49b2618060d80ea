//! The sandbox with a real Python.

use anyhow::{Context as _, Result};
use djinn_local::prepare_python;

use super::built_programs::BuiltPrograms;
use crate::process::run;
use crate::terminal::print_line;
use crate::workspace;

/// The variable that names the Python to the tests.
const PYTHON: &str = "SANDBOX_PYTHON";

/// Attacks, features and stories with the packages of `infra/sandbox/requirements.txt`.
pub(super) fn run_tests() -> Result<()> {
    let place = workspace::target_dir().join("sandbox-python");
    let python = prepare_python(&place, &|words| print_line(&format!("    {words}")))
        .context("the sandbox's tests need a Python")?;
    let built = BuiltPrograms::new()?;
    let mut jail = built.ignored_test_command("functions/sandbox", "jail", &["--nocapture"])?;
    run(jail.env(PYTHON, &python))?;
    let mut stories = built.ignored_test_command("tests", "it", &["code::"])?;
    run(stories.env(PYTHON, &python))
}
