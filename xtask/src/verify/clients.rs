//! Unmodified clients of other protocols against `cargo dev`.

use anyhow::Result;

use crate::page;
use crate::process::run;
use crate::venv;
use crate::workspace;

/// Runs the stories of `tests/clients` in Node.js and Python.
pub(super) fn run_tests() -> Result<()> {
    let venv = venv::ensure_venv()?;
    let python = venv::ensure_clients()?;
    let (_, mcp) = venv::ensure_mcp()?;
    page::install_packages(&venv, "tests/clients", "clients-node")?;
    let mut command = venv.program_command("node", &["tests/clients/run.mjs"])?;
    command.env("XTASK_PROGRAM", workspace::profile_dir("debug").join("xtask"));
    command.env("MCP_PYTHON", mcp.python());
    run(command.env("CLIENTS_PYTHON", python.python()))
}
