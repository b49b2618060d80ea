//! Runs the built functions under AWS's runtime interface emulator, part of aws-sam-cli.

use std::env::consts::{ARCH, OS};
use std::path::Path;

use anyhow::{Result, ensure};
use djinn_settings::table::contributor::{BUILT, RIE};

use super::built_programs::BuiltPrograms;
use super::test_process;
use crate::process::command_output;
use crate::terminal::print_line;
use crate::{venv, workspace};

/// Sends requests to the built functions.
pub(super) fn run_tests() -> Result<()> {
    if OS != "linux" {
        print_line("    left out: the emulator is a program for Linux");
        return Ok(());
    }
    let venv = venv::ensure_venv()?;
    let find = ["-c", "import os, samcli; print(os.path.dirname(samcli.__file__))"];
    let samcli = command_output(&mut venv.program_command("python", &find)?)?;
    let architecture = if ARCH == "aarch64" { "arm64" } else { ARCH };
    let emulator = Path::new(&samcli).join(format!("local/rapid/aws-lambda-rie-{architecture}"));
    ensure!(emulator.is_file(), "aws-sam-cli has no emulator for {ARCH}");
    let mut tests = BuiltPrograms::new()?.ignored_test_command("tests", "rie", &[])?;
    test_process::run_tests(
        tests.env(RIE.name, emulator).env(BUILT.name, workspace::profile_dir("debug")),
    )
}
