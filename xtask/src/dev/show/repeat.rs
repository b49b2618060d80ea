//! Filters repeated texts, so a text repeated at once is shown only once.

use std::mem::take;

/// The last text, and the buffered beginning of a possible repetition.
#[derive(Default)]
pub(super) struct RepeatFilter {
    last_text: String,
    buffer: String,
    is_buffering: bool,
}

impl RepeatFilter {
    /// Starts a new text, or the same text again.
    pub(super) fn begin_text(&mut self) {
        self.buffer.clear();
        self.is_buffering = !self.last_text.is_empty();
    }

    /// Adds a piece of the text and returns the text to show. Returns nothing while the text equals the
    /// beginning of the last text.
    pub(super) fn add_piece(&mut self, piece: &str) -> String {
        if !self.is_buffering {
            return piece.to_owned();
        }
        self.buffer.push_str(piece);
        if self.last_text.starts_with(self.buffer.trim_end()) {
            return String::new();
        }
        self.is_buffering = false;
        take(&mut self.buffer)
    }

    /// Ends a text and returns the rest of the text to show.
    pub(super) fn end_text(&mut self, whole: &str) -> String {
        let tail = if whole.trim() == self.last_text.trim() {
            String::new()
        } else {
            take(&mut self.buffer)
        };
        self.is_buffering = false;
        whole.clone_into(&mut self.last_text);
        tail
    }

    /// Returns true if the text equals the last text.
    pub(super) fn is_repeat(&self, text: &str) -> bool {
        text.trim() == self.last_text.trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the displayed text of texts in pieces.
    fn shown(texts: &[&[&str]]) -> String {
        let mut repeat = RepeatFilter::default();
        let mut shown = String::new();
        for pieces in texts {
            repeat.begin_text();
            for piece in *pieces {
                shown.push_str(&repeat.add_piece(piece));
            }
            shown.push_str(&repeat.end_text(&pieces.concat()));
            shown.push('|');
        }
        shown
    }

    #[test]
    fn a_text_is_shown_once_and_what_begins_like_it_whole() {
        assert_eq!(shown(&[&["East", " grew."], &["Ea", "st grew", ".\n"]]), "East grew.||");
        assert_eq!(shown(&[&["East grew."], &["East", " fell."]]), "East grew.|East fell.|");
        assert_eq!(shown(&[&["East grew."], &["East"]]), "East grew.|East|");
        assert_eq!(shown(&[&["East"], &["East", " grew."]]), "East|East grew.|");
        assert_eq!(shown(&[&["a"], &["b"], &["a"]]), "a|b|a|");
    }
}
