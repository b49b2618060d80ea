//! Progress of a tool at work: shown at once, never stored.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The maximum progress of one call before its result, in bytes.
pub const MAX_PROGRESS: usize = 32 * 1024;

/// The sending end of a call's progress. Clones belong to the same call; the default has no reader.
#[derive(Clone, Default)]
pub struct ToolProgress(Option<Arc<ReportQueue>>);

/// The queue of reported lines that are not yet shown.
#[derive(Debug, Default)]
struct ReportQueue {
    state: Mutex<QueueState>,
    news: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: Reports,
    kept_bytes: usize,
}

/// The lines reported since the last read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reports {
    /// The lines, each with its line end.
    pub(crate) text: String,
    /// True if the call has reported more than the limit.
    pub(crate) is_cut: bool,
}

/// The receiving end of a [`ToolProgress`].
pub(crate) struct ReportReader(Arc<ReportQueue>);

impl ToolProgress {
    /// Creates a progress with its reader.
    pub(crate) fn with_reader() -> (Self, ReportReader) {
        let queue = Arc::new(ReportQueue::default());
        (Self(Some(Arc::clone(&queue))), ReportReader(queue))
    }

    /// Reports progress in one line or several, without ever waiting. A report is shown within a second,
    /// together with other reports, or lost. Up to [`MAX_PROGRESS`] bytes of one call are shown, in whole
    /// lines.
    pub fn report(&self, text: &str) {
        let Some(queue) = &self.0 else { return };
        let mut state = queue.lock_state();
        if text.is_empty() || state.waiting.is_cut || state.kept_bytes > MAX_PROGRESS {
            return;
        }
        let text = text.strip_suffix('\n').unwrap_or(text);
        let room = MAX_PROGRESS - state.kept_bytes;
        let fitting_text = if text.len() < room {
            Some(text)
        } else {
            text.get(..text.floor_char_boundary(room)).and_then(whole_lines)
        };
        if let Some(fitting_text) = fitting_text {
            state.waiting.text.push_str(fitting_text);
            state.waiting.text.push('\n');
            state.kept_bytes += fitting_text.len() + 1;
        }
        if fitting_text.map(str::len) != Some(text.len()) {
            state.waiting.is_cut = true;
            // Every later report is dropped at once.
            state.kept_bytes = usize::MAX;
        }
        drop(state);
        queue.news.notify_one();
    }
}

/// Returns the whole lines of a text, without the last line end.
fn whole_lines(text: &str) -> Option<&str> {
    text.rsplit_once('\n').map(|(lines, _)| lines)
}

impl ReportReader {
    /// Returns when a report is waiting.
    pub(crate) async fn wait_for_report(&self) {
        while self.0.lock_state().waiting == Reports::default() {
            self.0.news.notified().await;
        }
    }

    /// Takes the reports since the last read.
    pub(crate) fn take_reports(&self) -> Reports {
        std::mem::take(&mut self.0.lock_state().waiting)
    }
}

impl ReportQueue {
    fn lock_state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Equal if both belong to the same call.
impl PartialEq for ToolProgress {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl fmt::Debug for ToolProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "ToolProgress" } else { "ToolProgress(to nobody)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the shown part of these reports, and true if it is cut.
    fn kept(reports: &[&str]) -> (String, bool) {
        let (progress, reader) = ToolProgress::with_reader();
        reports.iter().for_each(|text| progress.report(text));
        let Reports { text, is_cut } = reader.take_reports();
        (text, is_cut)
    }

    #[test]
    fn a_report_is_whole_lines() {
        let of = |text: &str| (text.to_owned(), false);
        assert_eq!(kept(&["page 1", "page 2\n", "", "3\n4"]), of("page 1\npage 2\n3\n4\n"));
        ToolProgress::default().report("nobody reads it");
    }

    #[test]
    fn a_call_says_so_much_and_no_more_and_no_line_is_cut_in_two() {
        let line = "x".repeat(99);
        let whole = MAX_PROGRESS / 100;
        let (text, is_cut) = kept(&vec![line.as_str(); 1_000]);
        assert_eq!((text, is_cut), (format!("{line}\n").repeat(whole), true));

        let exactly = "y".repeat(MAX_PROGRESS - 1);
        assert_eq!(kept(&[&exactly]), (format!("{exactly}\n"), false));
        assert_eq!(kept(&[&exactly, "z"]), (format!("{exactly}\n"), true));
        assert_eq!(kept(&["a", &"y".repeat(MAX_PROGRESS), "b"]), ("a\n".to_owned(), true));
        let lines = format!("one\ntwo\n{}", "界".repeat(MAX_PROGRESS));
        assert_eq!(kept(&[&lines]), ("one\ntwo\n".to_owned(), true));
    }

    #[tokio::test]
    async fn who_waits_is_woken_once_for_what_was_said_together() {
        let (progress, reader) = ToolProgress::with_reader();
        progress.report("one");
        progress.report("two");
        reader.wait_for_report().await;
        assert_eq!(reader.take_reports().text, "one\ntwo\n");
        let more = tokio::time::timeout(std::time::Duration::ZERO, reader.wait_for_report());
        assert!(more.await.is_err());
    }
}
