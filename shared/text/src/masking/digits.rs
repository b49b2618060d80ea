//! Digits in a text, and groups of digits.

use super::byte_at;

/// Maximum digits of any masked number.
pub(super) const MAX_DIGITS: usize = 19;

/// Groups of digits with the same separator between all groups.
#[derive(Debug, Default)]
pub(super) struct DigitGroups {
    pub(super) digits: Vec<u8>,
    /// Number of digits and end of each group.
    pub(super) groups: Vec<(usize, usize)>,
}

impl DigitGroups {
    /// Reads the groups at `at` with a constant separator, up to the maximum digits of any number in total.
    pub(super) fn parse_at(text: &str, at: usize, to: usize) -> Self {
        let mut groups = Self::default();
        let mut start = at;
        let mut separator = None;
        loop {
            let end = digits_end(text, start, to.min(start + MAX_DIGITS + 1));
            let run = text.get(start..end).unwrap_or_default();
            if run.is_empty() || groups.digits.len() + run.len() > MAX_DIGITS {
                return groups;
            }
            groups.digits.extend(run.bytes().map(|digit| digit - b'0'));
            groups.groups.push((run.len(), end));
            let next = byte_at(text, end).filter(|byte| matches!(byte, b' ' | b'-'));
            if next.is_none() || end >= to || separator.is_some_and(|first| next != Some(first)) {
                return groups;
            }
            (separator, start) = (next, end + 1);
        }
    }

    /// Returns the number of digits of each group.
    pub(super) fn lengths(&self) -> Vec<usize> {
        self.groups.iter().map(|(length, _)| *length).collect()
    }
}

/// Returns true if the byte at an offset is a digit.
pub(super) fn is_digit(text: &str, at: usize) -> bool {
    byte_at(text, at).is_some_and(|byte| byte.is_ascii_digit())
}

/// Returns the end of a run of digits.
pub(super) fn digits_end(text: &str, from: usize, to: usize) -> usize {
    let mut at = from;
    while at < to && is_digit(text, at) {
        at += 1;
    }
    at
}

/// Returns true if a number may end here: neither a word nor a number continues.
pub(super) fn can_end_at(text: &str, at: usize) -> bool {
    match byte_at(text, at) {
        Some(b'-') => {
            !byte_at(text, at + 1).is_some_and(|byte| byte.is_ascii_digit() || byte == b'*')
        }
        Some(byte) => !byte.is_ascii_alphanumeric() && byte != b'_',
        None => true,
    }
}
