//! Whatever stands in a file, reading it ends in an agent or in a sentence.

use std::collections::BTreeSet;

use djinn_agents::check_agents;
use proptest::prelude::*;

use super::{read, with_keys, with_prompt};

/// Pieces of which files are made, and of which they break.
const PIECES: [&str; 61] = [
    "---\n",
    "name",
    "description",
    "tools",
    "parameters",
    "type",
    "properties",
    "answer",
    "task",
    ": ",
    ":",
    "- ",
    ", ",
    "\n",
    "\n  ",
    "\n    ",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "|",
    ">",
    "#",
    "&a",
    "*a",
    "!",
    "!!str ",
    "?",
    "%",
    "@",
    "`",
    "\t",
    "\r",
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    " if ",
    " for ",
    " is ",
    "raw",
    "endraw",
    ".",
    "0x",
    "1e9",
    "~",
    "object",
    "string",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "界",
    "\0",
    "\\x",
    "<<",
    "...",
    "%TAG ! a\n",
];

fn pieces(most: usize) -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(PIECES.to_vec());
    proptest::collection::vec(piece, 0..most).prop_map(|pieces| pieces.concat())
}

fn check_lines(text: &str) {
    match read(text) {
        Ok(agent) => drop(check_agents(&[agent], &BTreeSet::new())),
        Err(problem) => {
            let lines = text.replace("\r\n", "\n").replace('\r', "\n").lines().count().max(1);
            assert!((1..=lines).contains(&problem.line), "{problem} in {text:?}");
            assert!(!problem.rule.is_empty() && problem.rule.len() < 2_000);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_text(text in any::<String>()) {
        check_lines(&text);
    }

    #[test]
    fn any_front_matter(text in pieces(40)) {
        check_lines(&with_keys(&text));
    }

    #[test]
    fn any_front_matter_of_any_letters(text in "[ -~\n界]{0,60}") {
        check_lines(&with_keys(&text));
    }

    #[test]
    fn any_schema(text in pieces(30)) {
        let schema = format!("parameters:\n  type: object\n  properties:\n    {text}");
        check_lines(&with_keys(&schema));
    }

    #[test]
    fn any_prompt(text in pieces(40)) {
        check_lines(&with_prompt("", &format!("x{text}")));
    }
}

#[test]
fn a_file_of_the_largest_size_is_read_or_refused_at_once() {
    for piece in [
        "[", "{", "- ", "? ", ": ", "a: {", "&a ", "*a ", "!", "'", "\"", "|\n", "a: b\n", "#",
        "%", "[a, ",
    ] {
        let text = with_keys(&piece.repeat(60_000 / piece.len()));
        check_lines(&text);
    }
    for piece in
        ["{", "{{", "{{(", "{%", "{#", "{{ a|", "{% if a %}", "{{ -", "{% raw %}", "[", "{{ not "]
    {
        check_lines(&with_prompt("", &piece.repeat(16_000 / piece.len())));
        check_lines(&with_prompt("", &format!("{{{{ {}", piece.repeat(16_000 / piece.len()))));
    }
}
