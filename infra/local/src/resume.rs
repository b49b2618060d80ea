//! Finds and continues runs of dead processes.

use djinn_aws::AwsStore;
use djinn_core::id::{BadId, TenantId, UserId};
use djinn_core::journal::Journal;
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::Catalog;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::lease::Leases;
use djinn_runtime::port::{RunKey, StoreError, UserKey};

/// Maximum number of unfinished runs to find.
const MAX_RUNS: usize = 1_000;

/// Returns all unfinished runs of this machine's user.
pub(crate) async fn unfinished_runs(store: &AwsStore) -> Result<Vec<RunKey>, StoreError> {
    let unusable = |error: BadId| StoreError::Unreadable(error.to_string());
    let tenant = TenantId::new("local").map_err(unusable)?;
    let user = UserId::new("you").map_err(unusable)?;
    let statuses = [RunStatus::Queued, RunStatus::Running, RunStatus::Paused];
    let user = UserKey { tenant: tenant.clone(), user };
    let runs = store.list_runs(&user, &statuses, None, MAX_RUNS).await?;
    Ok(runs.items.into_iter().map(|run| RunKey::new(tenant.clone(), run.run)).collect())
}

/// Ends the leases of dead processes, and returns their runs. Only one process uses the local stores at a
/// time, so at start every lease belongs to a dead process. The leases of child runs end too. A lease is not
/// released but expires, so the next driver records the crash.
pub(crate) async fn take_over_dead_runs(store: &AwsStore) -> Result<Vec<RunKey>, StoreError> {
    let mut keys = Vec::new();
    for key in unfinished_runs(store).await? {
        match take_over_dead_run(store, &key).await {
            Ok(true) => keys.push(key),
            Ok(false) => {}
            // The other runs continue.
            Err(error) => tracing::error!(%error, run_id = %key.run, "run not taken over"),
        }
    }
    Ok(keys)
}

/// Ends the leases of a run and of all runs below. Returns false if the run has ended.
async fn take_over_dead_run(store: &AwsStore, key: &RunKey) -> Result<bool, StoreError> {
    if store.find_meta(key).await?.is_none_or(|meta| meta.status.has_ended()) {
        return Ok(false);
    }
    let mut tree = vec![key.clone()];
    while let Some(run) = tree.pop() {
        tree.extend(running_children(store, &run).await?);
        if let Some(lease) = store.find_meta(&run).await?.and_then(|meta| meta.lease) {
            store.renew_lease(&run, &lease, 0, false).await?;
        }
    }
    Ok(true)
}

async fn running_children(store: &AwsStore, key: &RunKey) -> Result<Vec<RunKey>, StoreError> {
    let journal = match store.read_from(key, 0).await {
        Ok(records) => Journal::fold(&records).ok(),
        // The next driver ends an unreadable run with an error.
        Err(StoreError::Unreadable(_)) => None,
        Err(error) => return Err(error),
    };
    let children = journal.map(|journal| journal.run().running_children()).unwrap_or_default();
    Ok(children.into_iter().map(|child| key.with_child(child)).collect())
}
