//! Tests the client of MCP servers: a hostile server, and real servers of the Python and TypeScript SDKs.

use anyhow::Result;

use super::built_programs::BuiltPrograms;
use super::test_process;
use crate::node_packages;
use crate::venv;

/// The TypeScript SDK of MCP, pinned by version and hash.
const PACKAGES: &str = "infra/mcp/node";

/// Prints each server and behaviour. The servers run on loopback, with the SDKs in `target/`.
pub(super) fn run_tests() -> Result<()> {
    let tools = venv::ensure_venv()?;
    let (old, new) = venv::ensure_mcp()?;
    let node = node_packages::ensure_packages(&tools, PACKAGES, "mcp-node")?;
    let tests = BuiltPrograms::new()?;
    let tests = tests.test_command("shared/mcp", "mcp", &["--include-ignored", "--nocapture"])?;
    let mut tests = tools.with_venv(tests)?;
    tests.env("MCP_PYTHON_1", old.python()).env("MCP_PYTHON_2", new.python()).env("MCP_NODE", node);
    test_process::run_tests(&mut tests)
}
