//! Admission of new runs: the counters in a new run's transaction, and the meaning of a rejection.

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

/// Seconds until a counter of a past minute expires.
const RETENTION_S: i64 = 60 * 60;

/// Maximum number of concurrent run look-ups.
const LOOKUPS_AT_ONCE: usize = 16;

/// The counters changed by a run's creation, in transaction order.
pub(crate) struct AdmissionItems {
    pub(crate) minute: Option<TransactWriteItem>,
    pub(crate) active: Option<TransactWriteItem>,
}

impl AwsStore {
    /// Returns the items that count a user's new run.
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

    /// Returns the transaction item that removes a run from a user's active runs.
    pub(crate) fn active_run_removal_item(
        &self,
        user: &UserKey,
        run: &RunId,
    ) -> Result<TransactWriteItem, StoreError> {
        self.transact_update(active_run_removal(user, run))
    }

    /// Removes finished, paused and deleted runs from a user's active runs, so that a stale entry never
    /// blocks the user. Returns true if an entry was removed.
    pub(crate) async fn free_ended_runs(
        &self,
        user: &UserKey,
        item: &Attributes,
    ) -> Result<bool, StoreError> {
        let active = ActiveItem::from_item(item)?.runs;
        let over = stream::iter(active).map(|run| async move {
            let meta = self.find_meta(&RunKey::new(user.tenant.clone(), run.clone())).await?;
            let is_active = meta
                .is_some_and(|meta| matches!(meta.status, RunStatus::Queued | RunStatus::Running));
            Ok::<_, StoreError>((run, !is_active))
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

/// Returns the change that removes a run from a user's active runs; no effect if absent.
pub(crate) fn active_run_removal(user: &UserKey, run: &RunId) -> ItemChange<'static> {
    ItemChange {
        key: ActiveItem::key(user),
        expression: "DELETE #runs :runs",
        condition: "contains(#runs, :run)",
        values: values([(":runs", run_id_set([run])), (":run", text(run))]),
    }
}

fn run_id_set<'a>(runs: impl IntoIterator<Item = &'a RunId>) -> AttributeValue {
    let names: BTreeSet<String> = runs.into_iter().map(ToString::to_string).collect();
    AttributeValue::Ss(names.into_iter().collect())
}
