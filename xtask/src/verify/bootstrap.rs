//! The built functions under AWS's runtime interface emulator, which comes with aws-sam-cli.

use std::env::consts::{ARCH, OS};
use std::path::Path;

use anyhow::{Result, ensure};

use super::built::Built;
use crate::process::{output, run};
use crate::terminal::say;
use crate::{venv, workspace};

/// Asks the built functions.
pub(super) fn run_tests() -> Result<()> {
    if OS != "linux" {
        say("    left out: the emulator is a program for Linux");
        return Ok(());
    }
    let venv = venv::ready()?;
    let find = ["-c", "import os, samcli; print(os.path.dirname(samcli.__file__))"];
    let samcli = output(&mut venv.program("python", &find)?)?;
    let architecture = if ARCH == "aarch64" { "arm64" } else { ARCH };
    let emulator = Path::new(&samcli).join(format!("local/rapid/aws-lambda-rie-{architecture}"));
    ensure!(emulator.is_file(), "aws-sam-cli has no emulator for {ARCH}");
    let mut tests = Built::new()?.ignored("tests", "rie", &[])?;
    run(tests.env("DJINN_RIE", emulator).env("DJINN_BUILT", workspace::built("debug")))
}
