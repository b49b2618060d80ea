//! Expansion of placeholders into URLs, in whole texts or in pieces.

use super::Urls;
use super::scan::{
    MAX_RUN, find_cut_scheme, find_run_end, find_url_start, placeholder_number, trim_closing_marks,
};

/// Maximum growth in bytes of one text, or of one call's arguments. Placeholders beyond stay unexpanded.
pub const MAX_GROWTH: usize = 1024 * 1024;

/// The end of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEnd {
    /// The text is complete.
    Whole,
    /// The text was cut: its last word may be incomplete.
    Cut,
}

/// An expander of placeholders into URLs. The result does not depend on the division of the text into pieces.
/// Unknown placeholders, and placeholders within longer words, stay unchanged.
#[derive(Debug, Clone)]
pub struct UrlExpander {
    urls: Urls,
    /// The end of the text so far that may start a placeholder.
    pending: String,
    /// The byte before `pending`.
    last_byte: Option<u8>,
    /// The number of open brackets, within a URL that is not a placeholder.
    open_brackets: Option<u32>,
    /// Remaining growth of the text, in bytes.
    growth_left: usize,
}

impl UrlExpander {
    /// Creates an expander for one text in pieces.
    #[must_use]
    pub fn new(urls: Urls) -> Self {
        Self {
            urls,
            pending: String::new(),
            last_byte: None,
            open_brackets: None,
            growth_left: MAX_GROWTH,
        }
    }

    /// Takes the next piece, and returns the text certain by now.
    pub fn push(&mut self, piece: &str) -> String {
        if self.urls.is_empty() {
            return piece.to_owned();
        }
        let mut text = std::mem::take(&mut self.pending);
        text.push_str(piece);
        self.expand_piece(&text, None)
    }

    /// Returns the held text. The next piece starts a new text, with the remaining growth.
    pub fn finish(&mut self, end: TextEnd) -> String {
        let text = std::mem::take(&mut self.pending);
        let output = self.expand_piece(&text, Some(end));
        (self.last_byte, self.open_brackets) = (None, None);
        output
    }

    /// Returns a whole text with its URLs expanded.
    pub(super) fn expand_text(&mut self, text: &str, end: TextEnd) -> String {
        let output = self.push(text);
        output + &self.finish(end)
    }

    /// Expands a piece; `end` is the text's end for the last piece.
    fn expand_piece(&mut self, text: &str, end: Option<TextEnd>) -> String {
        let mut output = String::with_capacity(text.len());
        let mut at = self.skip_long_url(text, 0, &mut output);
        while let Some(start) = find_url_start(text, at, self.last_byte) {
            let rest = text.get(start..).unwrap_or_default();
            output.push_str(text.get(at..start).unwrap_or_default());
            at = start;
            match (find_run_end(rest, &mut 0), end) {
                (None, None) if rest.len() <= MAX_RUN => {
                    self.hold_from(text, start);
                    return output;
                }
                (None, None) => {
                    self.open_brackets = Some(0);
                    at = self.skip_long_url(text, start, &mut output);
                }
                (run, end) => {
                    let run = run.unwrap_or(rest.len());
                    let url = trim_closing_marks(rest.get(..run).unwrap_or_default());
                    let is_cut = end == Some(TextEnd::Cut) && url.len() == rest.len();
                    match self.expand_url(url).filter(|_| !is_cut) {
                        Some(whole) => output.push_str(&whole),
                        None => output.push_str(url),
                    }
                    at += url.len();
                }
            }
        }
        let scheme_start = match end {
            None if self.open_brackets.is_none() => find_cut_scheme(text, at, self.last_byte),
            None | Some(_) => None,
        };
        let start = scheme_start.unwrap_or(text.len());
        output.push_str(text.get(at..start).unwrap_or_default());
        self.hold_from(text, start);
        output
    }

    /// Copies the rest of a URL that is not a placeholder, and returns its end.
    fn skip_long_url(&mut self, text: &str, at: usize, output: &mut String) -> usize {
        let Some(mut open) = self.open_brackets else { return at };
        let rest = text.get(at..).unwrap_or_default();
        let run = find_run_end(rest, &mut open);
        self.open_brackets = run.is_none().then_some(open);
        let length = run.unwrap_or(rest.len());
        output.push_str(rest.get(..length).unwrap_or_default());
        at + length
    }

    /// Holds back the text from `start` on.
    fn hold_from(&mut self, text: &str, start: usize) {
        let (done, rest) = text.split_at_checked(start).unwrap_or((text, ""));
        self.last_byte = done.bytes().next_back().or(self.last_byte);
        rest.clone_into(&mut self.pending);
    }

    fn expand_url(&mut self, url: &str) -> Option<String> {
        let whole = self.urls.0.urls.get(placeholder_number(url)?)?;
        let growth = whole.len().saturating_sub(url.len());
        self.growth_left = self.growth_left.checked_sub(growth)?;
        Some(whole.to_string())
    }
}
