//! Unmodified clients of other protocols against `cargo dev`.

use anyhow::Result;

use crate::page;
use crate::process::run;
use crate::venv;
use crate::workspace;

/// Runs the stories of `tests/clients` in Node.js, Python and Chromium. The page's packages bundle and open a page of
/// the AI SDK.
pub(super) fn run_tests() -> Result<()> {
    let venv = venv::ensure_venv()?;
    let python = venv::ensure_clients()?;
    for (folder, name) in
        [("tests/clients", "clients-node"), ("web", "page"), ("web/stories", "page-stories")]
    {
        page::install_packages(&venv, folder, name)?;
    }
    let mut command = venv.program_command("node", &["tests/clients/run.mjs"])?;
    command.env("XTASK_PROGRAM", workspace::profile_dir("debug").join("xtask"));
    run(command.env("CLIENTS_PYTHON", python.python()))
}
