//! Python packages in environments under `target/`: the tools aws-sam-cli, cfn-lint and cargo-lambda, an emulator of
//! AWS, servers of MCP, and a validator of Office files.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process::{command_output, program_command, run};
use crate::terminal::print_line;
use crate::workspace;

/// The pinned versions of the tools.
const TOOLS: &str = "infra/check/requirements.txt";

/// The pinned versions of the emulator of AWS, which needs another version of botocore than the tools.
const EMULATOR: &str = "infra/stack/requirements.txt";

/// The pinned versions of the SDK of MCP, old and new.
const MCP_1: &str = "infra/mcp/requirements-1.txt";
const MCP_2: &str = "infra/mcp/requirements-2.txt";

/// The pinned versions of the clients of other protocols.
const CLIENTS: &str = "tests/clients/requirements.txt";

/// The pinned versions of the validator of Office files.
const OFFICE: &str = "functions/sandbox/tests/reports/requirements.txt";

/// The minimum version of Python.
const OLDEST: (u32, u32) = (3, 11);

/// A virtual environment in `target/`, with all requirements installed.
pub(crate) struct Venv {
    place: PathBuf,
}

impl Venv {
    /// Returns a command for a program of the environment.
    pub(crate) fn program_command(&self, name: &str, arguments: &[&str]) -> Result<Command> {
        self.with_venv(program_command(self.bin_dir().join(name), arguments))
    }

    /// Puts the environment's programs first in a command's `PATH`, including child processes. cargo-lambda
    /// looks for zig beside the first `python3` on the `PATH`.
    pub(crate) fn with_venv(&self, mut command: Command) -> Result<Command> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.bin_dir()).chain(std::env::split_paths(&path));
        command
            .env("PATH", std::env::join_paths(path)?)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("SAM_CLI_TELEMETRY", "0")
            // sam stores state, by default in the home directory.
            .env("__SAM_CLI_APP_DIR", self.place.join("sam"))
            // Prevents lookups of credentials and region: no account is needed.
            .env("AWS_EC2_METADATA_DISABLED", "true");
        Ok(command)
    }

    /// Returns the path of the environment's Python.
    pub(crate) fn python(&self) -> PathBuf {
        self.bin_dir().join("python")
    }

    /// Returns the path of the environment's Node.
    pub(crate) fn node(&self) -> PathBuf {
        self.bin_dir().join("node")
    }

    fn bin_dir(&self) -> PathBuf {
        self.place.join("bin")
    }
}

/// Creates the environment with the tools in `target/venv`, unless present with the required versions.
///
/// # Errors
/// Returns an error without a recent Python, or if the packages cannot be installed.
pub(crate) fn ensure_venv() -> Result<Venv> {
    ensure("venv", TOOLS)
}

/// Creates the environment with the emulator of AWS in `target/emulator`, like [`ensure_venv`].
///
/// # Errors
/// Returns an error without a recent Python, or if the packages cannot be installed.
pub(crate) fn ensure_emulator() -> Result<Venv> {
    ensure("emulator", EMULATOR)
}

/// Creates the environments with version 1 and 2 of the SDK of MCP in `target/mcp-1` and `target/mcp-2`, like
/// [`ensure_venv`].
///
/// # Errors
/// Returns an error without a recent Python, or if the packages cannot be installed.
pub(crate) fn ensure_mcp() -> Result<(Venv, Venv)> {
    Ok((ensure("mcp-1", MCP_1)?, ensure("mcp-2", MCP_2)?))
}

/// Creates the environment with the clients in `target/clients`, like [`ensure_venv`].
///
/// # Errors
/// Returns an error without a recent Python, or if the packages cannot be installed.
pub(crate) fn ensure_clients() -> Result<Venv> {
    ensure("clients", CLIENTS)
}

/// Creates the environment with the validator of Office files in `target/office`, like [`ensure_venv`].
///
/// # Errors
/// Returns an error without a recent Python, or if the packages cannot be installed.
pub(crate) fn ensure_office() -> Result<Venv> {
    ensure("office", OFFICE)
}

fn ensure(folder: &str, requirements: &str) -> Result<Venv> {
    let venv = Venv { place: workspace::target_dir().join(folder) };
    let _lock = workspace::lock_folder(folder)?;
    let stamp = venv.place.join("installed");
    let list = fs::read_to_string(workspace::root().join(requirements))
        .with_context(|| format!("{requirements} cannot be read"))?;
    // The environment cannot be moved: scripts contain the interpreter's path.
    let place = venv.place.to_str().context("the workspace's path is not UTF-8")?;
    let list = format!("# {place}\n{list}");
    let whole = || command_output(&mut venv.program_command("python", &["--version"])?);
    if fs::read_to_string(&stamp).is_ok_and(|text| text == list) && whole().is_ok() {
        return Ok(venv);
    }
    let version = command_output(&mut program_command("python3", &["--version"])).context(
        "python3 is needed for the template checks, cargo-lambda, the emulator and servers",
    )?;
    if !is_new_enough(&version) {
        bail!("{version} is too old: {}.{} or later is needed", OLDEST.0, OLDEST.1);
    }
    print_line(&format!("    installing {requirements} into target/{folder} (about a minute)"));
    run(&mut program_command("python3", &["-m", "venv", "--clear", place]))?;
    // The list is complete; pip would require hashes of packages' extras.
    let pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "-r"];
    run(venv.program_command("python", &pip)?.arg(requirements))?;
    run(&mut venv.program_command("python", &["-m", "pip", "--quiet", "check"])?)?;
    fs::write(&stamp, list).with_context(|| format!("target/{folder} cannot be written"))?;
    Ok(venv)
}

/// Returns true if a version such as `Python 3.11.7` is recent enough.
fn is_new_enough(version: &str) -> bool {
    let numbers = version.trim_start_matches("Python ").split('.').map(str::parse);
    let numbers: Vec<u32> = numbers.map_while(Result::ok).take(2).collect();
    matches!(numbers.as_slice(), [major, minor] if (*major, *minor) >= OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// pip then takes no file whose hash is another, and none without one.
    #[test]
    fn every_package_is_pinned_by_hash() {
        for (requirements, least) in
            [(TOOLS, 50), (EMULATOR, 25), (MCP_1, 25), (MCP_2, 25), (CLIENTS, 10), (OFFICE, 6)]
        {
            let text = fs::read_to_string(workspace::root().join(requirements)).unwrap();
            let text = text.replace(" \\\n", "");
            let packages: Vec<_> = text.lines().filter(|line| line.contains("==")).collect();
            assert!(packages.len() > least, "{requirements}");
            assert!(packages.iter().all(|line| line.contains("--hash=sha256:")), "{requirements}");
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(["Python 3.11.7", "Python 3.14.0rc1", "Python 4.0"].into_iter().all(is_new_enough));
        assert!(!["Python 3.9.2", "Python 2.7", "python", ""].into_iter().any(is_new_enough));
    }
}
