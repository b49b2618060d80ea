//! Reads and verifies the journals of a run and of all runs below, in the data directory of `cargo dev`.

use std::path::PathBuf;
use std::time::Duration;

use djinn_aws::{Aws, AwsStore};
use djinn_core::entry::Event;
use djinn_core::id::{Path, RunId, TenantId};
use djinn_core::journal::{ChainError, ChainHead, Record};
use djinn_core::replay::SavedRecord;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::port::page::PageSize;
use djinn_runtime::port::{RunKey, StoreError};
use djinn_runtime::verification::{VerificationError, verify_journal};

use crate::store::{Stores, StoresError, StoresOptions};

/// The reason a run's journals cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SavedRunError {
    /// The stores cannot be opened.
    #[error(transparent)]
    Stores(#[from] StoresError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run does not exist.
    #[error("there is no run {0} here")]
    Unknown(RunId),
    /// A record is not as written, or missing.
    #[error("{0}: {1}")]
    Altered(RunKey, ChainError),
}

/// A verified journal.
pub struct VerifiedJournal {
    /// The path from the root to the run.
    pub path: Path,
    /// The head of the chain.
    pub head: ChainHead,
}

/// Reads the records of a tree of runs. A run's records precede the records of the runs below.
///
/// # Errors
/// Returns [`SavedRunError`], whose text says what to do.
pub async fn read_saved_run(
    dir: PathBuf,
    tenant: TenantId,
    run: RunId,
) -> Result<Vec<SavedRecord>, SavedRunError> {
    let (_stores, store) = open_store(dir)?;
    let mut all_records = Vec::new();
    let mut keys = vec![RunKey::new(tenant, run.clone())];
    while let Some(key) = keys.pop() {
        let records = store.read_from(&key, 0).await?;
        let below: Vec<RunKey> =
            records.iter().flat_map(|record| started_children(&key, record)).collect();
        keys.extend(below.into_iter().rev());
        let path = &key.path;
        all_records
            .extend(records.into_iter().map(|record| SavedRecord { path: path.clone(), record }));
    }
    if all_records.is_empty() { Err(SavedRunError::Unknown(run)) } else { Ok(all_records) }
}

/// Verifies the journals of a tree of runs, each run before the runs below.
///
/// # Errors
/// Returns [`SavedRunError`], for the first record that is not as written.
pub async fn verify_saved_run(
    dir: PathBuf,
    tenant: TenantId,
    run: RunId,
) -> Result<Vec<VerifiedJournal>, SavedRunError> {
    let (_stores, store) = open_store(dir)?;
    let mut journals = Vec::new();
    let mut keys = vec![RunKey::new(tenant, run.clone())];
    while let Some(key) = keys.pop() {
        let Some(meta) = store.find_meta(&key).await? else {
            // A child that was never created.
            continue;
        };
        let mut below = Vec::new();
        let see = |record: &Record| below.extend(started_children(&key, record));
        let size = PageSize::FOR_FOLD;
        let head = match verify_journal(&store, &key, meta.chain_head, size, see).await {
            Ok(head) => head,
            Err(VerificationError::Chain(error)) => return Err(SavedRunError::Altered(key, error)),
            Err(VerificationError::Store(error)) => return Err(error.into()),
        };
        keys.extend(below.into_iter().rev());
        journals.push(VerifiedJournal { path: key.path, head });
    }
    if journals.is_empty() { Err(SavedRunError::Unknown(run)) } else { Ok(journals) }
}

/// Opens the stores in a data directory that no other process uses.
fn open_store(dir: PathBuf) -> Result<(Stores, AwsStore), StoresError> {
    let options =
        StoresOptions { dir: Some(dir), wait: Duration::ZERO, ..StoresOptions::default() };
    let stores = Stores::start(options)?;
    let store = Aws::new(stores.settings().clone()).store();
    Ok((stores, store))
}

/// Returns the children that started with a record, in order.
fn started_children(key: &RunKey, record: &Record) -> Vec<RunKey> {
    let children = record.entries.iter().filter_map(|entry| {
        let Event::ChildStarted { child, .. } = &entry.event else { return None };
        Some(key.with_child(child.clone()))
    });
    children.collect()
}
