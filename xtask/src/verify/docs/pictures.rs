//! Parses Mermaid diagrams with Mermaid's own parser.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::{list_documents, read_blocks};
use crate::node_packages;
use crate::terminal::print_line;
use crate::venv::Venv;
use crate::workspace;

/// The parser, pinned by version and hash, and the script that calls the parser.
const PARSER: &str = "infra/check/mermaid";
const SCRIPT: &str = "check.mjs";

/// Parses the diagrams of all documents of a work tree.
///
/// # Errors
/// Returns an error for an invalid diagram. Each invalid diagram is printed with the line and the problem.
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
    // The script finds the packages in its own folder.
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
