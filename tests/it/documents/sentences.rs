//! The sentences of a line, and their words.

use super::markdown::without_code;

/// What ends with a full stop and ends no sentence.
const ABBREVIATIONS: [&str; 7] = ["e.g", "i.e", "vs", "No", "etc", "cf", "approx"];

/// What may stand between the end of a sentence and the space behind it.
const CLOSING: [char; 8] = [')', '"', '\'', '*', '_', '”', '’', ']'];

/// What may stand before the first letter of a sentence.
const OPENING: [char; 8] = ['`', '[', '*', '_', '"', '“', '(', '‘'];

/// What is heard when a line is read aloud: links by their texts, code as a word.
pub(super) fn spoken(line: &str) -> String {
    let text: Vec<char> = without_code(line).chars().collect();
    let mut heard = String::new();
    let mut at = 0;
    while let Some(&sign) = text.get(at) {
        at += 1;
        match (sign, text.get(at)) {
            ('!', Some('[')) | ('[', _) => {}
            (']', Some('(')) => at = closing(&text, at, '(', ')').unwrap_or(at),
            (']', Some('[')) => at = closing(&text, at, '[', ']').unwrap_or(at),
            (']', _) => {}
            (sign, _) => heard.push(sign),
        }
    }
    heard
}

/// The place behind the sign that closes the one at a place.
pub(super) fn closing(text: &[char], at: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (place, sign) in text.iter().enumerate().skip(at) {
        depth += i32::from(*sign == open) - i32::from(*sign == close);
        if depth == 0 {
            return Some(place + 1);
        }
    }
    None
}

/// The sentences of what is heard, each with its end.
pub(super) fn split_sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, sign) in text.char_indices() {
        if at < start || !matches!(sign, '.' | '!' | '?') {
            continue;
        }
        let (before, behind) = (&text[start..at], &text[at + 1..]);
        let rest = behind.trim_start_matches(CLOSING);
        let next = rest.trim_start();
        let begins = next.starts_with(|c: char| c.is_uppercase() || OPENING.contains(&c));
        if begins && next.len() < rest.len() && !(sign == '.' && is_abbreviated(before)) {
            sentences.push(text[start..text.len() - rest.len()].trim());
            start = text.len() - next.len();
        }
    }
    sentences.push(text[start..].trim());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Whether the last word before a full stop is an abbreviation.
fn is_abbreviated(text: &str) -> bool {
    let word = text.rsplit(|c: char| c.is_whitespace() || OPENING.contains(&c)).next();
    word.is_some_and(|word| ABBREVIATIONS.contains(&word))
}

/// Whether what is heard ends as a sentence does, or as what leads to the next lines.
pub(super) fn is_ended(text: &str) -> bool {
    text.trim_end_matches(|c: char| CLOSING.contains(&c) || c.is_whitespace())
        .ends_with(['.', '!', '?', ':', '。', '！', '？', '：'])
}

#[test]
fn a_line_is_heard_without_what_nobody_says() {
    for (line, heard) in [
        ("See [the page](a.md#b).", "See the page."),
        ("See [the `page`][ref] now.", "See the `code` now."),
        ("An ![image](a(b).svg) here", "An image here"),
        ("[Alone] it stands", "Alone it stands"),
        ("`a[0](b)` is code", "`code` is code"),
        ("[broken](a", "broken(a"),
    ] {
        assert_eq!(spoken(line), heard, "{line}");
    }
}

#[test]
fn sentences_are_told_apart() {
    for (text, sentences) in [
        ("One.", &["One."][..]),
        ("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"]),
        ("A file, e.g. A, or No. `2` is one.", &["A file, e.g. A, or No. `2` is one."]),
        ("Version 0.1.0 of a.rs is it.", &["Version 0.1.0 of a.rs is it."]),
        ("**Bold.** Then `code` comes.", &["**Bold.**", "Then `code` comes."]),
        ("(In brackets.) `code` comes.", &["(In brackets.)", "`code` comes."]),
        ("It ends. and goes on.", &["It ends. and goes on."]),
        ("  ", &[]),
    ] {
        assert_eq!(split_sentences(text), sentences, "{text}");
    }
}

#[test]
fn an_end_is_told_behind_what_closes_it() {
    for text in ["So.", "So: ", "**So?**", "(So.)", "\"So!\"", "他说。"] {
        assert!(is_ended(text), "{text}");
    }
    for text in ["So", "So,", "**So**", "So;", ""] {
        assert!(!is_ended(text), "{text}");
    }
}
