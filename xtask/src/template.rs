//! `cargo xtask template`: checks `template.yaml` without the network and writes what SAM makes of
//! it to `target/template.json`, for tests to read.
//!
//! `sam validate --lint` knows SAM's own properties but passes wrong values of what it hands on, so
//! its output is linted too; `infra/check/rules.py` then holds it against what this product needs.

use anyhow::Result;

use crate::process;
use crate::venv;

const SOURCE: &str = "template.yaml";
const TRANSFORMED: &str = "target/template.json";

/// Runs the checks.
///
/// # Errors
/// The first one that fails.
pub(crate) fn run() -> Result<()> {
    let venv = venv::ensure_venv()?;
    let checks: [(&str, &[&str]); 5] = [
        ("sam", &["validate", "--lint", "--template", SOURCE]),
        ("python", &["infra/check/transform.py", SOURCE, TRANSFORMED]),
        ("cfn-lint", &[TRANSFORMED]),
        ("python", &["infra/check/rules.py", TRANSFORMED]),
        ("python", &["infra/check/breakages.py", SOURCE]),
    ];
    for (program, arguments) in checks {
        process::run(&mut venv.program_command(program, arguments)?)?;
    }
    Ok(())
}
