//! The checks of the web page.

use anyhow::Result;

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
    // The stories start this program as `cargo dev`, by its name: the build step replaces the file under a running
    // program, and the path of the one that runs is gone then.
    page::install_packages(&venv, "web/stories", "page-stories")?;
    let this = workspace::profile_dir("debug").join("xtask");
    run(venv.program_command("node", &["web/stories/run.mjs"])?.env("XTASK_PROGRAM", this))
}
