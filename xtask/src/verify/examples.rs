//! Runs `examples/` as users do: the clients, and the deployment with a custom tool.

use anyhow::{Context as _, Result, ensure};
use djinn_settings::table::model::{ANTHROPIC_API_KEY, MODELS, OPENAI_API_KEY};

use super::built_programs::BuiltPrograms;
use super::test_process;
use crate::node_packages;
use crate::process::{command_output, run};
use crate::venv;

/// The TypeScript compiler and the type packages, pinned by version and hash.
const PACKAGES: &str = "infra/check/node";

/// The scripted model's answer from the tool's result.
const OWN_ANSWER: &str = "The tool answers: 22 working days from 2026-12-01 to 2026-12-31";

/// Asks the deployment with a custom tool, checks the types of `client.mjs`, and runs each client against a
/// system.
pub(super) fn run_tests() -> Result<()> {
    let venv = venv::ensure_venv()?;
    // Checks the JSDoc types of `client.mjs`; Node ignores comments.
    let place = node_packages::ensure_packages(&venv, PACKAGES, "node")?;
    let compiler = place.join("node_modules/typescript/bin/tsc");
    let compiler = compiler.to_str().context("the workspace's path is not UTF-8")?;
    run(&mut venv.program_command("node", &[compiler, "--project", PACKAGES])?)?;
    let built = BuiltPrograms::new()?;
    // Runs `cargo own-tool` without a configured model, and checks the answer.
    let mut ask = built.program_command("examples/own-tool", "ask")?;
    for setting in [&ANTHROPIC_API_KEY, &MODELS, &OPENAI_API_KEY] {
        ask.env_remove(setting.name);
    }
    let output = command_output(&mut ask)?;
    let is_answered = output.lines().next_back() == Some(OWN_ANSWER);
    ensure!(is_answered, "cargo own-tool does not end with `{OWN_ANSWER}`:\n{output}");
    let mut tests = built.ignored_test_command("tests", "examples", &[])?;
    let (_, mcp) = venv::ensure_mcp()?;
    tests.env("MCP_PYTHON_2", mcp.python());
    // `node` and `python3` come from the environment.
    test_process::run_tests(&mut venv.with_venv(tests)?)
}
