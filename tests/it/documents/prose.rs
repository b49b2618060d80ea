//! One sentence a line, in lines that fit a screen.

use super::markdown::{Document, Line, LineKind, item_body};
use super::sentences::{is_ended, split_sentences, spoken};
use super::{complain, none};

/// The most characters of a line.
const LINE: usize = 120;

/// Documents that are made from the code: a row of their tables is as long as what it says.
const MADE: [&str; 2] = ["docs/errors.md", "docs/settings.md"];

/// What a document has that is hard to read.
pub(super) fn check(document: &Document) -> Vec<String> {
    let next = document.lines.iter().skip(1).map(Some).chain([None]);
    let lines = document.lines.iter().zip(next);
    lines.flat_map(|(line, next)| check_line(document, line, next)).collect()
}

fn check_line(document: &Document, line: &Line, next: Option<&Line>) -> Vec<String> {
    let mut problems = Vec::new();
    let characters = line.text.chars().count();
    let may_be_long = match line.kind {
        LineKind::Definition => true,
        LineKind::Row => MADE.contains(&&*document.path),
        _ => false,
    };
    if characters > LINE && !may_be_long {
        problems.push(format!("{characters} characters, and {LINE} are the most"));
    }
    if matches!(line.kind, LineKind::Item | LineKind::Text) {
        problems.extend(check_text(line, next));
    }
    problems.into_iter().map(|what| complain(document, line.number, what)).collect()
}

fn check_text(line: &Line, next: Option<&Line>) -> Vec<String> {
    let text = line.text.trim_start_matches(['>', ' ']);
    let text = spoken(item_body(text).unwrap_or(text));
    let mut problems = Vec::new();
    let count = split_sentences(&text).len();
    if count > 1 {
        problems.push(format!("{count} sentences: give each a line"));
    }
    // An item that is a phrase needs no end, unless it goes on.
    let goes_on = next.is_some_and(|next| next.kind == LineKind::Text);
    let is_phrase = line.kind == LineKind::Item || line.text.starts_with(' ');
    if !is_ended(&text) && (goes_on || !is_phrase) {
        problems.push("the line does not end its sentence".to_owned());
    }
    problems
}

#[test]
fn what_is_hard_to_read_is_noticed() {
    let check = |text: &str| check(&Document::parse("a.md", text));
    for text in [
        "# A heading. Of two sentences\n\nA sentence.\nAnother one:\n\n- a phrase\n- A sentence.\n  Another.\n",
        "| A | B |\n|---|---|\n| a. B. | c |\n",
        "```text\nany words, without an end. And more\n```\n",
        "> A quoted sentence.\n",
        "<p align=\"center\">\n",
        &format!("[a]: {}\n", "b".repeat(LINE)),
    ] {
        none(check(text));
    }
    for (text, problem) in [
        (format!("{}.\n", "a".repeat(LINE)), "121 characters, and 120 are the most"),
        (format!("```\n{}\n```\n", "a".repeat(LINE + 1)), "a.md:2: 121 characters"),
        ("One. Two.\n".to_owned(), "2 sentences: give each a line"),
        ("- One. Two.\n".to_owned(), "2 sentences"),
        ("A sentence that\nends below.\n".to_owned(), "a.md:1: the line does not end"),
        ("- an item that\n  goes on\n".to_owned(), "a.md:1: the line does not end"),
        ("> without an end\n".to_owned(), "the line does not end"),
    ] {
        let problems = check(&text);
        assert!(
            matches!(&problems[..], [found] if found.contains(problem)),
            "{problem}: {problems:?}"
        );
    }
}

#[test]
fn rows_of_made_documents_may_be_long() {
    let row = format!("| {} |\n", "a".repeat(LINE));
    none(check(&Document::parse("docs/errors.md", &row)));
    assert_eq!(check(&Document::parse("docs/events.md", &row)).len(), 1);
    let line = format!("{}.\n", "a".repeat(LINE));
    assert_eq!(check(&Document::parse("docs/errors.md", &line)).len(), 1);
}
