//! Runs that a user starts: what a new run's transaction counts, and what a refusal means.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use djinn_core::id::RunId;
use djinn_core::status::RunStatus;
use djinn_runtime::port::admission::{Admission, minute_of};
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::{RunKey, StoreError, UserKey};
use futures::{StreamExt, TryStreamExt, stream};

use crate::change::{ItemChange, number, text, values};
use crate::item::active::ActiveItem;
use crate::item::minute::MinuteItem;
use crate::key::Attributes;
use crate::store::AwsStore;

/// Seconds that a minute is kept after it.
const RETENTION_S: i64 = 60 * 60;

/// Runs that are looked up at once.
const LOOKUPS_AT_ONCE: usize = 16;

/// What a run's creation counts, in the order of its items.
pub(crate) struct AdmissionItems {
    pub(crate) minute: Option<TransactWriteItem>,
    pub(crate) active: Option<TransactWriteItem>,
}

impl AwsStore {
    /// The items that count a run of a user's.
    pub(crate) fn admission_items(
        &self,
        user: &UserKey,
        run: &RunId,
        admission: &Admission,
        at_ms: i64,
    ) -> Result<AdmissionItems, StoreError> {
        let minute = admission.runs_per_minute.map(|most| {
            self.transact_update(ItemChange {
                key: MinuteItem::key(user, minute_of(at_ms)),
                expression: "ADD #runs :one SET #expires = :expires",
                condition: "attribute_not_exists(#runs) OR #runs < :most",
                values: values([
                    (":one", number(&1)),
                    (":most", number(&most)),
                    (":expires", number(&(at_ms.div_euclid(1000) + RETENTION_S))),
                ]),
            })
        });
        let active = admission.runs_at_once.map(|most| {
            self.transact_update(ItemChange {
                key: ActiveItem::key(user),
                expression: "ADD #runs :runs",
                condition: "attribute_not_exists(#runs) OR size(#runs) < :most",
                values: values([(":runs", run_id_set([run])), (":most", number(&most))]),
            })
        });
        Ok(AdmissionItems { minute: minute.transpose()?, active: active.transpose()? })
    }

    /// The user's place for a run is free again.
    pub(crate) fn active_run_removal_item(
        &self,
        user: &UserKey,
        run: &RunId,
    ) -> Result<TransactWriteItem, StoreError> {
        self.transact_update(active_run_removal(user, run))
    }

    /// Frees the places of runs that have ended, wait for a human, or are gone: whatever kept them,
    /// the user must not be locked out for ever. Whether there was one.
    pub(crate) async fn free_ended_runs(
        &self,
        user: &UserKey,
        stored: &Attributes,
    ) -> Result<bool, StoreError> {
        let active = ActiveItem::from_item(stored)?.runs;
        let over = stream::iter(active).map(|run| async move {
            let meta = self.find_meta(&RunKey::new(user.tenant.clone(), run.clone())).await?;
            Ok::<_, StoreError>((run, meta.is_none_or(|meta| !is_active(meta.status))))
        });
        let over: Vec<(RunId, bool)> = over.buffered(LOOKUPS_AT_ONCE).try_collect().await?;
        let over: Vec<&RunId> = over.iter().filter(|(_, over)| *over).map(|(run, _)| run).collect();
        if over.is_empty() {
            return Ok(false);
        }
        let change = ItemChange {
            key: ActiveItem::key(user),
            expression: "DELETE #runs :runs",
            condition: "",
            values: values([(":runs", run_id_set(over))]),
        };
        self.update_item(change).await.map(|_| true)
    }
}

/// The change that frees a run's place, if it has one.
pub(crate) fn active_run_removal(user: &UserKey, run: &RunId) -> ItemChange<'static> {
    ItemChange {
        key: ActiveItem::key(user),
        expression: "DELETE #runs :runs",
        condition: "contains(#runs, :run)",
        values: values([(":runs", run_id_set([run])), (":run", text(run))]),
    }
}

fn is_active(status: RunStatus) -> bool {
    match status {
        RunStatus::Queued | RunStatus::Running => true,
        RunStatus::Paused | RunStatus::Finished | RunStatus::Failed | RunStatus::Stopped => false,
    }
}

fn run_id_set<'a>(runs: impl IntoIterator<Item = &'a RunId>) -> AttributeValue {
    let names: BTreeSet<String> = runs.into_iter().map(ToString::to_string).collect();
    AttributeValue::Ss(names.into_iter().collect())
}
