//! `cargo xtask docs`: the documents that are made from the code, in `docs/`.

use anyhow::Result;

use crate::process::{cargo_command, run};
use crate::venv;

/// Where the documents are.
const DOCS: &str = "docs";

/// The contract among them.
const CONTRACT: &str = "docs/openapi.json";

/// Writes them.
///
/// # Errors
/// If one cannot be made or written.
pub(crate) fn write() -> Result<()> {
    run_generator("write")
}

/// Fails if one is another than the code would make, or if the contract is none of OpenAPI.
///
/// # Errors
/// Which differ.
pub(crate) fn check() -> Result<()> {
    run_generator("check")?;
    let venv = venv::ensure_venv()?;
    run(&mut venv.program_command("openapi-spec-validator", &[CONTRACT])?)
}

/// By itself: what ships is built without schemas.
fn run_generator(word: &str) -> Result<()> {
    let package = ["run", "--quiet", "--package", "djinn-docs", "--features", "schema", "--"];
    run(cargo_command(&package).args([word, DOCS]))
}
