//! `cargo xtask reports`: sample reports in all forms, to look at.

use std::process::Command;

use anyhow::{Context as _, Result};
use djinn_local::{prepare_fonts, prepare_python};

use crate::process::run;
use crate::terminal::print_line;
use crate::venv::ensure_office;
use crate::workspace;

/// The variable with the path of the Python that validates Office files.
pub(crate) const OFFICE_PYTHON: &str = "OFFICE_PYTHON";

/// The samples, and the script that renders and checks them.
const SCRIPT: &str = "functions/sandbox/tests/reports/samples.py";

/// Renders the samples into `target/reports` with the packages of the sandbox, without its walls.
pub(crate) fn render_samples() -> Result<()> {
    let place = workspace::target_dir().join("sandbox-python");
    let say = |words: &str| print_line(&format!("    {words}"));
    let python = prepare_python(&place, &say).context("the samples need a Python")?;
    let fonts = prepare_fonts(&place, &say).context("the samples need fonts")?;
    let script = workspace::root().join(SCRIPT);
    let folder = workspace::target_dir().join("reports");
    let office = ensure_office()?.python();
    run(Command::new(python).arg(script).arg(folder).args(fonts).env(OFFICE_PYTHON, office))
}
