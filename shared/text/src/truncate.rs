//! Cutting texts to a length.

/// The beginning of a text, at most this many bytes of it.
#[must_use]
pub fn truncate_text(text: &str, bytes: usize) -> String {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default().to_owned()
}
