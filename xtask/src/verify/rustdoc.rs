//! The rustdoc replacement for `cargo test --doc`: writes a library's documentation, with warnings as errors,
//! before rustdoc looks for tests.

use std::process::Command;

use anyhow::Result;

use crate::process::run;
use crate::workspace;

/// Options of `rustdoc --test` only, each with a value.
const OF_TESTS: [&str; 3] = ["--test-run-directory", "--test-args", "--test-runtool"];

/// Runs rustdoc with these arguments. For a test run, builds the documentation first.
///
/// # Errors
/// Returns rustdoc's error.
pub(crate) fn run_rustdoc(words: &[&str]) -> Result<()> {
    if let Some(words) = doc_arguments(words) {
        let mut docs = Command::new("rustdoc");
        docs.args(words).arg("--out-dir").arg(workspace::target_dir().join("doc"));
        run(docs.args(["-D", "warnings"]))?;
    }
    run(Command::new("rustdoc").args(words))
}

/// Returns the arguments for documenting the tested crate. Returns `None` for a call without tests: cargo
/// asks for the version.
fn doc_arguments<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    if !words.contains(&"--test") {
        return None;
    }
    let mut remaining_words = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--test" => {}
            option if OF_TESTS.contains(&option) => drop(words.next()),
            word => remaining_words.push(word),
        }
    }
    Some(remaining_words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_words_become_documentations() {
        let test =
            ["--edition=2024", "--test", "lib.rs", "--test-run-directory", "/w", "-L", "deps"];
        assert_eq!(doc_arguments(&test).unwrap(), ["--edition=2024", "lib.rs", "-L", "deps"]);
        assert_eq!(doc_arguments(&["-vV"]), None);
    }
}
