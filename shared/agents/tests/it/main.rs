//! Agent files: what is read from good ones, and what is said of others.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on has failed"
)]

mod arbitrary;
mod arguments;
mod broken;
mod fuzz;
mod good;
mod shipped;
mod tables;
mod together;
mod workflows;

use djinn_agents::{AgentFile, FileProblem, ReadAgent, read_agent};
use djinn_core::language::Language;

fn read(text: &str) -> Result<ReadAgent, FileProblem> {
    read_agent(&AgentFile { path: "a.md", text, language: Language::En, entry: false })
}

/// A file whose front matter has these lines after `name` (line 2) and `description` (line 3).
fn with_keys(keys: &str) -> String {
    let keys = if keys.is_empty() { String::new() } else { format!("{keys}\n") };
    format!("---\nname: a\ndescription: Does a thing.\n{keys}---\nDo it.\n")
}

/// A file with these lines of front matter, and this prompt.
fn with_prompt(keys: &str, prompt: &str) -> String {
    with_keys(keys).replace("Do it.", prompt)
}
