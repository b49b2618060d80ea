//! Tests the documents: parses diagrams, and runs the commands of the README and the quickstart.
//!
//! A block fenced as `console` holds commands, each after `$ `, and their output. In the output, `…` matches
//! any text, and a line with only `…` matches any lines. `cargo dev` keeps serving until the end of the
//! document. Blocks only for reading are fenced as `sh`.

mod blocks;
#[cfg(test)]
mod commands;
mod console;
mod pattern;
mod pictures;
mod session;
mod shell;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::built_programs::BuiltPrograms;
use crate::process::command_output;
use crate::{process, venv, workspace};
use blocks::FencedBlock;
use session::CalledPrograms;

/// The documents with tested commands.
const PLAYED: [&str; 2] = ["README.md", "docs/quickstart.md"];

/// Parses all diagrams, then runs the documents' commands.
pub(super) fn check() -> Result<()> {
    let root = workspace::root();
    let venv = venv::ensure_venv()?;
    pictures::check_pictures(&venv, root)?;
    let built = BuiltPrograms::new()?;
    let program = |package, target| {
        built.program_command(package, target).map(|command| command.get_program().into())
    };
    let programs = CalledPrograms {
        venv: &venv,
        xtask: program("xtask", "xtask")?,
        own_tool: program("examples/own-tool", "ask")?,
    };
    let problems: Vec<_> = PLAYED
        .iter()
        .filter_map(|path| session::play_document(&programs, root, path).err())
        .map(|problem| format!("{problem:#}"))
        .collect();
    ensure!(problems.is_empty(), "\n{}", problems.join("\n\n"));
    Ok(())
}

/// Returns the Markdown documents of a work tree, except files used by models and tests.
fn list_documents(root: &Path) -> Result<Vec<String>> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"];
    let output = command_output(process::program_command("git", &list).current_dir(root))?;
    let is_document = |path: &&str| {
        let is_read = path.starts_with("prompts/") || path.split('/').any(|part| part == "tests");
        !is_read && root.join(path).is_file()
    };
    Ok(output.lines().filter(is_document).map(str::to_owned).collect())
}

/// Returns the fenced blocks of a document in order.
fn read_blocks(root: &Path, path: &str) -> Result<Vec<FencedBlock>> {
    let text = fs::read_to_string(root.join(path)).with_context(|| path.to_owned())?;
    Ok(blocks::fenced_blocks(&text))
}
