//! The end of a run, in one transaction.

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use djinn_core::conversation::SessionMemory;
use djinn_core::journal::Record;
use djinn_core::status::RunStatus;
use djinn_runtime::port::journal::{AppendResult, RunEnd};
use djinn_runtime::port::{RunKey, SessionKey, StoreError, UserKey};

use super::record::resolve_append;
use crate::admission::active_run_removal;
use crate::budget::DayUpdate;
use crate::change::{ItemChange, number, text, values};
use crate::item::exchange::ExchangeItem;
use crate::item::memory::MemoryItem;
use crate::item::record::RecordItem;
use crate::item::run::{RunItem, meta_expiry};
use crate::item::session::SessionItem;
use crate::item::user_run::UserRunItem;
use crate::store::AwsStore;
use crate::transaction::TransactionResult;

/// Positions in the transaction of items with a meaningful rejection.
const RECORD: usize = 0;
const META: usize = 1;

impl AwsStore {
    pub(super) async fn end_run(
        &self,
        key: &RunKey,
        record: &Record,
        end: &RunEnd,
        expires_at_s: i64,
    ) -> Result<AppendResult, StoreError> {
        let item = self.record_item(key, record, expires_at_s).await?;
        let mut certain = self.required_items(key, &item, end)?;
        let mut others = Vec::new();
        if key.is_root() {
            certain.push(self.exchange_item(key, end, expires_at_s).await?);
            if let Some(summary) = &end.memory {
                certain.push(self.memory_item(key, end, summary, expires_at_s).await?);
            }
            others = self.optional_items(key, record, end)?;
        }
        loop {
            let items = certain.iter().chain(&others).cloned().collect();
            let refusals = match self.write_transaction(items).await? {
                TransactionResult::Done => return Ok(AppendResult::Appended(item.hash.clone())),
                TransactionResult::Refused(refusals) => refusals,
            };
            if let Some(item) = refusals.of(RECORD) {
                return resolve_append(item, record);
            }
            let before = others.len();
            let mut place = certain.len();
            others.retain(|_| {
                place += 1;
                refusals.of(place - 1).is_none()
            });
            if refusals.of(META).is_some() || others.len() == before {
                return Err(StoreError::Unreadable(format!("{key} has no metadata")));
            }
        }
    }

    /// Ends a run by separate updates, metadata last, so that an interrupted call can be repeated.
    pub(super) async fn end_abandoned_run(
        &self,
        key: &RunKey,
        at_ms: i64,
    ) -> Result<(), StoreError> {
        let Some(item) = self.get_item(RunItem::key(key)).await? else { return Ok(()) };
        let run = RunItem::from_item(item)?;
        if run.status.has_ended() {
            return Ok(());
        }
        let session = run.session_key(&key.tenant);
        let list_key = UserRunItem::key(&key.tenant, &run.user, run.started_at_ms, &key.run);
        let turn = ExchangeItem::key(&session, run.started_at_ms, &key.run);
        let user = UserKey { tenant: key.tenant.clone(), user: run.user.clone() };
        let status = text(RunStatus::Failed.as_str());
        let failure_values = || values([(":status", status.clone()), (":ended", number(&at_ms))]);
        let around = [
            session_release(key, &session),
            active_run_removal(&user, &key.run),
            ItemChange {
                key: list_key,
                expression: "SET #status = :status, #ended_at_ms = :ended",
                condition: "attribute_exists(#run)",
                values: failure_values(),
            },
            ItemChange {
                key: turn,
                expression: "SET #status = :status, #request = :request, #user = :user, \
                    #expires = :expires",
                condition: "attribute_not_exists(#expires)",
                values: values([
                    (":status", text(RunStatus::Failed.as_str())),
                    (":request", text(&run.request)),
                    (":user", text(&run.user)),
                    (":expires", number(&run.expires)),
                ]),
            },
        ];
        let itself = ItemChange {
            key: RunItem::key(key),
            expression: "SET #status = :status, #ended_at_ms = :ended, #end_shown = :shown \
                REMOVE #holder, #until_ms",
            condition: "attribute_exists(#status) AND attribute_not_exists(#ended_at_ms)",
            values: failure_values().into_iter().chain([end_shown_value()]).collect(),
        };
        let around = around.into_iter().filter(|_| key.is_root());
        for change in around.chain([itself]) {
            // A rejected change is already done, or the item belongs to another run by now.
            self.update_item(change).await?;
        }
        Ok(())
    }

    /// Marks the run's end as shown. No effect on active, deleted or already marked runs.
    pub(super) async fn mark_run_end_shown(&self, key: &RunKey) -> Result<(), StoreError> {
        let change = ItemChange {
            key: RunItem::key(key),
            expression: "SET #end_shown = :shown",
            condition: "attribute_exists(#ended_at_ms) AND #end_shown <> :shown",
            values: [end_shown_value()].into(),
        };
        self.update_item(change).await.map(|_| ())
    }

    /// Returns the mandatory items of the end.
    fn required_items(
        &self,
        key: &RunKey,
        record: &RecordItem,
        end: &RunEnd,
    ) -> Result<Vec<TransactWriteItem>, StoreError> {
        let expires = meta_expiry(record.expires);
        let outline = end.outline.as_ref().and_then(|outline| serde_json::to_string(outline).ok());
        let records = record.n.saturating_add(1);
        Ok(vec![
            self.transact_create(record.to_item(key)?)?,
            self.transact_update(ItemChange {
                key: RunItem::key(key),
                expression: "SET #status = :status, #ended_at_ms = :ended, #end_shown = :shown, \
                    #outline = :outline, #records = :records, #hash = :hash, #expires = :expires \
                    REMOVE #holder, #until_ms",
                condition: "attribute_exists(#status)",
                values: values([
                    (":status", text(end.status.as_str())),
                    (":ended", number(&record.at_ms)),
                    (":shown", AttributeValue::Bool(end.end_shown)),
                    (":outline", text(&outline.unwrap_or_default())),
                    (":records", number(&records)),
                    (":hash", text(&record.hash)),
                    (":expires", number(&expires)),
                ]),
            })?,
        ])
    }

    /// Returns the put of the exchange for later runs of the session.
    async fn exchange_item(
        &self,
        key: &RunKey,
        end: &RunEnd,
        expires_at_s: i64,
    ) -> Result<TransactWriteItem, StoreError> {
        let session = &end.session;
        let exchange = serde_json::to_string(&end.exchange)
            .map_err(|error| StoreError::Unreadable(format!("exchange: {error}")))?;
        let expires = meta_expiry(expires_at_s);
        let exchange = ExchangeItem {
            body: Some(self.store_body(key, exchange).await?),
            status: Some(end.status),
            request: Some(end.request.clone()),
            user: Some(end.user.clone()),
            expires,
        };
        let exchange_key = ExchangeItem::key(session, end.started_at_ms, &key.run);
        self.transact_put(exchange.to_item(exchange_key)?)
    }

    /// Returns the put of the summary for the session's next runs.
    async fn memory_item(
        &self,
        key: &RunKey,
        end: &RunEnd,
        summary: &SessionMemory,
        expires_at_s: i64,
    ) -> Result<TransactWriteItem, StoreError> {
        let json = serde_json::to_string(&summary.compacted)
            .map_err(|error| StoreError::Unreadable(format!("summary: {error}")))?;
        let item = MemoryItem {
            body: self.store_body(key, json).await?,
            run: key.run.clone(),
            started_at_ms: end.started_at_ms,
            newer_exchanges: summary.newer_exchanges,
            expires: meta_expiry(expires_at_s),
        };
        self.transact_put(item.to_item(MemoryItem::key(&end.session))?)
    }

    /// Returns the optional items, left out if rejected: the session has another active run by now, the
    /// user's list has no entry, or the last hold is settled.
    fn optional_items(
        &self,
        key: &RunKey,
        record: &Record,
        end: &RunEnd,
    ) -> Result<Vec<TransactWriteItem>, StoreError> {
        let session = &end.session;
        let mut others = vec![
            self.transact_update(session_release(key, session))?,
            self.transact_update(ItemChange {
                key: UserRunItem::key(&key.tenant, &end.user, end.started_at_ms, &key.run),
                expression: "SET #status = :status, #ended_at_ms = :ended",
                condition: "attribute_exists(#run)",
                values: values([
                    (":status", text(end.status.as_str())),
                    (":ended", number(&record.at_ms)),
                ]),
            })?,
        ];
        let user = UserKey { tenant: key.tenant.clone(), user: end.user.clone() };
        if end.is_counted {
            others.push(self.active_run_removal_item(&user, &key.run)?);
        }
        for (day, change) in &end.day_changes {
            others.push(self.transact_update(DayUpdate::of(day, change).to_change())?);
        }
        Ok(others)
    }
}

/// Returns the value that marks an end as shown.
fn end_shown_value() -> (String, AttributeValue) {
    (":shown".to_owned(), AttributeValue::Bool(true))
}

/// Returns the change that releases the session from this run.
fn session_release(key: &RunKey, session: &SessionKey) -> ItemChange<'static> {
    ItemChange {
        key: SessionItem::key(session),
        expression: "REMOVE #active",
        condition: "#active = :run",
        values: values([(":run", text(&key.run))]),
    }
}
