//! Reads the journals of a run and of all runs below from the data directory of `cargo dev`.

use std::path::PathBuf;
use std::time::Duration;

use djinn_aws::Aws;
use djinn_core::entry::Event;
use djinn_core::id::{RunId, TenantId};
use djinn_core::replay::SavedRecord;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::port::{RunKey, StoreError};

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
    let stores = Stores::start(StoresOptions {
        dir: Some(dir),
        wait: Duration::ZERO,
        ..StoresOptions::default()
    })?;
    let store = Aws::new(stores.settings().clone()).store();
    let mut all_records = Vec::new();
    let mut keys = vec![RunKey::new(tenant, run.clone())];
    while let Some(key) = keys.pop() {
        let records = store.read_from(&key, 0).await?;
        let entries = records.iter().flat_map(|record| &record.entries);
        let mut below: Vec<RunKey> = entries
            .filter_map(|entry| {
                let Event::ChildStarted { child, .. } = &entry.event else { return None };
                Some(key.with_child(child.clone()))
            })
            .collect();
        below.reverse();
        keys.extend(below);
        let path = &key.path;
        all_records
            .extend(records.into_iter().map(|record| SavedRecord { path: path.clone(), record }));
    }
    if all_records.is_empty() { Err(SavedRunError::Unknown(run)) } else { Ok(all_records) }
}
