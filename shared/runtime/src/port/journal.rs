//! Journals, and what surrounds them: sessions, and the place of a run in its session.

use djinn_core::budget::Budget;
use djinn_core::conversation::{CompactedContext, Exchange, SessionMemory};
use djinn_core::file::ProductFile;
use djinn_core::id::{RequestId, RunId, SessionId, SessionName, TenantId, UserId};
use djinn_core::journal::Record;
use djinn_core::session::SharedSession;
use djinn_core::settings::Mode;
use djinn_core::status::RunStatus;
use serde::{Deserialize, Serialize};

use super::admission::{Admission, AdmissionError};
use super::budget::{DayChange, DayKey};
use super::page::{Page, PageSize};
use super::{RunKey, SessionKey, StoreError, UserKey};

/// Exchanges of a session that a new run is told of. A run sums up half of
/// [`MAX_HISTORY`](djinn_core::conversation::MAX_HISTORY); the rest is for sessions in which that fails.
pub const MAX_EXCHANGES: usize = 30;

/// Ended runs of a session among which a `continue` looks for one whose end nobody has seen.
pub const MAX_ENDED_RUNS: usize = 10;

/// What a new run needs to know of its session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionView {
    /// The run that is being answered, if one is.
    pub active: Option<RunId>,
    /// The summary of its oldest exchanges, if there is one.
    pub earlier: Option<CompactedContext>,
    /// Its ended runs' questions and answers that are newer than the summary, oldest first; at most the newest
    /// [`MAX_EXCHANGES`].
    pub history: Vec<Exchange>,
    /// Its newest ended runs, those without an exchange too, newest first; at most [`MAX_ENDED_RUNS`].
    pub ended: Vec<EndedRun>,
    /// Its files, oldest first; at most the newest 200.
    pub files: Vec<ProductFile>,
}

/// An ended run of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedRun {
    /// The id of the run that ended.
    pub run: RunId,
    /// Who asked; `None` of one that ended before this was kept.
    pub user: Option<UserId>,
}

/// Who drives a run, until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Names one driver of one process.
    pub holder: String,
    /// Unix milliseconds; renewed while the driver lives.
    pub until_ms: i64,
    /// Counts the changes of drivers, from 1.
    pub epoch: u64,
}

/// What is known of a run without reading its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMeta {
    /// The status, as the newest write to the run left it.
    pub status: RunStatus,
    /// The mode in which the run works.
    pub mode: Mode,
    /// Its session, by the owner's label.
    pub session: SessionId,
    /// How that is shared with who asked, if it is somebody else's.
    pub shared: Option<SharedSession>,
    /// The user who asked it.
    pub user: UserId,
    /// The label that the client gave the request.
    pub request: RequestId,
    /// SHA-256 of what was asked.
    pub body_hash: String,
    /// Who drives it, if its lease is not released. It may have lapsed.
    pub lease: Option<Lease>,
    /// When it was asked, Unix milliseconds.
    pub started_at_ms: i64,
    /// When it ended, Unix milliseconds.
    pub ended_at_ms: Option<i64>,
    /// Whether a client was sent its end, as far as is known, or there is none to be sent.
    pub end_shown: bool,
    /// What was noted of it when it ended. `None` of one that has a plan or a long question.
    pub outline: Option<Box<RunOutline>>,
}

/// What is shown of an ended run besides its final entry, so that whoever looks it up need not read its
/// journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutline {
    /// The number of the record that ended it.
    pub record: u64,
    /// What was asked; at most [`MAX_OUTLINE_QUESTION`] bytes.
    pub question: String,
    /// What it might use up.
    pub budget: Budget,
}

/// Bytes of a question that stands in an outline: it is stored with the run's metadata, which is read
/// often.
pub const MAX_OUTLINE_QUESTION: usize = 2 * 1024;

impl RunMeta {
    /// Whether somebody drives the run now.
    #[must_use]
    pub fn is_driven(&self, now_ms: i64) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.until_ms > now_ms)
    }

    /// Whose session it was asked in.
    #[must_use]
    pub fn owner(&self) -> &UserId {
        SharedSession::owner_of(self.shared.as_ref(), &self.user)
    }

    /// The session as who asked names it.
    #[must_use]
    pub fn session_name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session)
    }

    /// The session of this run of a tenant.
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
    /// The lease its creator drives it under; `None` leaves it to whoever comes.
    pub lease: Option<Lease>,
    /// When its records may be deleted, Unix seconds.
    pub expires_at_s: i64,
    /// What its user may have; of no interest for a child.
    pub admission: Admission,
}

/// What came of creating a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateResult {
    /// The run exists now, and its first record with it.
    Created,
    /// It existed: the same request came before.
    Exists(Box<RunMeta>),
    /// The session is still answering this run.
    SessionBusy(RunId),
    /// Its user has started too many, or has too many at work.
    NotAdmitted(AdmissionError),
}

/// What came of appending a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendResult {
    /// It is in the journal, by this write or by an earlier one whose reply was lost.
    Appended,
    /// Another record has its number: reload and decide again.
    Conflict,
}

/// What an ending record changes beside the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// The status in which the run ended.
    pub status: RunStatus,
    /// The session whose active run this was.
    pub session: SessionKey,
    /// The user who asked it.
    pub user: UserId,
    /// The label that the client gave the request.
    pub request: RequestId,
    /// When it was asked, Unix milliseconds: `at_ms` of its first record.
    pub started_at_ms: i64,
    /// What later runs of the session see of it.
    pub exchange: Exchange,
    /// The summary that later runs of the session begin with, if this run made one.
    pub memory: Option<SessionMemory>,
    /// Whether it was counted among its user's runs at work.
    pub is_counted: bool,
    /// What its last calls came to; one that is settled already is left out.
    pub day_changes: Vec<(DayKey, DayChange)>,
    /// Whether a response is open to which the end is sent.
    pub end_shown: bool,
    /// The outline for lists: see [`RunMeta::outline`].
    pub outline: Option<RunOutline>,
}

/// Journals. Needs `dynamodb:GetItem`, `Query`, `PutItem`, `UpdateItem` and `DeleteItem` on the
/// table, `s3:GetObject`, `PutObject` under the tenants' `runs/` and `s3:GetObject` under their
/// `uploads/`, and `s3:ListBucket`: without it S3 answers 403 for what is not there.
///
/// Every write may be made again when its reply was lost: it recognises itself.
pub trait Journals {
    /// Writes record 0, the run's metadata and the session's active run in one transaction, on the
    /// condition that neither the run nor another active run of the session exists, and that its user
    /// is within the bounds of its admission, for which it counts from then on. A run that has
    /// ended, or is gone, is not active, even if the session still names it. A child belongs to no
    /// session: only record 0 and its metadata are written.
    fn create(
        &self,
        key: &RunKey,
        run: &NewRun,
    ) -> impl Future<Output = Result<CreateResult, StoreError>> + Send;

    /// Appends a record on the condition that none of its number exists.
    fn append(
        &self,
        key: &RunKey,
        record: &Record,
        expires_at_s: i64,
    ) -> impl Future<Output = Result<AppendResult, StoreError>> + Send;

    /// Appends the record that ends the run, and with it, in one transaction, its final status, its
    /// released lease, its exchange, the session free again, if this run is its active one, the
    /// place among its user's runs, and what its last calls came to. Of a child only the status and the lease.
    fn append_end(
        &self,
        key: &RunKey,
        record: &Record,
        end: &RunEnd,
        expires_at_s: i64,
    ) -> impl Future<Output = Result<AppendResult, StoreError>> + Send;

    /// Ends a run whose journal cannot be read, without a record: its status is `failed`, its lease
    /// released, and the session free again, if this run is its active one. It has no end that could be
    /// shown. Of a child only the status and the lease. What has ended or does not exist stays as it is.
    fn abandon_run(
        &self,
        key: &RunKey,
        at_ms: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Notes that a client was sent the end of a run that has ended; nothing if that is noted.
    fn mark_end_shown(&self, key: &RunKey) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The records from number `from` on, in order. Strongly consistent. Records are deleted one by
    /// one, in no order, once they have expired.
    ///
    /// # Errors
    /// `NewerFormat` if any of them is newer than this code.
    fn read_from(
        &self,
        key: &RunKey,
        from: u64,
    ) -> impl Future<Output = Result<Vec<Record>, StoreError>> + Send;

    /// A page of the records from number `from` on: the first ones, in order, as far as `size` goes. A
    /// record that is longer than that is a page alone. Strongly consistent.
    ///
    /// # Errors
    /// `NewerFormat` if any of them is newer than this code.
    fn read_page(
        &self,
        key: &RunKey,
        from: u64,
        size: PageSize,
    ) -> impl Future<Output = Result<Page, StoreError>> + Send;

    /// The newest records, the last one first, at most so many. Strongly consistent.
    fn read_newest(
        &self,
        key: &RunKey,
        records: usize,
    ) -> impl Future<Output = Result<Vec<Record>, StoreError>> + Send;

    /// What is known of a run; `None` if it does not exist. Strongly consistent.
    fn find_meta(
        &self,
        key: &RunKey,
    ) -> impl Future<Output = Result<Option<RunMeta>, StoreError>> + Send;

    /// What a new run needs to know of its session. Strongly consistent.
    fn load_session(
        &self,
        key: &SessionKey,
    ) -> impl Future<Output = Result<SessionView, StoreError>> + Send;

    /// The run that a session answers, as its view says it. Strongly consistent.
    fn find_active_run(
        &self,
        key: &SessionKey,
    ) -> impl Future<Output = Result<Option<RunId>, StoreError>> + Send;

    /// The session that a label of a user's names: the user's own of that label, if a run was ever
    /// started in it, or else the one in which the user's newest request of that label was asked.
    fn find_session_name(
        &self,
        user: &UserKey,
        label: &str,
    ) -> impl Future<Output = Result<Option<SessionName>, StoreError>> + Send;
}
