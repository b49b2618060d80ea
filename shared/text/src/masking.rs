//! Masking of personal data: e-mail addresses, phone numbers, ID numbers and bank cards.
//!
//! Every character becomes `*` except the separators between parts. Lengths and offsets are unchanged, so a
//! partial read is masked like the whole text. Masked are:
//!
//! - e-mail addresses with a top-level domain;
//! - phone numbers in the international form (`+` and 8 to 15 digits), and mobile numbers of mainland China
//!   with or without the prefix;
//! - resident IDs of China with a valid date and check character (ISO 7064 MOD 11-2), and US social security
//!   numbers with dashes;
//! - card numbers of 13 to 19 digits with an issuer's prefix and a valid check digit (Luhn), with or without
//!   spaces or dashes.
//!
//! URLs (`http`, `https`) are not masked, because a masked URL would not work. Full-width letters, digits and
//! signs count as their ASCII forms. Numbers within a longer word, a price, a fraction or an order number
//! (`#…`, `A-…`) are not masked.

mod card;
mod digits;
mod email;
mod number;
mod phone;

use std::borrow::Cow;
use std::ops::Range;

use crate::urls::find_urls;

/// The replacement of a masked character.
pub const MASK: char = '*';

/// The replacement of a full-width character, of the same length in bytes.
const WIDE_MASK: char = '＊';

/// Returns a text with masked personal data, of the same length in bytes.
#[must_use]
pub fn mask_pii(text: &str) -> Cow<'_, str> {
    let urls = find_urls(text).map(|(start, url)| start..start + url.len());
    let spans =
        if text.contains(is_wide) { find_narrowed(text, urls) } else { find_all(text, urls) };
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    let mask = |character| match character {
        '@' | '.' | ' ' | '-' | '(' | ')' => character,
        wide if is_wide(wide) => match narrow_character(wide) {
            '@' | '.' | '-' | '(' | ')' => wide,
            _ => WIDE_MASK,
        },
        _ => MASK,
    };
    let mut output = String::with_capacity(text.len());
    let mut at = 0;
    for Range { start, end } in spans {
        let start = start.max(at);
        output.push_str(text.get(at..start).unwrap_or_default());
        output.extend(text.get(start..end).unwrap_or_default().chars().map(mask));
        at = at.max(end);
    }
    output.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(output)
}

/// Returns the ranges to mask in a text with full-width characters, in the text's own offsets.
fn find_narrowed(text: &str, urls: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let narrow: String = text.chars().map(narrow_character).collect();
    // The start of each character in both texts, with equal numbers of characters.
    let in_text = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let in_narrow = narrow.char_indices().map(|(at, _)| at).chain([narrow.len()]);
    let places: Vec<(usize, usize)> = in_text.zip(in_narrow).collect();
    let to_narrow = |at: usize| {
        let nth = places.partition_point(|(in_text, _)| *in_text < at);
        places.get(nth).map_or(narrow.len(), |(_, in_narrow)| *in_narrow)
    };
    let to_text = |at: usize| {
        let nth = places.partition_point(|(_, in_narrow)| *in_narrow < at);
        places.get(nth).map_or(text.len(), |(in_text, _)| *in_text)
    };
    let urls = urls.map(|url| to_narrow(url.start)..to_narrow(url.end));
    let spans = find_all(&narrow, urls).into_iter();
    spans.map(|span| to_text(span.start)..to_text(span.end)).collect()
}

/// Returns the ranges to mask outside URLs, sorted by start.
fn find_all(text: &str, urls: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut from = 0;
    for url in urls {
        find_in_range(text, from..url.start, &mut spans);
        from = url.end;
    }
    find_in_range(text, from..text.len(), &mut spans);
    spans.sort_unstable_by_key(|span| span.start);
    spans
}

/// Finds the ranges to mask between two URLs.
fn find_in_range(text: &str, within: Range<usize>, spans: &mut Vec<Range<usize>>) {
    email::find_addresses(text, within.clone(), spans);
    number::find_numbers(text, within, spans);
}

/// Returns true for a full-width form of an ASCII character.
fn is_wide(character: char) -> bool {
    ('\u{ff01}'..='\u{ff5e}').contains(&character)
}

/// Returns the ASCII form of a full-width character.
fn narrow_character(character: char) -> char {
    if is_wide(character) {
        char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character)
    } else {
        character
    }
}

/// Returns the byte at an offset, if any.
fn byte_at(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

/// Returns the byte `places` before `at`.
fn byte_before(text: &str, at: usize, places: usize) -> Option<u8> {
    byte_at(text, at.checked_sub(places)?)
}
