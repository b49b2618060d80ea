//! A text that says again what was said last: it is shown once.

use std::mem::take;

/// The last text, and what of the next one may only repeat it.
#[derive(Default)]
pub(super) struct Repeat {
    said: String,
    held: String,
    is_held: bool,
}

impl Repeat {
    /// A new text begins, or begins anew.
    pub(super) fn begin(&mut self) {
        self.held.clear();
        self.is_held = !self.said.is_empty();
    }

    /// What is to be shown when this joins the text: nothing as long as it is how the last one begins.
    pub(super) fn add(&mut self, piece: &str) -> String {
        if !self.is_held {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        if self.said.starts_with(self.held.trim_end()) {
            return String::new();
        }
        self.is_held = false;
        take(&mut self.held)
    }

    /// What is to be shown besides when the text is whole.
    pub(super) fn end(&mut self, whole: &str) -> String {
        let left = match whole.trim() == self.said.trim() {
            true => String::new(),
            false => take(&mut self.held),
        };
        self.is_held = false;
        whole.clone_into(&mut self.said);
        left
    }

    /// Whether this is what was said last.
    pub(super) fn is(&self, text: &str) -> bool {
        text.trim() == self.said.trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of texts that come in pieces.
    fn shown(texts: &[&[&str]]) -> String {
        let mut repeat = Repeat::default();
        let mut shown = String::new();
        for pieces in texts {
            repeat.begin();
            for piece in *pieces {
                shown.push_str(&repeat.add(piece));
            }
            shown.push_str(&repeat.end(&pieces.concat()));
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
