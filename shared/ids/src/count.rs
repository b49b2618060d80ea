//! The numbers in ids.

/// A number as ids hold it: from 1, without a zero before it.
pub(crate) fn parse_count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|count: &u32| *count > 0 && !text.starts_with(['0', '+']))
}
