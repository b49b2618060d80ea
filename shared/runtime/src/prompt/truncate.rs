//! Truncates texts to a cap.

use djinn_text::urls::trim_partial_placeholder;

use super::CUT_MARK;

/// Returns the first `max_chars` characters of a text, with a mark if the text was longer.
#[must_use]
pub fn truncate_text(text: &str, max_chars: usize) -> String {
    cut_text(text, max_chars).unwrap_or_else(|| text.to_owned())
}

/// Like [`truncate_text`], without a copy of a text that fits.
pub(super) fn truncate_owned(text: String, max_chars: usize) -> String {
    cut_text(&text, max_chars).unwrap_or(text)
}

/// Returns the cut text; `None` if the text fits.
fn cut_text(text: &str, max_chars: usize) -> Option<String> {
    // A text never has more characters than bytes: most texts need no counting.
    if text.len() <= max_chars || text.chars().count() <= max_chars {
        return None;
    }
    let head_chars = max_chars.saturating_sub(CUT_MARK.chars().count());
    let end = text.char_indices().nth(head_chars).map_or(text.len(), |(byte, _)| byte);
    let head = trim_partial_placeholder(text.get(..end).unwrap_or_default());
    Some(format!("{head}{CUT_MARK}"))
}
