//! From placeholders back to URLs, in texts that come whole or in pieces.

use super::Urls;
use super::token::{MAX_RUN, cut_scheme, run_end, start_of, without_closing};

/// Bytes by which one text, or the arguments of one call, may grow. What a model repeats beyond that
/// stays a placeholder.
pub const MAX_GROWTH: usize = 1024 * 1024;

/// How a text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Where its writer was done.
    Whole,
    /// In the middle: what stands at its very end may be half of something.
    Cut,
}

/// Puts URLs in the place of their placeholders. What comes of a text does not depend on the pieces
/// that it came in. A placeholder that was never given out stays as it is, and so does one that is
/// part of something longer.
#[derive(Debug, Clone)]
pub struct Expander {
    urls: Urls,
    /// The end of the text so far, where it may be the beginning of a placeholder.
    held: String,
    /// The byte before that.
    before: Option<u8>,
    /// The brackets that are open in it, in the middle of a URL that is no placeholder.
    within: Option<u32>,
    /// Bytes by which the text may still grow.
    room: usize,
}

impl Expander {
    /// For one text.
    #[must_use]
    pub fn new(urls: Urls) -> Self {
        Self { urls, held: String::new(), before: None, within: None, room: MAX_GROWTH }
    }

    /// Takes the next piece, and returns what is certain by now.
    pub fn push(&mut self, piece: &str) -> String {
        if self.urls.is_empty() {
            return piece.to_owned();
        }
        let mut text = std::mem::take(&mut self.held);
        text.push_str(piece);
        self.take(&text, None)
    }

    /// Returns what was held back. The next piece begins another text, with what room is left.
    pub fn finish(&mut self, end: End) -> String {
        let text = std::mem::take(&mut self.held);
        let shown = self.take(&text, Some(end));
        (self.before, self.within) = (None, None);
        shown
    }

    /// A whole text.
    pub(super) fn whole(&mut self, text: &str, end: End) -> String {
        let shown = self.push(text);
        shown + &self.finish(end)
    }

    /// `end` says how the text ends, if this is the end of it.
    fn take(&mut self, text: &str, end: Option<End>) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut at = self.skip(text, 0, &mut shown);
        while let Some(start) = start_of(text, at, self.before) {
            let rest = text.get(start..).unwrap_or_default();
            shown.push_str(text.get(at..start).unwrap_or_default());
            at = start;
            match (run_end(rest, &mut 0), end) {
                (None, None) if rest.len() <= MAX_RUN => {
                    self.hold(text, start);
                    return shown;
                }
                (None, None) => {
                    self.within = Some(0);
                    at = self.skip(text, start, &mut shown);
                }
                (run, end) => {
                    let run = run.unwrap_or(rest.len());
                    let url = without_closing(rest.get(..run).unwrap_or_default());
                    let is_cut = end == Some(End::Cut) && url.len() == rest.len();
                    match self.expanded(url).filter(|_| !is_cut) {
                        Some(whole) => shown.push_str(&whole),
                        None => shown.push_str(url),
                    }
                    at += url.len();
                }
            }
        }
        let held = match end {
            None if self.within.is_none() => cut_scheme(text, at, self.before),
            None | Some(_) => None,
        };
        let start = held.unwrap_or(text.len());
        shown.push_str(text.get(at..start).unwrap_or_default());
        self.hold(text, start);
        shown
    }

    /// Shows the rest of a URL that is no placeholder, and says where it ends.
    fn skip(&mut self, text: &str, at: usize, shown: &mut String) -> usize {
        let Some(mut open) = self.within else { return at };
        let rest = text.get(at..).unwrap_or_default();
        let run = run_end(rest, &mut open);
        self.within = run.is_none().then_some(open);
        let length = run.unwrap_or(rest.len());
        shown.push_str(rest.get(..length).unwrap_or_default());
        at + length
    }

    /// Holds back what comes from `start` on.
    fn hold(&mut self, text: &str, start: usize) {
        let (done, held) = text.split_at_checked(start).unwrap_or((text, ""));
        self.before = done.bytes().next_back().or(self.before);
        held.clone_into(&mut self.held);
    }

    fn expanded(&mut self, url: &str) -> Option<String> {
        let whole = self.urls.behind(url)?;
        let growth = whole.len().saturating_sub(url.len());
        self.room = self.room.checked_sub(growth)?;
        Some(whole.to_owned())
    }
}
