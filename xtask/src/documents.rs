//! `cargo xtask docs`: documents in `docs/` generated from the code.

use anyhow::Result;

use crate::process::{cargo_command, run};
use crate::venv;

/// The folder of the documents.
const DOCS: &str = "docs";

/// The OpenAPI contract.
const CONTRACT: &str = "docs/openapi.json";

/// Writes the documents.
///
/// # Errors
/// Returns an error if a document cannot be generated or written.
pub(crate) fn write() -> Result<()> {
    run_generator("write")
}

/// Checks that the documents are up to date and the contract is valid OpenAPI.
///
/// # Errors
/// Returns an error with the outdated documents.
pub(crate) fn check() -> Result<()> {
    run_generator("check")?;
    let venv = venv::ensure_venv()?;
    run(&mut venv.program_command("openapi-spec-validator", &[CONTRACT])?)
}

/// A separate program, because shipped programs are built without schemas.
fn run_generator(word: &str) -> Result<()> {
    let package = ["run", "--quiet", "--package", "djinn-docs", "--features", "schema", "--"];
    run(cargo_command(&package).args([word, DOCS]))
}
