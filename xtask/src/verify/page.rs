//! The checks of the web page.

use anyhow::{Context as _, Result};

use crate::page;
use crate::process::run;
use crate::venv;
use crate::workspace;

/// Checks types, rules, unit tests and sizes of the page, then the stories in a browser.
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
    // The stories start this program as `cargo dev`.
    page::install_packages(&venv, "web/stories", "page-stories")?;
    let this = std::env::current_exe().context("this program has no path")?;
    run(venv.program_command("node", &["web/stories/run.mjs"])?.env("XTASK_PROGRAM", this))
}
