//! Unmodified clients of other protocols against `cargo dev`.

use anyhow::Result;

use crate::page;
use crate::process::run;
use crate::venv::{self, Venv};
use crate::workspace;

/// Runs the stories of `tests/clients` in Node.js, Python and Chromium.
pub(super) fn run_tests() -> Result<()> {
    let venv = venv::ensure_venv()?;
    let python = venv::ensure_clients()?;
    install_packages(&venv)?;
    let mut command = venv.program_command("node", &["tests/clients/run.mjs"])?;
    command.env("XTASK_PROGRAM", workspace::profile_dir("debug").join("xtask"));
    run(command.env("CLIENTS_PYTHON", python.python()))
}

/// Installs the packages of the clients, and those of the page, which bundle and open a page of the AI SDK.
pub(super) fn install_packages(venv: &Venv) -> Result<()> {
    let packages =
        [("tests/clients", "clients-node"), ("web", "page"), ("web/stories", "page-stories")];
    packages.into_iter().try_for_each(|(folder, name)| page::install_packages(venv, folder, name))
}
