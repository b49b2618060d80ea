//! Tests tools from outside: keys of users, killed processes, `tools lock`, and the client of MCP servers with a
//! hostile server and real servers of the Python, TypeScript and Rust SDKs.

use anyhow::Result;

use super::built_programs::BuiltPrograms;
use super::test_process;
use crate::node_packages;
use crate::venv;

/// Both TypeScript SDKs of MCP, pinned by version and hash.
const PACKAGES: &str = "infra/mcp/node";

/// Prints each server and behaviour. The servers run on loopback, with the SDKs in `target/`.
pub(super) fn run_tests() -> Result<()> {
    let tools = venv::ensure_venv()?;
    let (old, new) = venv::ensure_mcp()?;
    let node = node_packages::ensure_packages(&tools, PACKAGES, "mcp-node")?;
    let built = BuiltPrograms::new()?;
    // Keys of users, and killed processes: their figures are printed.
    let stories = ["user_keys::crossings::", "outside_kills::", "--nocapture"];
    test_process::run_tests(&mut built.test_command("tests", "it", &stories)?)?;
    let mut locks = built.ignored_test_command("xtask", "tools", &[])?;
    test_process::run_tests(locks.env("MCP_PYTHON_2", new.python()))?;
    let tests = built.test_command("shared/mcp", "mcp", &["--include-ignored", "--nocapture"])?;
    let mut tests = tools.with_venv(tests)?;
    tests.env("MCP_PYTHON_1", old.python()).env("MCP_PYTHON_2", new.python()).env("MCP_NODE", node);
    test_process::run_tests(&mut tests)
}
