//! Mermaid pictures, parsed by Mermaid's own parser.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::{list_documents, read_blocks};
use crate::terminal::print_line;
use crate::venv::Venv;
use crate::verify::node_packages;
use crate::workspace;

/// The parser, by version and hash, and what calls it.
const PARSER: &str = "infra/check/mermaid";
const SCRIPT: &str = "check.mjs";

/// Parses the pictures of all documents of a work tree.
///
/// # Errors
/// If one cannot be parsed; each has been named, with its line and what is wrong.
pub(super) fn check_pictures(venv: &Venv, root: &Path) -> Result<()> {
    let mut pictures = Vec::new();
    for path in list_documents(root)? {
        let blocks = read_blocks(root, &path)?.into_iter();
        pictures.extend(
            blocks.filter(|block| block.language == "mermaid").map(
                |block| json!({"place": format!("{path}:{}", block.line), "text": block.text()}),
            ),
        );
    }
    let place = node_packages::ensure_packages(venv, PARSER, "mermaid")?;
    // It finds its packages beside it.
    fs::copy(workspace::root().join(PARSER).join(SCRIPT), place.join(SCRIPT))?;
    let mut node = venv.program_command("node", &[SCRIPT])?;
    let mut node = node.current_dir(&place).stdin(Stdio::piped()).spawn()?;
    let mut input = node.stdin.take().context("node takes no input")?;
    input.write_all(json!(pictures).to_string().as_bytes())?;
    drop(input);
    ensure!(node.wait()?.success(), "a picture cannot be parsed");
    print_line(&format!("    {} pictures", pictures.len()));
    Ok(())
}
