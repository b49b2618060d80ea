//! What `cargo test --doc` calls as its rustdoc: it writes a library's documentation, with warnings
//! as errors, before rustdoc looks for tests in it.

use std::process::Command;

use anyhow::Result;

use crate::process::run;
use crate::workspace;

/// Options of `rustdoc --test` alone, each with a value.
const OF_TESTS: [&str; 3] = ["--test-run-directory", "--test-args", "--test-runtool"];

/// Runs rustdoc with these words, for documentation first if they are for tests.
///
/// # Errors
/// What rustdoc fails with.
pub(crate) fn run_rustdoc(words: &[&str]) -> Result<()> {
    if let Some(words) = doc_arguments(words) {
        let mut docs = Command::new("rustdoc");
        docs.args(words).arg("--out-dir").arg(workspace::target_dir().join("doc"));
        run(docs.args(["-D", "warnings"]))?;
    }
    run(Command::new("rustdoc").args(words))
}

/// The words that document what these test. `None` if they test nothing: cargo asks for the version.
fn doc_arguments<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    if !words.contains(&"--test") {
        return None;
    }
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--test" => {}
            option if OF_TESTS.contains(&option) => drop(words.next()),
            word => kept.push(word),
        }
    }
    Some(kept)
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
