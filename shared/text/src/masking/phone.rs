//! Phone numbers within texts.

use super::digits::{DigitGroups, can_end_at, digits_end, is_digit};
use super::{byte_at, byte_before};

/// Minimum digits of a number in the international form, country code included.
const MIN_DIGITS: usize = 8;

/// Maximum digits of a number in the international form (ITU-T E.164).
const MAX_DIGITS: usize = 15;

/// Separators between two groups of digits, longer first.
const BETWEEN: [&str; 9] = [" (", "-(", ") ", ")-", " ", "-", ".", "(", ")"];

/// Groups of a mobile number of mainland China, with or without the prefix.
const MOBILE: [&[usize]; 10] = [
    &[11],
    &[3, 4, 4],
    &[3, 8],
    &[2, 11],
    &[2, 3, 4, 4],
    &[2, 3, 8],
    &[4, 11],
    &[4, 3, 4, 4],
    &[13],
    &[15],
];

/// Returns the end of a number in the international form, if a `+` precedes `at`.
pub(super) fn international_end(text: &str, at: usize, to: usize) -> Option<usize> {
    if byte_before(text, at, 1) != Some(b'+') || byte_at(text, at) == Some(b'0') {
        return None;
    }
    // Digits after a country's known length are another number.
    let max_count = match text.get(at..).unwrap_or_default().as_bytes() {
        [b'1', ..] => 11,
        [b'8', b'6', ..] => 13,
        _ => MAX_DIGITS,
    };
    let mut start = at;
    let mut digits = 0;
    let mut longest = None;
    loop {
        let end = digits_end(text, start, to.min(start + MAX_DIGITS + 1));
        digits += end - start;
        if digits > max_count {
            return longest;
        }
        let word_goes_on =
            byte_at(text, end).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if digits >= MIN_DIGITS && !word_goes_on {
            longest = Some(end);
        }
        let rest = text.get(end..to).unwrap_or_default();
        let between = BETWEEN.iter().find(|between| rest.starts_with(**between));
        start = match between {
            Some(between) if is_digit(text, end + between.len()) => end + between.len(),
            Some(_) | None => return longest,
        };
        if start >= to {
            return longest;
        }
    }
}

/// Returns the end of a mobile number of mainland China.
pub(super) fn mobile_end(text: &str, at: usize, to: usize) -> Option<usize> {
    let groups = DigitGroups::parse_at(text, at, to);
    let lengths = groups.lengths();
    let groupings = MOBILE.iter().filter(|grouping| lengths.starts_with(grouping));
    groupings
        .filter_map(|grouping| {
            let count: usize = grouping.iter().sum();
            let digits = groups.digits.get(..count)?;
            let (prefix, number) = digits.split_at(count.checked_sub(11)?);
            let is_prefix = matches!(prefix, [] | [8, 6] | [0, 0, 8, 6]);
            let is_mobile = matches!(number, [1, 3..=9, ..]);
            let (_, end) = groups.groups.get(grouping.len() - 1)?;
            (is_prefix && is_mobile && can_end_at(text, *end)).then_some(*end)
        })
        .max()
}
