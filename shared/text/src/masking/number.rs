//! Runs of digits, and checks that the context allows a separate number.

use std::ops::Range;

use super::digits::{MAX_DIGITS, can_end_at, digits_end, is_digit};
use super::{byte_at, byte_before, card, phone};

/// Marks before an amount or an order number.
const NOT_BEFORE: [char; 6] = ['$', '¥', '￥', '€', '£', '#'];

/// Finds the numbers in a part of a text.
pub(super) fn find_numbers(text: &str, within: Range<usize>, spans: &mut Vec<Range<usize>>) {
    let mut at = within.start;
    while at < within.end {
        if !is_digit(text, at) {
            at += 1;
            continue;
        }
        let run_end = digits_end(text, at, within.end);
        let end = phone::international_end(text, at, within.end).or_else(|| {
            let looked_for =
                [resident_id_end, social_security_end, card::card_end, phone::mobile_end];
            let can_begin = can_begin_at(text, at);
            can_begin.then(|| looked_for.iter().find_map(|end| end(text, at, within.end))).flatten()
        });
        if let Some(end) = end {
            spans.push(at..end);
        }
        at = end.unwrap_or(run_end);
    }
}

/// Returns true if a number may start here: not within a word, a fraction, an amount or a longer number.
/// Masked text before counts in its original form.
fn can_begin_at(text: &str, at: usize) -> bool {
    let joins = byte_before(text, at, 2);
    let was_digit = |byte: u8| byte.is_ascii_digit() || byte == b'*';
    match byte_before(text, at, 1) {
        None => true,
        Some(b'.') => !joins.is_some_and(was_digit),
        Some(b'-' | b'+') => {
            !joins.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'*')
        }
        Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => false,
        Some(_) => !text.get(..at).is_some_and(|before| before.ends_with(NOT_BEFORE)),
    }
}

/// Returns the end of a resident ID of China: six digits of a place, the birthday, three digits, and a check
/// character with a weighted sum of 1 modulo 11.
fn resident_id_end(text: &str, at: usize, to: usize) -> Option<usize> {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let run_end = digits_end(text, at, to.min(at + MAX_DIGITS));
    let (end, check) = match run_end - at {
        18 => (run_end, u32::from(byte_at(text, run_end - 1)? - b'0')),
        17 if run_end < to && matches!(byte_at(text, run_end), Some(b'X' | b'x')) => {
            (run_end + 1, 10)
        }
        _ => return None,
    };
    let digits: Vec<u32> =
        text.get(at..at + 17)?.bytes().map(|digit| u32::from(digit - b'0')).collect();
    let number = |part: Range<usize>| {
        digits.get(part).map_or(0, |part| part.iter().fold(0, |number, digit| number * 10 + digit))
    };
    let is_day = (1..=12).contains(&number(10..12)) && (1..=31).contains(&number(12..14));
    let is_born = (1800..=2199).contains(&number(6..10)) && number(0..2) >= 11;
    let sum: u32 = digits.iter().zip(WEIGHTS).map(|(digit, weight)| digit * weight).sum();
    let fits = (sum + check) % 11 == 1;
    (is_day && is_born && fits && can_end_at(text, end)).then_some(end)
}

/// Returns the end of a social security number of the USA; no part consists of zeros alone.
fn social_security_end(text: &str, at: usize, to: usize) -> Option<usize> {
    let number = text.get(at..at + 11).filter(|_| at + 11 <= to)?;
    let [area, group, serial] =
        <[&str; 3]>::try_from(number.split('-').collect::<Vec<_>>()).ok()?;
    let all_digits =
        [area, group, serial].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let is_written_so = all_digits && (area.len(), group.len()) == (3, 2);
    let is_given_out = area != "000" && area != "666" && area < "900";
    let is_one = is_written_so && is_given_out && group != "00" && serial != "0000";
    (is_one && can_end_at(text, at + 11)).then_some(at + 11)
}
