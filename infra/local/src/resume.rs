//! Runs whose process is gone.

use djinn_aws::AwsStore;
use djinn_core::id::{BadId, TenantId, UserId};
use djinn_core::journal::Journal;
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::Catalog;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::lease::Leases;
use djinn_runtime::port::{RunKey, StoreError, UserKey};

/// How many unfinished runs are looked for.
const MAX_RUNS: usize = 1_000;

/// Every run of this machine's user that has not ended.
pub(crate) async fn unfinished_runs(store: &AwsStore) -> Result<Vec<RunKey>, StoreError> {
    let unusable = |error: BadId| StoreError::Unreadable(error.to_string());
    let tenant = TenantId::new("local").map_err(unusable)?;
    let user = UserId::new("you").map_err(unusable)?;
    let unfinished = [RunStatus::Queued, RunStatus::Running, RunStatus::Paused];
    let user = UserKey { tenant: tenant.clone(), user };
    let runs = store.list_runs(&user, &unfinished, None, MAX_RUNS).await?;
    Ok(runs.items.into_iter().map(|run| RunKey::new(tenant.clone(), run.run)).collect())
}

/// Ends the leases of processes that are gone, and returns the runs they drove. Only one process
/// uses the local stores at a time, so when it starts, every lease is a dead one's, those of all runs
/// below too. A lease is not released but made to lapse, so that the next driver records that the
/// last one died.
pub(crate) async fn take_over_dead_runs(store: &AwsStore) -> Result<Vec<RunKey>, StoreError> {
    let mut keys = Vec::new();
    for key in unfinished_runs(store).await? {
        if store.find_meta(&key).await?.is_none_or(|meta| meta.status.has_ended()) {
            continue;
        }
        let mut tree = vec![key.clone()];
        while let Some(run) = tree.pop() {
            tree.extend(running_children(store, &run).await?);
            end_lease(store, &run).await?;
        }
        keys.push(key);
    }
    Ok(keys)
}

async fn running_children(store: &AwsStore, key: &RunKey) -> Result<Vec<RunKey>, StoreError> {
    // A journal that cannot be folded is left to the driver, which says so.
    let journal = Journal::fold(&store.read_from(key, 0).await?).ok();
    let children = journal.map(|journal| journal.run().running_children()).unwrap_or_default();
    Ok(children.into_iter().map(|child| key.with_child(child)).collect())
}

async fn end_lease(store: &AwsStore, key: &RunKey) -> Result<(), StoreError> {
    let lease = store.find_meta(key).await?.and_then(|meta| meta.lease);
    if let Some(lease) = lease {
        store.renew_lease(key, &lease, 0).await?;
    }
    Ok(())
}
