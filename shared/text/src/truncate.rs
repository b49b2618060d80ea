//! Cutting texts to a length.

/// Returns the start of a text, at most this many bytes.
#[must_use]
pub fn truncate_text(text: &str, bytes: usize) -> String {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default().to_owned()
}
