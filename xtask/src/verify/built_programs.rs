//! A single build of everything, with clippy's lints in the same pass, and the built programs.
//!
//! Every step runs the programs of this build. A cargo command for one package would rebuild most
//! dependencies with the features of the package alone. `cargo clippy` would check all dependencies again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::process::{cargo_command, program_command};
use crate::workspace;

/// Variables of every cargo command here, so the commands share builds. Lints are errors, and clippy's driver
/// compiles the workspace's crates, as in `cargo clippy`.
const VARIABLES: [(&str, &str); 2] = [
    ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
    ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__"),
];

/// Returns a cargo command for the whole workspace.
pub(super) fn workspace_cargo(arguments: &[&str]) -> Command {
    let mut command = cargo_command(arguments);
    command.arg("--workspace").envs(VARIABLES);
    command
}

/// The workspace's built programs: tests, functions and examples.
pub(crate) struct BuiltPrograms {
    programs: Vec<Program>,
}

/// A built test, function or example.
struct Program {
    /// The package's directory, where the tests run.
    package: PathBuf,
    /// The name of the target.
    name: String,
    is_test: bool,
    path: PathBuf,
}

/// The used fields of cargo's message about an artifact.
#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

impl BuiltPrograms {
    /// Builds all libraries, functions, tests and examples.
    ///
    /// # Errors
    /// Returns an error for any compiler error or warning. The compiler has printed the reason.
    pub(crate) fn new() -> Result<Self> {
        let mut build = workspace_cargo(&["build", "--all-targets"]);
        let build = build.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
        let output = build.spawn().context("cargo could not be started")?.wait_with_output()?;
        ensure!(output.status.success(), "`cargo build` ended with {}", output.status);
        Ok(Self::of(&String::from_utf8(output.stdout).context("cargo printed no text")?))
    }

    /// Returns the programs named in cargo's messages, one message per line.
    fn of(messages: &str) -> Self {
        let artifacts = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        let program = |artifact: Artifact| {
            let Artifact { manifest_path, target, profile, executable } = artifact;
            Some(Program {
                package: manifest_path.parent()?.to_owned(),
                name: target.name,
                is_test: profile.test,
                path: executable?,
            })
        };
        Self { programs: artifacts.filter_map(program).collect() }
    }

    /// Returns the command for a target's tests, in the package of this directory. `words` are prefixes of
    /// test names, or options of the test harness.
    pub(crate) fn test_command(
        &self,
        package: &str,
        target: &str,
        words: &[&str],
    ) -> Result<Command> {
        let directory = workspace::root().join(package);
        let program = self.programs.iter().find(|program| {
            program.is_test && program.name == target && program.package == directory
        });
        let program = program.with_context(|| format!("{package} has no tests {target}"))?;
        let mut command = program_in(&directory, &program.path);
        command.args(words);
        Ok(command)
    }

    /// Returns a command for each test program, named by package and target.
    pub(super) fn all_tests(&self) -> Vec<(String, Command)> {
        let mut known_paths = BTreeSet::new();
        let tests = self.programs.iter().filter(|program| program.is_test);
        let tests = tests.filter(|program| known_paths.insert(&program.path));
        let to_test = |program: &Program| {
            let package = program.package.strip_prefix(workspace::root());
            let package = package.unwrap_or(&program.package).display();
            let mut command = program_in(&program.package, &program.path);
            // The same variables as set by cargo.
            command
                .env("CARGO_MANIFEST_DIR", &program.package)
                .env("CARGO_PKG_NAME", &program.name);
            (format!("{package} {}", program.name), command)
        };
        tests.map(to_test).collect()
    }

    /// Returns the command for a function or an example of the package in this directory.
    pub(crate) fn program_command(&self, package: &str, target: &str) -> Result<Command> {
        let directory = workspace::root().join(package);
        let program = self.programs.iter().find(|program| {
            !program.is_test && program.name == target && program.package == directory
        });
        let program = program.with_context(|| format!("{package} has no program {target}"))?;
        Ok(program_in(&directory, &program.path))
    }

    /// Like [`Self::test_command`] for `#[ignore]`d tests, one at a time. Such tests are slow, or need the
    /// preparations of a step.
    pub(crate) fn ignored_test_command(
        &self,
        package: &str,
        target: &str,
        words: &[&str],
    ) -> Result<Command> {
        let mut command =
            self.test_command(package, target, &["--ignored", "--test-threads", "1"])?;
        command.args(words);
        Ok(command)
    }
}

/// Returns a command in a directory of the workspace.
fn program_in(directory: &Path, path: &Path) -> Command {
    let mut command = program_command(path, &[]);
    command.current_dir(directory);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(package: &str, name: &str, test: bool, executable: Option<&str>) -> String {
        let manifest = workspace::root().join(package).join("Cargo.toml");
        serde_json::json!({
            "reason": "compiler-artifact", "manifest_path": manifest, "target": {"name": name},
            "profile": {"test": test}, "executable": executable,
        })
        .to_string()
    }

    #[test]
    fn tests_are_found_by_package_and_target() {
        let messages = [
            artifact("tests", "it", true, Some("/built/it-1")),
            artifact("shared/core", "it", true, Some("/built/it-2")),
            artifact("functions/agent", "agent", false, Some("/built/agent")),
            artifact("shared/core", "djinn_core", false, None),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let built = BuiltPrograms::of(&messages.join("\n"));
        let command = built.ignored_test_command("tests", "it", &["kills::"]).unwrap();
        assert_eq!(command.get_program(), "/built/it-1");
        assert_eq!(command.get_current_dir(), Some(workspace::root().join("tests").as_path()));
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["--ignored", "--test-threads", "1", "kills::"]);
        let error = built.test_command("functions/agent", "agent", &[]).unwrap_err().to_string();
        assert_eq!(error, "functions/agent has no tests agent");
        let names: Vec<_> = built.all_tests().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["tests it", "shared/core it"]);
        let agent = built.program_command("functions/agent", "agent").unwrap();
        assert_eq!(agent.get_program(), "/built/agent");
        let error = built.program_command("tests", "it").unwrap_err().to_string();
        assert_eq!(error, "tests has no program it");
    }
}
