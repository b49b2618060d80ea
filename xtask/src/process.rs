//! Runs other programs in the workspace's root.

use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace;

/// The beginnings of cargo's variables about xtask itself. Build scripts that track such variables (ring's does)
/// would otherwise run again whenever xtask starts cargo instead of a shell.
const CARGO_VARIABLES: [&str; 5] =
    ["CARGO_BIN_", "CARGO_CRATE_", "CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_PRIMARY_"];

/// Returns a command with inherited output.
pub(crate) fn program_command(name: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.current_dir(workspace::root()).args(arguments);
    for (name, _) in std::env::vars_os() {
        if CARGO_VARIABLES
            .iter()
            .any(|prefix| name.to_str().is_some_and(|name| name.starts_with(prefix)))
        {
            command.env_remove(name);
        }
    }
    command
}

/// Returns a cargo command in the workspace's root, without the variables set by cargo for xtask.
pub(crate) fn cargo_command(arguments: &[&str]) -> Command {
    program_command("cargo", arguments)
}

/// Runs a command and waits for the end.
///
/// # Errors
/// Returns an error if the command cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = command_line(command);
    let status = command.status().with_context(|| format!("`{line}` could not be started"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// Returns the output of a command, without surrounding white space.
///
/// # Errors
/// Returns an error if the command cannot be started, fails, or prints something other than text.
pub(crate) fn command_output(command: &mut Command) -> Result<String> {
    let line = command_line(command);
    let output = command.output().with_context(|| format!("`{line}` could not be started"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` ended with {}: {}", output.status, stderr.trim());
    }
    let text =
        String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed no text"))?;
    Ok(text.trim().to_owned())
}

/// Formats the command as a user would type the line in the workspace's root.
fn command_line(command: &Command) -> String {
    let root = format!("{}/", workspace::root().display());
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().replace(&root, "")).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command() {
        let error = run(&mut program_command("false", &["--well"])).unwrap_err().to_string();
        assert!(error.starts_with("`false --well` ended with exit"), "{error}");
        let missing = workspace::target_dir().join("no-such-program");
        let error = command_output(&mut program_command(missing, &[])).unwrap_err().to_string();
        assert_eq!(error, "`target/no-such-program` could not be started");
    }

    #[test]
    fn a_started_cargo_sees_nothing_of_ours() {
        let started = cargo_command(&["--version"]);
        let removed = |name: &str| {
            started.get_envs().any(|(variable, value)| variable == name && value.is_none())
        };
        assert!(removed("CARGO_PKG_NAME") && removed("CARGO_MANIFEST_DIR"));
        assert!(!removed("CARGO_HOME") && !removed("PATH"));
        assert!(command_output(&mut cargo_command(&["--version"])).unwrap().starts_with("cargo "));
    }
}
