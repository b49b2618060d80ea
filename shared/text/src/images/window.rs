//! The window of a text read at once.

use crate::urls::TextEnd;

/// Maximum bytes read from the sign of an image; an image without an end in the window counts as unknown.
const MAX_WINDOW: usize = 4 * 1024;

/// The start of the text may read differently after more text.
pub(super) struct Incomplete;

/// The end of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowEnd {
    /// More of the text may come.
    Open,
    /// The end of the text.
    Text,
    /// The text continues after the window.
    Cut,
}

/// Returns the window at the start of a text.
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
