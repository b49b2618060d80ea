//! The checks of the web page.

use anyhow::Result;

use crate::page;
use crate::process::run;
use crate::venv;
use crate::workspace;

/// Checks types, rules, tests and sizes of the page.
pub(super) fn run_tests() -> Result<()> {
    let venv = venv::ensure_venv()?;
    page::build()?;
    let npm = |script: &str| -> Result<()> {
        let mut command = venv.program_command("npm", &["run", "--silent", script])?;
        run(command.current_dir(workspace::root().join("web")))
    };
    for script in ["types", "rules", "test", "sizes"] {
        npm(script)?;
    }
    Ok(())
}
