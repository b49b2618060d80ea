//! The output of tools at work: not journaled, possibly lost, followed by the call's result.

use djinn_core::id::{CallId, Path};
use serde::{Deserialize, Serialize};

/// A piece of a tool's output during a call. A repeated call, after a crash or a human response, starts over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallProgress {
    /// The path of the call's run.
    #[serde(default, skip_serializing_if = "Path::is_root")]
    pub path: Path,
    /// The call with the output.
    pub call: CallId,
    /// The start of the call, Unix milliseconds.
    pub began_at_ms: i64,
    /// The piece's start within the call's output, in bytes of UTF-8.
    pub offset: u64,
    /// The text at `offset`, in whole lines.
    pub text: String,
    /// True if the output exceeds the limit, so no piece follows.
    #[serde(default)]
    pub is_cut: bool,
    /// The time of the output, Unix milliseconds.
    pub at_ms: i64,
}

/// A call of a run or its children.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    /// The path of the call's run.
    pub path: Path,
    /// The id of the call, unique within its run or its child only.
    pub call: CallId,
}

/// A reader's position in a call's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgressMark {
    began_at_ms: i64,
    end: u64,
    is_cut: bool,
}

impl CallProgress {
    /// Returns the key of the piece's call.
    #[must_use]
    pub fn call_key(&self) -> CallKey {
        CallKey { path: self.path.clone(), call: self.call.clone() }
    }

    /// Returns the reader's position after this piece.
    #[must_use]
    pub fn mark(&self) -> ProgressMark {
        let end = self.offset.saturating_add(self.text.len() as u64);
        ProgressMark { began_at_ms: self.began_at_ms, end, is_cut: self.is_cut }
    }

    /// Returns the part of the piece after a known position, or `None` if nothing is new.
    #[must_use]
    pub fn news_after(&self, mark: &ProgressMark) -> Option<Self> {
        if self.began_at_ms != mark.began_at_ms {
            return (self.began_at_ms > mark.began_at_ms).then(|| self.clone());
        }
        let overlap = usize::try_from(mark.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let text = self.text.get(overlap..).unwrap_or_default().to_owned();
        let is_news = !text.is_empty() || (self.is_cut && !mark.is_cut);
        is_news.then(|| Self { offset: self.offset.max(mark.end), text, ..self.clone() })
    }

    /// Appends a later piece of the same call. After a gap, all text before the gap is dropped.
    pub fn append(&mut self, later: &Self) {
        let current = self.mark();
        match later.news_after(&current) {
            None => {}
            Some(news) if news.began_at_ms == self.began_at_ms && news.offset == current.end => {
                self.text.push_str(&news.text);
                (self.is_cut, self.at_ms) = (news.is_cut, news.at_ms);
            }
            Some(news) => *self = news,
        }
    }

    /// Returns the first part of the piece, at most `max_bytes` long; `None` if not even a character fits.
    #[must_use]
    pub fn first_part(mut self, max_bytes: usize) -> Option<Self> {
        let end = self.text.floor_char_boundary(max_bytes);
        self.is_cut &= end == self.text.len();
        self.text.truncate(end);
        (!self.text.is_empty() || self.is_cut).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(began_at_ms: i64, offset: u64, text: &str) -> CallProgress {
        let call = CallId::new("t1.c1").unwrap();
        let text = text.to_owned();
        CallProgress {
            path: Path::default(),
            call,
            began_at_ms,
            offset,
            text,
            is_cut: false,
            at_ms: 0,
        }
    }

    #[test]
    fn a_reader_is_told_each_line_once_and_all_of_a_call_that_begins_anew() {
        let known = piece(1, 0, "one\ntwo\n").mark();
        for (piece, news) in [
            (piece(1, 0, "one\n"), None),
            (piece(1, 4, "two\nthree\n"), Some(piece(1, 8, "three\n"))),
            (piece(1, 8, "three\n"), Some(piece(1, 8, "three\n"))),
            (piece(1, 14, "lost before\n"), Some(piece(1, 14, "lost before\n"))),
            (piece(0, 8, "of an earlier one\n"), None),
            (piece(2, 0, "anew\n"), Some(piece(2, 0, "anew\n"))),
        ] {
            assert_eq!(piece.news_after(&known), news, "{piece:?}");
        }
        let cut = CallProgress { is_cut: true, ..piece(1, 8, "") };
        assert_eq!(cut.news_after(&known), Some(cut.clone()));
        assert_eq!(cut.news_after(&cut.mark()), None);
    }

    #[test]
    fn pieces_that_wait_are_one_and_a_gap_leaves_out_what_is_before_it() {
        let mut waits = piece(1, 0, "one\n");
        waits.append(&piece(1, 4, "two\n"));
        waits.append(&piece(1, 0, "one\ntwo\n"));
        assert_eq!(waits, piece(1, 0, "one\ntwo\n"));
        waits.append(&piece(1, 20, "nine\n"));
        assert_eq!(waits, piece(1, 20, "nine\n"));
        waits.append(&piece(2, 0, "anew\n"));
        assert_eq!(waits, piece(2, 0, "anew\n"));
    }

    #[test]
    fn only_the_last_part_of_a_piece_says_that_nothing_follows() {
        let cut = |offset, text| CallProgress { is_cut: true, ..piece(1, offset, text) };
        let long = cut(4, "two\n三\n");
        assert_eq!(long.clone().first_part(8), Some(long.clone()));
        let first = long.clone().first_part(6).unwrap();
        assert_eq!(first, piece(1, 4, "two\n"));
        assert_eq!(long.news_after(&first.mark()), Some(cut(8, "三\n")));
        assert_eq!(piece(1, 8, "三\n").first_part(2), None);
    }
}
