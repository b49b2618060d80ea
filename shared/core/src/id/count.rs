//! The numbers in ids.

/// Parses a number in an id: from 1, without a leading zero.
pub(crate) fn parse_count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|count: &u32| *count > 0 && !text.starts_with(['0', '+']))
}
