//! The part of a text that is looked at.

use crate::urls::TextEnd;

/// Bytes that are looked at from the sign of an image on; what does not end within them is taken for unknown.
const MAX_WINDOW: usize = 4 * 1024;

/// The beginning of a text could be read in another way once more of it has come.
pub(super) struct Incomplete;

/// The end of the part of a text that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowEnd {
    /// More of the text may come.
    Open,
    /// The end of the text.
    Text,
    /// The text goes on.
    Cut,
}

/// The part of a text that is looked at.
pub(super) fn window_of(rest: &str, end: Option<TextEnd>) -> (&str, WindowEnd) {
    let window = rest.get(..rest.floor_char_boundary(MAX_WINDOW)).unwrap_or(rest);
    let window_end = match end {
        _ if window.len() < rest.len() => WindowEnd::Cut,
        None => WindowEnd::Open,
        Some(TextEnd::Whole) => WindowEnd::Text,
        Some(TextEnd::Cut) => WindowEnd::Cut,
    };
    (window, window_end)
}
