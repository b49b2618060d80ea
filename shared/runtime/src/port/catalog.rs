//! A user's lists: runs, sessions, and the turns of a session.

use std::fmt;

use djinn_core::conversation::Exchange;
use djinn_core::id::{RequestId, RunId, SessionId, SessionName, UserId};
use djinn_core::status::RunStatus;

use super::{SessionKey, StoreError, UserKey};

/// The maximum length of a run's title, and of the title of the session that the run opens, in characters.
const MAX_RUN_TITLE: usize = 120;

/// The position of a run in a list: by start, then by id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunPosition {
    /// The start of the run, in Unix milliseconds.
    pub started_at_ms: i64,
    /// The run's id, which orders runs of the same millisecond.
    pub run: RunId,
}

/// The position of a session in a list: by newest run, then by label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionPosition {
    /// The start of the newest run, in Unix milliseconds.
    pub newest_at_ms: i64,
    /// The label, which orders sessions of the same millisecond.
    pub session: SessionId,
}

/// The error for a text that is not a position in a list.
#[derive(Debug, thiserror::Error)]
#[error("not a position in a list")]
pub struct BadPosition;

impl fmt::Display for RunPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.started_at_ms, self.run)
    }
}

impl TryFrom<String> for RunPosition {
    type Error = BadPosition;

    fn try_from(text: String) -> Result<Self, BadPosition> {
        let (started_at_ms, run) = parse_position(&text)?;
        Ok(Self { started_at_ms, run: RunId::new(run).map_err(|_| BadPosition)? })
    }
}

impl fmt::Display for SessionPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.newest_at_ms, self.session)
    }
}

impl TryFrom<String> for SessionPosition {
    type Error = BadPosition;

    fn try_from(text: String) -> Result<Self, BadPosition> {
        let (newest_at_ms, session) = parse_position(&text)?;
        Ok(Self { newest_at_ms, session: SessionId::new(session).map_err(|_| BadPosition)? })
    }
}

/// Splits the text of a position into a time and a label.
fn parse_position(text: &str) -> Result<(i64, &str), BadPosition> {
    let (time, label) = text.split_once('.').ok_or(BadPosition)?;
    Ok((time.parse().map_err(|_| BadPosition)?, label))
}

/// One page of a list; the next page begins after `next` and may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<T, P> {
    /// The items of the page, newest first.
    pub items: Vec<T>,
    /// The position of the page's last item; `None` on the last page.
    pub next: Option<P>,
}

/// A run in its user's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The id that opens the run.
    pub run: RunId,
    /// The session's name for this user.
    pub session: SessionName,
    /// The client's label of the request.
    pub request: RequestId,
    /// The beginning of the question, on one line.
    pub title: String,
    /// The status of the run when the list was read.
    pub status: RunStatus,
    /// True if the run works, and users had open requests when its lease was renewed last.
    pub has_open_requests: bool,
    /// The start of the run, in Unix milliseconds.
    pub started_at_ms: i64,
    /// The end of the run, in Unix milliseconds.
    pub ended_at_ms: Option<i64>,
}

/// A session in its user's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// The owner's label of the session.
    pub session: SessionId,
    /// The user's title, or by default the beginning of the first question.
    pub title: String,
    /// The beginning of the newest question; empty for sessions without a question since this field existed.
    pub newest_question: String,
    /// The start of the first run, in Unix milliseconds.
    pub started_at_ms: i64,
    /// The start of the newest run, in Unix milliseconds.
    pub newest_at_ms: i64,
}

/// One run of a session, as an item of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionTurn {
    /// The id that opens the run.
    pub run: RunId,
    /// The client's label; `None` for runs that ended before labels were stored.
    pub request: Option<RequestId>,
    /// The run's user; `None` for runs that ended before this field existed.
    pub user: Option<UserId>,
    /// The start of the run, in Unix milliseconds.
    pub started_at_ms: i64,
    /// The status of the run when the list was read.
    pub status: RunStatus,
    /// The question and the answer, which is empty until the run has ended. `None` if unreadable.
    pub exchange: Option<Exchange>,
}

/// The result of deleting a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionDeletion {
    /// The session is deleted completely.
    Done,
    /// This user has no such session.
    Unknown,
    /// The session still works on this run.
    Busy(RunId),
}

/// The lists of a user. Needs `dynamodb:GetItem`, `Query`, `UpdateItem` and `DeleteItem` on the table,
/// `s3:GetObject` and `DeleteObject` under the tenants' `runs/`, `files/` and `uploads/`, and
/// `s3:ListBucket`. A session is only in its owner's list; a run is only in the list of the user who started
/// it.
pub trait Catalog {
    /// Returns up to `limit` of a user's runs after `after`, newest first. Only runs of the given statuses,
    /// or of any status if none is given. Scans at most 1 000 runs. May miss writes of the last second.
    fn list_runs(
        &self,
        user: &UserKey,
        statuses: &[RunStatus],
        after: Option<&RunPosition>,
        limit: usize,
    ) -> impl Future<Output = Result<ListPage<RunSummary, RunPosition>, StoreError>> + Send;

    /// Returns up to `limit` of a user's sessions after `after`, the session with the newest run first. Above
    /// 10 000 sessions, only the first by label are listed. May miss writes of the last second.
    fn list_sessions(
        &self,
        user: &UserKey,
        after: Option<&SessionPosition>,
        limit: usize,
    ) -> impl Future<Output = Result<ListPage<SessionSummary, SessionPosition>, StoreError>> + Send;

    /// Returns a session of a user's list. Strongly consistent.
    fn find_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> impl Future<Output = Result<Option<SessionSummary>, StoreError>> + Send;

    /// Renames a session of a user's list; returns `false` if the session does not exist.
    fn rename_session(
        &self,
        user: &UserKey,
        session: &SessionId,
        title: &str,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Returns the runs of a session, of all users, newest first, after `after`: up to `limit` ended runs.
    /// The first page begins with the active run. Strongly consistent.
    fn list_turns(
        &self,
        session: &SessionKey,
        after: Option<&RunPosition>,
        limit: usize,
    ) -> impl Future<Output = Result<ListPage<SessionTurn, RunPosition>, StoreError>> + Send;

    /// Deletes a user's session with all runs and files, also from the lists of guests who asked in it. An
    /// interrupted deletion may be repeated. Concurrent writes into the session may remain or be deleted.
    fn delete_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> impl Future<Output = Result<SessionDeletion, StoreError>> + Send;
}

/// Returns the beginning of a question, on one line.
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
