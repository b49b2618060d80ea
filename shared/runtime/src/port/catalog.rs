//! What users look up: their runs, their conversations, and what was said in one.

use djinn_core::conversation::Exchange;
use djinn_core::id::{RequestId, RunId, SessionId, SessionName, UserId};
use djinn_core::status::RunStatus;

use super::{SessionKey, StoreError, UserKey};

/// Characters of a question that stand as the title of its run, and of the session it opens.
const MAX_RUN_TITLE: usize = 120;

/// Where a run stands among others: by its start, then by its id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunPosition {
    /// When it was asked, Unix milliseconds.
    pub started_at_ms: i64,
    /// The run, which orders those of one moment.
    pub run: RunId,
}

/// Where a session stands among others: by its newest question, then by its label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionPosition {
    /// When its newest run was asked, Unix milliseconds.
    pub newest_at_ms: i64,
    /// The label, which orders those of one moment.
    pub session: SessionId,
}

/// One page of a list, and where the next one begins: behind `next`. It may turn out to be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<T, P> {
    /// What is on it, newest first.
    pub items: Vec<T>,
    /// `None` when nothing follows.
    pub next: Option<P>,
}

/// A run in its user's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The id by which the run is opened.
    pub run: RunId,
    /// Its session, as this user names it.
    pub session: SessionName,
    /// The client's label for it.
    pub request: RequestId,
    /// The beginning of its question, on one line.
    pub title: String,
    /// The status of the run when the list was read.
    pub status: RunStatus,
    /// When it was asked, Unix milliseconds.
    pub started_at_ms: i64,
    /// When it ended, Unix milliseconds.
    pub ended_at_ms: Option<i64>,
}

/// A conversation in its user's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// The label by which its owner names it.
    pub session: SessionId,
    /// The beginning of its first question, unless it was given another title.
    pub title: String,
    /// When its first run was asked, Unix milliseconds.
    pub started_at_ms: i64,
    /// When its newest run was asked, Unix milliseconds.
    pub newest_at_ms: i64,
}

/// One run of a session, as its conversation shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionTurn {
    /// The id by which the run is opened.
    pub run: RunId,
    /// The client's label for it; `None` of one that ended before labels were kept.
    pub request: Option<RequestId>,
    /// Who asked; `None` of one that ended before this was kept.
    pub user: Option<UserId>,
    /// When it was asked, Unix milliseconds.
    pub started_at_ms: i64,
    /// The status of the run when the list was read.
    pub status: RunStatus,
    /// What was asked and what came of it; the answer is empty until the run has ended. `None` if
    /// it cannot be read any more.
    pub exchange: Option<Exchange>,
}

/// What came of deleting a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionDeletion {
    /// Nothing of it is left.
    Done,
    /// This user has no such session.
    Unknown,
    /// It is still answering this run.
    Busy(RunId),
}

/// Lists of a user's own. Needs `dynamodb:GetItem`, `Query`, `UpdateItem` and `DeleteItem` on the
/// table, `s3:GetObject`, `DeleteObject` under the tenants' `runs/`, `files/` and `uploads/`, and
/// `s3:ListBucket`. A session is its owner's, and in no other user's list; a run is in the list of
/// whoever asked.
pub trait Catalog {
    /// A user's runs of these statuses (none: of any), newest first, behind `after`: at most `limit`.
    /// Looks through 1 000 runs at most. May miss what was written within the last second.
    fn list_runs(
        &self,
        user: &UserKey,
        statuses: &[RunStatus],
        after: Option<&RunPosition>,
        limit: usize,
    ) -> impl Future<Output = Result<ListPage<RunSummary, RunPosition>, StoreError>> + Send;

    /// A user's sessions, the one with the newest run first, behind `after`: at most `limit`. Of more
    /// than 10 000 sessions only the first by label are listed. May miss what was written within the
    /// last second.
    fn list_sessions(
        &self,
        user: &UserKey,
        after: Option<&SessionPosition>,
        limit: usize,
    ) -> impl Future<Output = Result<ListPage<SessionSummary, SessionPosition>, StoreError>> + Send;

    /// A session of a user's list. Strongly consistent.
    fn find_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> impl Future<Output = Result<Option<SessionSummary>, StoreError>> + Send;

    /// Gives a session of a user's list another title; `false` if it has none of that label.
    fn rename_session(
        &self,
        user: &UserKey,
        session: &SessionId,
        title: &str,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// The runs of a session, whoever asked, newest first, behind `after`: at most `limit` that have
    /// ended, and before them on the first page the one that has not. Strongly consistent.
    fn list_turns(
        &self,
        session: &SessionKey,
        after: Option<&RunPosition>,
        limit: usize,
    ) -> impl Future<Output = Result<ListPage<SessionTurn, RunPosition>, StoreError>> + Send;

    /// Deletes a session of a user's, with all its runs, files and their bytes, also from the lists of
    /// those it is shared with who asked in it. One that was interrupted may be made again. What is written
    /// into the session meanwhile stays, or goes with it.
    fn delete_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> impl Future<Output = Result<SessionDeletion, StoreError>> + Send;
}

/// The beginning of a question, on one line.
#[must_use]
pub fn run_title(question: &str) -> String {
    let words = question.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_RUN_TITLE) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_of_at_most_120_characters() {
        assert_eq!(run_title("  What\n is\tgold? "), "What is gold?");
        let long = run_title(&"界".repeat(500));
        assert_eq!(long.chars().count(), MAX_RUN_TITLE + 1);
    }
}
