//! Masking what identifies a person: e-mail addresses, phone numbers, ID numbers and bank cards.
//!
//! Every character of such a thing becomes `*`, but for what stands between its parts, so that a text
//! keeps its length and its offsets: what is read in parts, or cut, is masked like the whole. What is
//! looked for:
//!
//! - e-mail addresses with a top-level domain;
//! - phone numbers in the international form (`+` and 8 to 15 digits), and mobile numbers of mainland
//!   China with or without their prefix;
//! - resident IDs of China with a date and a check character (ISO 7064 MOD 11-2) that fit, and social
//!   security numbers of the USA written with dashes;
//! - card numbers of 13 to 19 digits that an issuer gives out and whose check digit (Luhn) fits, with
//!   spaces or dashes or without.
//!
//! Nothing within a URL (`http`, `https`) is masked: it would lead nowhere then. Only ASCII digits
//! count. A number that is part of a longer word, a price, a fraction or an order number (`#…`, `A-…`)
//! stays.

mod card;
mod email;
mod number;
mod phone;

use std::borrow::Cow;
use std::ops::Range;

use crate::urls::tokens;

/// What every character that is masked becomes.
pub const MASK: char = '*';

/// A text without what identifies a person. It has as many bytes as before.
#[must_use]
pub fn mask(text: &str) -> Cow<'_, str> {
    let mut found = Vec::new();
    let mut from = 0;
    for (start, url) in tokens(text) {
        find(text, from..start, &mut found);
        from = start + url.len();
    }
    find(text, from..text.len(), &mut found);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_unstable_by_key(|span| span.start);
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for Range { start, end } in found {
        let start = start.max(at);
        masked.push_str(text.get(at..start).unwrap_or_default());
        masked.extend(text.get(start..end).unwrap_or_default().chars().map(masked_character));
        at = at.max(end);
    }
    masked.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(masked)
}

/// Finds what is to be masked between two URLs.
fn find(text: &str, within: Range<usize>, found: &mut Vec<Range<usize>>) {
    email::find(text, within.clone(), found);
    number::find(text, within, found);
}

fn masked_character(character: char) -> char {
    match character {
        '@' | '.' | ' ' | '-' | '(' | ')' => character,
        _ => MASK,
    }
}

/// A byte of a text, if there is one.
fn byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

/// The byte so many places before another.
fn byte_before(text: &str, at: usize, places: usize) -> Option<u8> {
    byte(text, at.checked_sub(places)?)
}
