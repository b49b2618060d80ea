//! A store in memory, with the guarantees of the real store, and with faults on demand.

mod call_history;
mod catalog;
mod day;
mod live;
mod port;
mod record;
mod record_read;
mod run;
mod sealed_key;
mod session;
mod share;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use catalog::StoredUser;
use day::StoredDay;
use djinn_core::id::{KeyName, SessionName, ShareHandle, TenantId};
use djinn_runtime::port::budget::DayKey;
use djinn_runtime::port::call_history::CallSample;
use djinn_runtime::port::call_history::ToolKey;
use djinn_runtime::port::sealed_key::SealedKey;
use djinn_runtime::port::share::SessionShare;
use djinn_runtime::port::tool::BoxFuture;
use djinn_runtime::port::{RunKey, StoreError};
use djinn_runtime::port::{SessionKey, UserKey};
pub use record_read::RecordRead;
use run::StoredRun;
use session::StoredSession;

/// A store in memory. Clones share the content. Every operation is atomic: only a hook can run before it.
///
/// The content is stored as JSON, so errors of serialization are also detected.
#[derive(Clone, Default)]
pub struct MemoryStore {
    process: u64,
    state: Arc<Mutex<State>>,
    faults: Arc<Mutex<FaultState>>,
}

#[derive(Default)]
struct State {
    runs: BTreeMap<RunKey, StoredRun>,
    sessions: BTreeMap<SessionKey, StoredSession>,
    requests: BTreeMap<(UserKey, String), SessionName>,
    users: BTreeMap<UserKey, StoredUser>,
    shares: BTreeMap<(TenantId, ShareHandle), SessionShare>,
    sealed_keys: BTreeMap<(UserKey, KeyName, String), SealedKey>,
    days: BTreeMap<DayKey, StoredDay>,
    calls: BTreeMap<ToolKey, Vec<CallSample>>,
    /// The number of runs started per minute, if limited.
    runs_started: BTreeMap<(UserKey, i64), u32>,
    /// The number of files written, for their order.
    files_written: u64,
    /// The random choices of a store with a free choice.
    chance: Option<fastrand::Rng>,
}

type Hook = Arc<dyn Fn(Op) -> BoxFuture<'static, StoreFault> + Send + Sync>;

#[derive(Default)]
struct FaultState {
    log: Vec<Op>,
    record_reads: Vec<RecordRead>,
    hook: Option<Hook>,
}

/// An operation of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// The index in the log, from 0.
    pub nth: usize,
    /// The kind of operation, one for each method of a port.
    pub kind: OpKind,
    /// The run of the operation; `None` for operations on sessions.
    pub run: Option<RunKey>,
    /// The number of the record to write, or of the first record to read.
    pub record: Option<u64>,
    /// The calling process; 0 outside of processes.
    pub process: u64,
}

impl fmt::Display for Op {
    /// Formats as `Append 3`, or `s1.1 PutMail` with the path of a child.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(run) = self.run.as_ref().filter(|run| !run.is_root()) {
            write!(f, "{} ", run.path)?;
        }
        write!(f, "{:?}", self.kind)?;
        self.record.map_or(Ok(()), |n| write!(f, " {n}"))
    }
}

/// The kinds of operations of a store, as printed in logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpKind {
    /// `Journals::find_active_run` reads the session's active run.
    Active,
    /// `CallHistory::add_call_samples` adds samples of a tool and drops the oldest.
    AddCallSamples,
    /// `Shares::add_share` adds a share, unless the session is gone or has too many.
    AddShare,
    /// `Journals::append` appends a record, unless the number is taken.
    Append,
    /// `Files::find_arrived` reads the announced files that have arrived.
    Arrived,
    /// `CallHistory::call_samples` reads the samples of a tool.
    CallSamples,
    /// `Budgets::change_day` settles a hold and makes the next one, within the limit.
    ChangeDay,
    /// `Journals::create` creates a run with its first record, as its session's active run.
    Create,
    /// `Budgets::read_day_total` reads the total of a day, holds included.
    Day,
    /// `Mailbox::delete_mail` deletes mail by id.
    DeleteMail,
    /// `SealedKeys::delete_sealed_keys` deletes a user's keys of a name.
    DeleteSealedKeys,
    /// `Journals::append_end` appends the last record, ends the run and frees its session.
    End,
    /// `Shares::end_share` removes a share of this session.
    EndShare,
    /// `Files::find_file` reads the metadata of the newest file of a name.
    FindFile,
    /// `SealedKeys::find_sealed_key` reads a user's key for an origin.
    FindSealedKey,
    /// `Catalog::find_session` reads a session from its owner's list.
    FindSession,
    /// `Shares::find_share` reads the share of a tenant's handle.
    FindShare,
    /// `Catalog::delete_session` deletes a session with all contents, unless busy.
    ForgetSession,
    /// `Journals::abandon_run` fails a run without a record and frees its session.
    GiveUp,
    /// `Files::list_files` reads a session's files, last written last.
    ListFiles,
    /// `Catalog::list_runs` reads a page of a user's runs, newest first.
    ListRuns,
    /// `SealedKeys::list_sealed_keys` reads a user's keys, by name and origin.
    ListSealedKeys,
    /// `Catalog::list_sessions` reads a page of a user's sessions, ordered by newest run.
    ListSessions,
    /// `Shares::list_shares` reads the shares of a session, ordered by handle.
    ListShares,
    /// `Shares::list_shares_with` reads the newest share of each session with a user.
    ListSharesWith,
    /// `Catalog::list_turns` reads a page of a session's runs, active run first.
    ListTurns,
    /// `Mailbox::list_mail` reads a run's mail without deleting it.
    Mail,
    /// `Journals::find_meta` reads a run's status, lease and other metadata.
    Meta,
    /// `Catalog::rename_session` replaces the title of a session in its owner's list.
    NameSession,
    /// `Journals::mark_end_shown` notes that a client received the end of a run.
    NoteEndShown,
    /// `Mailbox::put_mail` puts mail, replacing mail with the same id.
    PutMail,
    /// `SealedKeys::put_sealed_key` stores a key, replacing one of the same user, name and origin.
    PutSealedKey,
    /// `Journals::read_from`, `read_page`, `read_texts` and `read_newest` read records of a run.
    Read,
    /// `Files::read_file` reads the bytes of a file, even if replaced since.
    ReadFile,
    /// `LiveLog::read_live` reads the pieces after a position.
    ReadLive,
    /// `Leases::release_lease` removes the caller's lease and sets the run's status.
    ReleaseLease,
    /// `Leases::renew_lease` extends the caller's lease, even if expired.
    RenewLease,
    /// `Journals::load_session` reads a session's active run, newest exchanges and files.
    Session,
    /// `Journals::find_session_name` reads the session of a user's label or request.
    SessionOf,
    /// `Leases::take_lease` takes the lease of a run without a holder.
    TakeLease,
    /// `LiveLog::mark_watched` extends the time during which a run is watched.
    Watch,
    /// `Files::write_file` writes a file, replacing a file of the same name.
    WriteFile,
    /// `LiveLog::write_live` adds pieces of one moment, replacing those of the same writer and offset.
    WriteLive,
}

impl OpKind {
    /// Returns true if the operation may change the store.
    #[must_use]
    pub fn is_write(self) -> bool {
        matches!(
            self,
            Self::AddCallSamples
                | Self::AddShare
                | Self::Append
                | Self::ChangeDay
                | Self::Create
                | Self::DeleteMail
                | Self::DeleteSealedKeys
                | Self::End
                | Self::EndShare
                | Self::ForgetSession
                | Self::GiveUp
                | Self::NameSession
                | Self::NoteEndShown
                | Self::PutMail
                | Self::PutSealedKey
                | Self::ReleaseLease
                | Self::RenewLease
                | Self::TakeLease
                | Self::Watch
                | Self::WriteFile
                | Self::WriteLive
        )
    }
}

/// The fault of a store operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StoreFault {
    /// The operation succeeds without a fault.
    #[default]
    None,
    /// The operation is not performed and returns `Unavailable`.
    NotDone,
    /// The operation is never performed and returns `TooLarge`.
    TooLarge,
    /// The operation is performed but returns `Unavailable`.
    ReplyLost,
    /// The operation is performed and returns after this delay.
    Late(Duration),
    /// The operation is performed, but the caller is dead.
    Silent,
}

impl MemoryStore {
    /// Creates an empty store without faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the same store, for the calls of a process.
    #[must_use]
    pub fn of(&self, process: u64) -> Self {
        Self { process, ..self.clone() }
    }

    /// Makes free choices random, by this seed: the order of mail, and the lag of the live log.
    pub fn leave_to_chance(&self, seed: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.chance = Some(fastrand::Rng::with_seed(seed));
    }

    /// Calls `hook` before every operation, for all clones. The returned fault applies to the operation. The
    /// hook may wait while other tasks continue; the operation is performed afterwards.
    pub fn before_each<F>(&self, hook: impl Fn(Op) -> F + Send + Sync + 'static)
    where
        F: Future<Output = StoreFault> + Send + 'static,
    {
        self.lock_faults().hook = Some(Arc::new(move |op| Box::pin(hook(op))));
    }

    /// Removes the hook: all further operations succeed.
    pub fn without_faults(&self) {
        self.lock_faults().hook = None;
    }

    /// Loses the content of a record, as if its object in the bucket was deleted. The record is then
    /// unreadable.
    pub fn lose_record(&self, key: &RunKey, n: u64) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).lose_record(key, n);
    }

    /// Returns the operations so far, including failed ones.
    #[must_use]
    pub fn log(&self) -> Vec<Op> {
        self.lock_faults().log.clone()
    }

    /// Clears the log; indexes start over from 0.
    pub fn clear_log(&self) {
        let mut faults = self.lock_faults();
        faults.log.clear();
        faults.record_reads.clear();
    }

    /// Deletes expired records in any order, like DynamoDB.
    pub fn expire_records(&self, key: &RunKey, expired: impl Fn(u64) -> bool) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).expire_records(key, expired);
    }

    /// Adds records with one delivery each, like a run that stops many children.
    pub fn add_deliveries(&self, key: &RunKey, count: u64) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).add_deliveries(key, count);
    }

    fn lock_faults(&self) -> MutexGuard<'_, FaultState> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs an operation, calls the hook and performs the operation.
    async fn perform<T>(
        &self,
        kind: OpKind,
        run: Option<&RunKey>,
        record: Option<u64>,
        act: impl FnOnce(&mut State) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let hook_fault = {
            let mut faults = self.lock_faults();
            let nth = faults.log.len();
            let op = Op { nth, kind, run: run.cloned(), record, process: self.process };
            faults.log.push(op.clone());
            faults.hook.clone().map(|hook| hook(op))
        };
        let fault = match hook_fault {
            Some(hook_fault) => hook_fault.await,
            None => StoreFault::None,
        };
        if fault == StoreFault::NotDone {
            return Err(StoreError::Unavailable(format!("{kind:?}: not done")));
        }
        if fault == StoreFault::TooLarge {
            return Err(StoreError::TooLarge(format!("{kind:?}")));
        }
        let done = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            act(&mut state)
        };
        match fault {
            StoreFault::None | StoreFault::NotDone | StoreFault::TooLarge => {}
            StoreFault::ReplyLost => {
                done?;
                return Err(StoreError::Unavailable(format!("{kind:?}: the reply was lost")));
            }
            StoreFault::Late(late) => tokio::time::sleep(late).await,
            StoreFault::Silent => std::future::pending().await,
        }
        done
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

/// The maximum bytes of an item in the real store, besides content in its bucket.
const MAX_ITEM: usize = 400 * 1024;

/// Rejects content too large for an item, by an approximate size.
fn check_item_size(bytes: usize) -> Result<(), StoreError> {
    if bytes <= MAX_ITEM { Ok(()) } else { Err(StoreError::TooLarge(format!("{bytes} bytes"))) }
}

fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Unreadable(error.to_string()))
}

fn from_json<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests;
