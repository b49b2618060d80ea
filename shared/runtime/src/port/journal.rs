//! Journals, sessions, and a run's place in its session.

use djinn_core::budget::Budget;
use djinn_core::conversation::{CompactedContext, Exchange, SessionMemory};
use djinn_core::file::ProductFile;
use djinn_core::id::{RequestId, RunId, SessionId, SessionName, TenantId, UserId};
use djinn_core::journal::{ChainHead, Record, RecordHash, RecordText};
use djinn_core::session::SharedSession;
use djinn_core::status::RunStatus;
use serde::{Deserialize, Serialize};

use super::admission::{Admission, AdmissionError};
use super::budget::{DayChange, DayKey};
use super::page::{Page, PageSize};
use super::{RunKey, SessionKey, StoreError, UserKey};

/// Exchanges of a session that a new run receives. A run sums up half of
/// [`MAX_HISTORY`](djinn_core::conversation::MAX_HISTORY); the rest is for sessions whose summary fails.
pub const MAX_EXCHANGES: usize = 30;

/// Ended runs of a session among which a `continue` looks for an unseen end.
pub const MAX_ENDED_RUNS: usize = 10;

/// A new run's view of its session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionView {
    /// The active run of the session.
    pub active: Option<RunId>,
    /// The summary of the oldest exchanges.
    pub earlier: Option<CompactedContext>,
    /// The exchanges after the summary, oldest first; at most the newest [`MAX_EXCHANGES`].
    pub history: Vec<Exchange>,
    /// The newest ended runs, with or without an exchange, newest first; at most [`MAX_ENDED_RUNS`].
    pub ended: Vec<EndedRun>,
    /// The session's files, oldest first; at most the newest 200.
    pub files: Vec<ProductFile>,
}

/// An ended run of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedRun {
    /// The id of the ended run.
    pub run: RunId,
    /// The run's user; `None` for runs that ended before this field existed.
    pub user: Option<UserId>,
}

/// The right to drive a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The name of one driver of one process.
    pub holder: String,
    /// The expiry in Unix milliseconds; renewed while the driver lives.
    pub until_ms: i64,
    /// The number of the lease, from 1; each change of drivers adds 1.
    pub epoch: u64,
}

/// A run's metadata, read without the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMeta {
    /// The status after the newest write to the run.
    pub status: RunStatus,
    /// The mode in which the run works.
    pub mode: String,
    /// The run's session, by the owner's label.
    pub session: SessionId,
    /// The share through which the run's user may use the session; `None` for the owner.
    pub shared: Option<SharedSession>,
    /// The user who started the run.
    pub user: UserId,
    /// The label that the client gave the request.
    pub request: RequestId,
    /// The SHA-256 of the request's body.
    pub body_hash: String,
    /// The lease unless released; may have lapsed.
    pub lease: Option<Lease>,
    /// True if users had open requests when the lease was renewed last.
    pub has_open_requests: bool,
    /// The start of the run, in Unix milliseconds.
    pub started_at_ms: i64,
    /// The end of the run, in Unix milliseconds.
    pub ended_at_ms: Option<i64>,
    /// True if a client is known to have received the end, or if there is no end to send.
    pub end_shown: bool,
    /// The outline from the run's end; `None` for runs with a plan or a long question.
    pub outline: Option<Box<RunOutline>>,
    /// The head of the journal's chain at the last release of a lease, or at the end of the run. More records
    /// may follow. `None` before the first release.
    pub chain_head: Option<ChainHead>,
    /// The time after which the records may be deleted, in Unix seconds.
    pub journal_expires_at_s: i64,
}

/// The public facts of an ended run besides its final entry, so that a look-up reads no journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutline {
    /// The number of the record that ended the run.
    pub record: u64,
    /// The question; at most [`MAX_OUTLINE_QUESTION`] bytes.
    pub question: String,
    /// The budget of the run.
    pub budget: Budget,
}

/// The maximum length of a question in an outline, in bytes. Outlines are stored with the run's metadata,
/// which is read often.
pub const MAX_OUTLINE_QUESTION: usize = 2 * 1024;

impl RunMeta {
    /// Returns true if a driver holds the lease at `now_ms`.
    #[must_use]
    pub fn is_driven(&self, now_ms: i64) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.until_ms > now_ms)
    }

    /// Returns the owner of the run's session.
    #[must_use]
    pub fn owner(&self) -> &UserId {
        SharedSession::owner_of(self.shared.as_ref(), &self.user)
    }

    /// Returns the session's name for the user who started the run.
    #[must_use]
    pub fn session_name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session)
    }

    /// Returns the key of the run's session.
    #[must_use]
    pub fn session_key(&self, tenant: &TenantId) -> SessionKey {
        SessionKey {
            tenant: tenant.clone(),
            owner: self.owner().clone(),
            session: self.session.clone(),
        }
    }
}

/// A run to be created, with its first record.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// Record 0, which holds the question.
    pub record: Record,
    /// The creator's lease; `None` leaves the run to the first driver that takes the lease.
    pub lease: Option<Lease>,
    /// The time after which the records may be deleted, in Unix seconds.
    pub expires_at_s: i64,
    /// The limits of the run's user; ignored for a child.
    pub admission: Admission,
}

/// The result of creating a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateResult {
    /// The run was created with its first record, which has this hash.
    Created(RecordHash),
    /// The run exists: an earlier request was the same.
    Exists(Box<RunMeta>),
    /// The session still works on this run.
    SessionBusy(RunId),
    /// The user has started too many runs, or has too many at work.
    NotAdmitted(AdmissionError),
}

impl CreateResult {
    /// Returns true if the run was created.
    #[must_use]
    pub fn is_created(&self) -> bool {
        matches!(self, Self::Created(_))
    }
}

/// The result of appending a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendResult {
    /// The record is in the journal and has this hash, by this write or by an earlier write whose response
    /// was lost.
    Appended(RecordHash),
    /// Another record has the same number: reload and decide again.
    Conflict,
}

impl AppendResult {
    /// Returns true if the record is in the journal.
    #[must_use]
    pub fn is_appended(&self) -> bool {
        matches!(self, Self::Appended(_))
    }
}

/// The changes that an ending record makes beside the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// The status in which the run ended.
    pub status: RunStatus,
    /// The session whose active run has ended.
    pub session: SessionKey,
    /// The user who started the run.
    pub user: UserId,
    /// The label that the client gave the request.
    pub request: RequestId,
    /// The start in Unix milliseconds: `at_ms` of the first record.
    pub started_at_ms: i64,
    /// The exchange for later runs of the session.
    pub exchange: Exchange,
    /// The summary for later runs of the session, if this run made a new summary.
    pub memory: Option<SessionMemory>,
    /// True if the run counts among its user's runs at work.
    pub is_counted: bool,
    /// The costs of the last calls that are not yet settled.
    pub day_changes: Vec<(DayKey, DayChange)>,
    /// True if an open response receives the end.
    pub end_shown: bool,
    /// The outline for lists: see [`RunMeta::outline`].
    pub outline: Option<RunOutline>,
}

/// The store of journals. Needs `dynamodb:GetItem`, `Query`, `PutItem`, `UpdateItem` and `DeleteItem` on the
/// table, `s3:GetObject` and `PutObject` under the tenants' `runs/`, `s3:GetObject` under their `uploads/`,
/// and `s3:ListBucket`: otherwise S3 returns 403 for missing objects.
///
/// Every write may be repeated after a lost response: the store recognises repeated writes.
pub trait Journals {
    /// Writes record 0, the run's metadata and the session's active run in one transaction. Neither the run
    /// nor another active run of the session may exist. The user must be within the admission's limits,
    /// toward which the run then counts. An ended or deleted run is not active, even if the session still
    /// names it. A child belongs to no session: only record 0 and the metadata are written.
    fn create(
        &self,
        key: &RunKey,
        run: &NewRun,
    ) -> impl Future<Output = Result<CreateResult, StoreError>> + Send;

    /// Appends a record unless its number is taken. The store encodes the record by
    /// [`RecordText::encode`] with the key as the journal's name, and keeps the texts and the hash as they are.
    fn append(
        &self,
        key: &RunKey,
        record: &Record,
        expires_at_s: i64,
    ) -> impl Future<Output = Result<AppendResult, StoreError>> + Send;

    /// Appends the record that ends the run. The same transaction writes the final status, the exchange and
    /// the last calls' costs. The transaction also releases the lease and the place among the user's runs,
    /// and frees the session if this run is active. For a child, only the status and the lease change.
    fn append_end(
        &self,
        key: &RunKey,
        record: &Record,
        end: &RunEnd,
        expires_at_s: i64,
    ) -> impl Future<Output = Result<AppendResult, StoreError>> + Send;

    /// Ends a run with an unreadable journal, without a record: sets the status `failed`, releases the lease,
    /// and frees the session if this run is active. No client can be shown this end. For a child, only the
    /// status and the lease change. Ended and missing runs stay unchanged.
    fn abandon_run(
        &self,
        key: &RunKey,
        at_ms: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Notes that a client received the end of an ended run; no effect the second time.
    fn mark_end_shown(&self, key: &RunKey) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the records from number `from` on, in order. Strongly consistent. Expired records are deleted
    /// one by one, in no order.
    ///
    /// # Errors
    /// Returns `NewerFormat` if any record is newer than this code.
    fn read_from(
        &self,
        key: &RunKey,
        from: u64,
    ) -> impl Future<Output = Result<Vec<Record>, StoreError>> + Send;

    /// Returns a page of the records from number `from` on, in order, up to `size`. A longer record is a page
    /// alone. Strongly consistent.
    ///
    /// # Errors
    /// Returns `NewerFormat` if any record is newer than this code.
    fn read_page(
        &self,
        key: &RunKey,
        from: u64,
        size: PageSize,
    ) -> impl Future<Output = Result<Page, StoreError>> + Send;

    /// Returns a page of the records as stored, as [`Self::read_page`] does, for verification. A lost or
    /// changed object in the bucket counts as an empty text.
    ///
    /// # Errors
    /// Returns `NewerFormat` if any record is newer than this code.
    fn read_texts(
        &self,
        key: &RunKey,
        from: u64,
        size: PageSize,
    ) -> impl Future<Output = Result<Page<RecordText>, StoreError>> + Send;

    /// Returns up to `records` of the newest records, newest first. Strongly consistent.
    fn read_newest(
        &self,
        key: &RunKey,
        records: usize,
    ) -> impl Future<Output = Result<Vec<Record>, StoreError>> + Send;

    /// Returns a run's metadata; `None` if the run does not exist. Strongly consistent.
    fn find_meta(
        &self,
        key: &RunKey,
    ) -> impl Future<Output = Result<Option<RunMeta>, StoreError>> + Send;

    /// Returns a new run's view of its session. Strongly consistent.
    fn load_session(
        &self,
        key: &SessionKey,
    ) -> impl Future<Output = Result<SessionView, StoreError>> + Send;

    /// Returns the session's active run, as [`SessionView::active`]. Strongly consistent.
    fn find_active_run(
        &self,
        key: &SessionKey,
    ) -> impl Future<Output = Result<Option<RunId>, StoreError>> + Send;

    /// Returns the session that a user's label names. The user's own session of this label is first, if any
    /// run was started there; otherwise the session of the user's newest request of this label.
    fn find_session_name(
        &self,
        user: &UserKey,
        label: &str,
    ) -> impl Future<Output = Result<Option<SessionName>, StoreError>> + Send;
}
