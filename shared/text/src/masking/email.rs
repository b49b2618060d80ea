//! E-mail addresses within texts.

use std::ops::Range;

use super::{byte_at, byte_before};

/// The user of a Git remote before the `@`, part of a server's address.
const GIT: &str = "git";

/// Minimum letters of a top-level domain.
const MIN_TOP_LEVEL: usize = 2;

/// Finds the addresses in a part of a text.
pub(super) fn find_addresses(text: &str, within: Range<usize>, spans: &mut Vec<Range<usize>>) {
    let part = text.get(within.clone()).unwrap_or_default();
    for (at, _) in part.match_indices('@') {
        let at = within.start + at;
        let mut start = at;
        while start > within.start && byte_before(text, start, 1).is_some_and(is_local) {
            start -= 1;
        }
        let local = text.get(start..at).unwrap_or_default();
        let is_name = local != GIT && local.bytes().any(|byte| byte.is_ascii_alphanumeric());
        if let Some(end) = domain_end(text, at + 1, within.end).filter(|_| is_name) {
            spans.push(start..end);
        }
    }
}

fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-')
}

/// Returns the end of the longest domain at this position.
fn domain_end(text: &str, start: usize, to: usize) -> Option<usize> {
    let mut at = start;
    let mut end = None;
    let mut labels = 0;
    loop {
        let label = at;
        let letters = skip_while(text, at, to, |byte| byte.is_ascii_alphabetic());
        at = skip_while(text, at, to, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if at == label {
            return end;
        }
        labels += 1;
        let is_word_on = byte_at(text, letters).is_some_and(|byte| byte.is_ascii_alphanumeric());
        if labels > 1 && letters - label >= MIN_TOP_LEVEL && !is_word_on {
            end = Some(letters);
        }
        if at >= to || byte_at(text, at) != Some(b'.') {
            return end;
        }
        at += 1;
    }
}

fn skip_while(text: &str, from: usize, to: usize, is_in: impl Fn(u8) -> bool) -> usize {
    let mut at = from;
    while at < to && byte_at(text, at).is_some_and(&is_in) {
        at += 1;
    }
    at
}
