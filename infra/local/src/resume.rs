//! Runs whose process is gone.

use djinn_core::id::{TenantId, UserId};
use djinn_core::status::RunStatus;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::lease::Leases;
use djinn_runtime::port::{RunKey, StoreError};

use crate::system::LocalWorld;

/// How many unfinished runs are looked for.
const MAX_RUNS: usize = 1_000;

/// Ends the leases of processes that are gone, and returns the runs they drove. Only one process
/// uses the local stores at a time, so when it starts, every lease is a dead one's. A lease is not
/// released but made to lapse, so that the next driver records that the last one died.
pub(crate) async fn take_over_dead_runs(ports: &LocalWorld) -> Result<Vec<RunKey>, StoreError> {
    let unusable = |error: djinn_core::id::BadId| StoreError::Unreadable(error.to_string());
    let tenant = TenantId::new("local").map_err(unusable)?;
    let user = UserId::new("you").map_err(unusable)?;
    let unfinished = [RunStatus::Queued, RunStatus::Running, RunStatus::Paused];
    let mut keys = Vec::new();
    for run in ports.store.runs(&tenant, &user, &unfinished, MAX_RUNS).await? {
        let key = RunKey { tenant: tenant.clone(), run: run.run };
        let Some(meta) = ports.store.meta(&key).await? else { continue };
        if meta.status.has_ended() {
            continue;
        }
        if let Some(lease) = meta.lease {
            ports.store.renew_lease(&key, &lease, 0).await?;
        }
        keys.push(key);
    }
    Ok(keys)
}
