//! A store in memory, with the promises of the real one, and with faults on demand.

mod call_history;
mod catalog;
mod day;
mod live;
mod port;
mod record_read;
mod run;
mod session;
mod share;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use catalog::StoredUser;
use day::StoredDay;
use djinn_core::id::{SessionName, ShareHandle, TenantId};
use djinn_runtime::port::budget::DayKey;
use djinn_runtime::port::call_history::CallSample;
use djinn_runtime::port::call_history::ToolKey;
use djinn_runtime::port::share::SessionShare;
use djinn_runtime::port::tool::BoxFuture;
use djinn_runtime::port::{RunKey, StoreError};
use djinn_runtime::port::{SessionKey, UserKey};
pub use record_read::RecordRead;
use run::StoredRun;
use session::StoredSession;

/// A store in memory. Cloning shares what is in it. Every operation is one step: nothing happens
/// between its beginning and its end, except what a hook does before it.
///
/// It keeps JSON, so that what does not survive writing and reading is noticed here too.
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
    days: BTreeMap<DayKey, StoredDay>,
    calls: BTreeMap<ToolKey, Vec<CallSample>>,
    /// Runs that were started in a minute, where that is bounded.
    runs_started: BTreeMap<(UserKey, i64), u32>,
    /// Counts the files written, for their order.
    files_written: u64,
    /// What decides where a store is free to answer in one way or another.
    chance: Option<fastrand::Rng>,
}

type Hook = Arc<dyn Fn(Op) -> BoxFuture<'static, StoreFault> + Send + Sync>;

#[derive(Default)]
struct FaultState {
    log: Vec<Op>,
    record_reads: Vec<RecordRead>,
    hook: Option<Hook>,
}

/// An operation that a store was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// Its place in the log, from 0.
    pub nth: usize,
    /// The kind tells which method of a port was called.
    pub kind: OpKind,
    /// The run it is about; `None` for those of sessions.
    pub run: Option<RunKey>,
    /// The number of the record it writes, or reads from.
    pub record: Option<u64>,
    /// The process that asks; 0 for whoever is none.
    pub process: u64,
}

impl fmt::Display for Op {
    /// `Append 3`, `s1.1 PutMail`: with the path, if it is about a run below another.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(run) = self.run.as_ref().filter(|run| !run.is_root()) {
            write!(f, "{} ", run.path)?;
        }
        write!(f, "{:?}", self.kind)?;
        self.record.map_or(Ok(()), |n| write!(f, " {n}"))
    }
}

/// The operations of a store, as the log of a sweep prints them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpKind {
    /// `Journals::find_active_run` reads which run the session names as its active one.
    Active,
    /// `CallHistory::add_call_samples` adds samples of a tool and drops its oldest ones.
    AddCallSamples,
    /// `Shares::add_share` adds a share, unless its session is gone or has too many.
    AddShare,
    /// `Journals::append` writes a record, unless its number is taken.
    Append,
    /// `Files::find_arrived` reads which of the announced files are there as announced.
    Arrived,
    /// `CallHistory::call_samples` reads the samples that are kept of a tool.
    CallSamples,
    /// `Budgets::change_day` settles a hold and makes the next one, if the bound lets it.
    ChangeDay,
    /// `Journals::create` writes a run and its first record, and makes it its session's active run.
    Create,
    /// `Budgets::read_day_total` reads the sums of a day, with what is held.
    Day,
    /// `Mailbox::delete_mail` removes the messages of these ids.
    DeleteMail,
    /// `Journals::append_end` writes the last record, ends the run and frees its session.
    End,
    /// `Shares::end_share` removes a share, if it is one of this session.
    EndShare,
    /// `Files::find_file` reads what is known of the newest file of a name, without its bytes.
    FindFile,
    /// `Catalog::find_session` reads a session from its owner's list.
    FindSession,
    /// `Shares::find_share` reads the share that a handle of a tenant names.
    FindShare,
    /// `Catalog::delete_session` removes a session and all that is in it, unless it is busy.
    ForgetSession,
    /// `Journals::abandon_run` fails a run without a record and frees its session.
    GiveUp,
    /// `Files::list_files` reads a session's files, the one written last at the end.
    ListFiles,
    /// `Catalog::list_runs` reads a page of a user's runs, newest first.
    ListRuns,
    /// `Catalog::list_sessions` reads a page of a user's sessions, by their newest runs.
    ListSessions,
    /// `Shares::list_shares` reads the shares of a session in the order of their handles.
    ListShares,
    /// `Catalog::list_turns` reads a page of a session's runs, the active one first.
    ListTurns,
    /// `Mailbox::list_mail` reads a run's messages and leaves them there.
    Mail,
    /// `Journals::find_meta` reads a run's status, lease and other metadata.
    Meta,
    /// `Catalog::rename_session` replaces the title of a session that is in its owner's list.
    NameSession,
    /// `Journals::mark_end_shown` notes that a client was sent the end of an ended run.
    NoteEndShown,
    /// `Mailbox::put_mail` writes a message over one of the same id.
    PutMail,
    /// `Journals::read_from`, `read_page` and `read_newest` read records of a run.
    Read,
    /// `Files::read_file` reads the bytes of a file, also after another one took its name.
    ReadFile,
    /// `LiveLog::read_live` reads the pieces that were written since a position.
    ReadLive,
    /// `Leases::release_lease` removes the caller's lease and sets the status of the run.
    ReleaseLease,
    /// `Leases::renew_lease` moves the end of the caller's lease, even if it has expired.
    RenewLease,
    /// `Journals::load_session` reads a session's active run, newest exchanges and files.
    Session,
    /// `Journals::find_session_name` reads which session a user's label or request names.
    SessionOf,
    /// `Leases::take_lease` makes the caller the driver of a run that nobody else holds.
    TakeLease,
    /// `LiveLog::mark_watched` notes until when a run is watched, unless that is noted for longer.
    Watch,
    /// `Files::write_file` writes a file, which takes the place of one of its name.
    WriteFile,
    /// `LiveLog::write_live` adds pieces of one moment, over those of the same writer and place.
    WriteLive,
}

impl OpKind {
    /// Whether it changes anything.
    #[must_use]
    pub fn is_write(self) -> bool {
        match self {
            Self::AddCallSamples
            | Self::AddShare
            | Self::Append
            | Self::ChangeDay
            | Self::Create
            | Self::DeleteMail
            | Self::End
            | Self::EndShare
            | Self::ForgetSession
            | Self::GiveUp
            | Self::NameSession
            | Self::NoteEndShown
            | Self::PutMail
            | Self::ReleaseLease
            | Self::RenewLease
            | Self::TakeLease
            | Self::Watch
            | Self::WriteFile
            | Self::WriteLive => true,
            Self::Active
            | Self::Arrived
            | Self::CallSamples
            | Self::Day
            | Self::FindFile
            | Self::FindSession
            | Self::FindShare
            | Self::ListFiles
            | Self::ListRuns
            | Self::ListSessions
            | Self::ListShares
            | Self::ListTurns
            | Self::Mail
            | Self::Meta
            | Self::Read
            | Self::ReadFile
            | Self::ReadLive
            | Self::Session
            | Self::SessionOf => false,
        }
    }
}

/// What becomes of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StoreFault {
    /// It is done and answered.
    #[default]
    None,
    /// It is not done; the caller hears `Unavailable`.
    NotDone,
    /// It is not done, now or later; the caller hears `TooLarge`.
    TooLarge,
    /// It is done, but the caller hears `Unavailable`.
    ReplyLost,
    /// It is done, and answered after so long.
    Late(Duration),
    /// It is done, but the caller is dead.
    Silent,
}

impl MemoryStore {
    /// An empty store without faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same store, as a process sees it.
    #[must_use]
    pub fn of(&self, process: u64) -> Self {
        Self { process, ..self.clone() }
    }

    /// Lets chance decide where the store is free to: messages come in any order, and the live log
    /// may be behind.
    pub fn leave_to_chance(&self, seed: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.chance = Some(fastrand::Rng::with_seed(seed));
    }

    /// Asks `hook` before every operation what becomes of it, from now on and for all clones. It may
    /// wait: other tasks go on meanwhile, and the operation is done after it.
    pub fn before_each<F>(&self, hook: impl Fn(Op) -> F + Send + Sync + 'static)
    where
        F: Future<Output = StoreFault> + Send + 'static,
    {
        self.lock_faults().hook = Some(Arc::new(move |op| Box::pin(hook(op))));
    }

    /// Every operation is done and answered from now on.
    pub fn without_faults(&self) {
        self.lock_faults().hook = None;
    }

    /// Loses what a record holds, as if its object in the bucket was gone: it cannot be read any
    /// more.
    pub fn lose_record(&self, key: &RunKey, n: u64) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).lose_record(key, n);
    }

    /// The operations so far, those with faults included.
    #[must_use]
    pub fn log(&self) -> Vec<Op> {
        self.lock_faults().log.clone()
    }

    /// Forgets the operations so far; their numbers start over.
    pub fn clear_log(&self) {
        let mut faults = self.lock_faults();
        faults.log.clear();
        faults.record_reads.clear();
    }

    /// Deletes records whose time has come, as DynamoDB does: one by one, in no order.
    pub fn expire_records(&self, key: &RunKey, expired: impl Fn(u64) -> bool) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).expire_records(key, expired);
    }

    /// Adds records that each tell of a delivery, as a run has them that tells many children to stop.
    pub fn add_deliveries(&self, key: &RunKey, count: u64) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).add_deliveries(key, count);
    }

    fn lock_faults(&self) -> MutexGuard<'_, FaultState> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs an operation, asks the hook and does it.
    async fn perform<T>(
        &self,
        kind: OpKind,
        run: Option<&RunKey>,
        record: Option<u64>,
        act: impl FnOnce(&mut State) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let asked = {
            let mut faults = self.lock_faults();
            let nth = faults.log.len();
            let op = Op { nth, kind, run: run.cloned(), record, process: self.process };
            faults.log.push(op.clone());
            faults.hook.clone().map(|hook| hook(op))
        };
        let fault = match asked {
            Some(asked) => asked.await,
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

/// What an item of the real store holds at most, beside what of it lies in its bucket.
const MAX_ITEM: usize = 400 * 1024;

/// Refuses what would be too large for an item, in about as many bytes.
fn check_item_size(bytes: usize) -> Result<(), StoreError> {
    match bytes <= MAX_ITEM {
        true => Ok(()),
        false => Err(StoreError::TooLarge(format!("{bytes} bytes"))),
    }
}

fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Unreadable(error.to_string()))
}

fn from_json<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::id::RunId;
    use djinn_runtime::port::journal::Journals;
    use djinn_runtime::port::live::LiveLog;
    use djinn_runtime::port::mailbox::{Mail, Mailbox};

    fn key() -> RunKey {
        let run = RunId::new(format!("run_{}", "0".repeat(32))).unwrap();
        RunKey::new(TenantId::new("t").unwrap(), run)
    }

    fn mail() -> Mail {
        Mail::Stop { by: djinn_core::id::UserId::new("u").unwrap() }
    }

    crate::contract_tests!(((), MemoryStore::new()));

    #[tokio::test]
    async fn a_hook_decides_whether_an_operation_is_done_and_answered() {
        let store = MemoryStore::new();
        store.before_each(|op| async move {
            match op.nth {
                0 => StoreFault::NotDone,
                1 => StoreFault::ReplyLost,
                _ => StoreFault::None,
            }
        });
        assert!(store.put_mail(&key(), &mail(), 0).await.is_err());
        assert!(store.put_mail(&key(), &mail(), 0).await.is_err());
        assert_eq!(store.list_mail(&key()).await, Ok(vec![mail()]));

        store.without_faults();
        let run = Some(key());
        let put = Op { nth: 0, kind: OpKind::PutMail, run, record: None, process: 0 };
        let log = store.log();
        assert_eq!(log[0], put);
        assert_eq!(log[1], Op { nth: 1, ..put });
        assert_eq!(log[2].kind, OpKind::Mail);
        store.clear_log();
        assert!(store.read_from(&key(), 3).await.unwrap().is_empty());
        assert_eq!(store.log()[0].record, Some(3));
    }

    #[tokio::test]
    async fn another_task_may_come_first_while_a_hook_waits() {
        let store = MemoryStore::new();
        let (open, gate) = tokio::sync::watch::channel(false);
        store.before_each(move |op| {
            let mut gate = gate.clone();
            async move {
                if op.kind == OpKind::PutMail {
                    let _ = gate.wait_for(|open| *open).await;
                }
                StoreFault::None
            }
        });
        let late = tokio::spawn({
            let store = store.clone();
            async move { store.put_mail(&key(), &mail(), 0).await }
        });
        while store.log().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(store.list_mail(&key()).await, Ok(Vec::new()));
        store.mark_watched(&key(), 1).await.unwrap();
        open.send(true).unwrap();
        late.await.unwrap().unwrap();
        assert_eq!(store.list_mail(&key()).await, Ok(vec![mail()]));
    }
}
