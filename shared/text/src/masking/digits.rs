//! Digits in a text, and groups of them.

use super::byte_at;

/// The most digits of any number that is looked for.
pub(super) const MAX_DIGITS: usize = 19;

/// Groups of digits with one separator between each two.
#[derive(Debug, Default)]
pub(super) struct DigitGroups {
    pub(super) digits: Vec<u8>,
    /// Digits of each group, and where it ends.
    pub(super) groups: Vec<(usize, usize)>,
}

impl DigitGroups {
    /// The groups that begin at `at`, as long as the separator stays the same: so many as have, all
    /// together, no more digits than any number.
    pub(super) fn parse_at(text: &str, at: usize, to: usize) -> Self {
        let (mut groups, mut start, mut separator) = (Self::default(), at, None);
        loop {
            let end = digits_end(text, start, to.min(start + MAX_DIGITS + 1));
            let run = text.get(start..end).unwrap_or_default();
            if run.is_empty() || groups.digits.len() + run.len() > MAX_DIGITS {
                return groups;
            }
            groups.digits.extend(run.bytes().map(|digit| digit - b'0'));
            groups.groups.push((run.len(), end));
            let next = byte_at(text, end).filter(|byte| matches!(byte, b' ' | b'-'));
            if next.is_none() || end >= to || separator.is_some_and(|known| next != Some(known)) {
                return groups;
            }
            (separator, start) = (next, end + 1);
        }
    }

    /// How many digits each group has.
    pub(super) fn lengths(&self) -> Vec<usize> {
        self.groups.iter().map(|(length, _)| *length).collect()
    }
}

/// Whether a digit stands there.
pub(super) fn is_digit(text: &str, at: usize) -> bool {
    byte_at(text, at).is_some_and(|byte| byte.is_ascii_digit())
}

/// Where a run of digits ends.
pub(super) fn digits_end(text: &str, from: usize, to: usize) -> usize {
    let mut at = from;
    while at < to && is_digit(text, at) {
        at += 1;
    }
    at
}

/// Whether a number may end here: no word and no number goes on.
pub(super) fn can_end_at(text: &str, at: usize) -> bool {
    match byte_at(text, at) {
        Some(b'-') => {
            !byte_at(text, at + 1).is_some_and(|byte| byte.is_ascii_digit() || byte == b'*')
        }
        Some(byte) => !byte.is_ascii_alphanumeric() && byte != b'_',
        None => true,
    }
}
