//! Leases: updates of a run's metadata.

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_core::status::RunStatus;
use djinn_runtime::port::journal::Lease;
use djinn_runtime::port::lease::{LeaseAcquisition, LeaseNote, LeaseRenewal, Leases};
use djinn_runtime::port::{RunKey, StoreError};

use crate::change::{ItemChange, number, text, values};
use crate::item::run::RunItem;
use crate::key::Attributes;
use crate::store::{AwsStore, ChangeResult};

impl Leases for AwsStore {
    async fn take_lease(
        &self,
        key: &RunKey,
        holder: &str,
        now_ms: i64,
        until_ms: i64,
    ) -> Result<LeaseAcquisition, StoreError> {
        let change = ItemChange {
            key: RunItem::key(key),
            expression: "SET #holder = :holder, #until_ms = :until, #epoch = #epoch + :one, \
                #previous_holder = if_not_exists(#holder, :nobody), #status = :running",
            condition: "#status IN (:queued, :running, :paused) \
                AND (attribute_not_exists(#holder) OR #until_ms <= :now)",
            values: values([
                (":holder", text(holder)),
                (":until", number(&until_ms)),
                (":now", number(&now_ms)),
                (":one", number(&1)),
                (":nobody", text("")),
                (":queued", text("queued")),
                (":running", text("running")),
                (":paused", text("paused")),
            ]),
        };
        match self.update_item(change).await? {
            ChangeResult::Done(item) => lease_result(item),
            ChangeResult::Refused(item) if item.is_empty() => Ok(LeaseAcquisition::Unavailable),
            ChangeResult::Refused(item) => {
                let run = RunItem::from_item(item.clone())?;
                // Our own lease, taken by a request with a lost response.
                let is_ours = run.holder.as_deref() == Some(holder);
                if is_ours { lease_result(item) } else { Ok(LeaseAcquisition::Unavailable) }
            }
        }
    }

    async fn renew_lease(
        &self,
        key: &RunKey,
        lease: &Lease,
        until_ms: i64,
        has_open_requests: bool,
    ) -> Result<LeaseRenewal, StoreError> {
        let change = ItemChange {
            key: RunItem::key(key),
            expression: "SET #until_ms = :until, #has_open_requests = :open",
            condition: STILL_OURS,
            values: values([
                (":until", number(&until_ms)),
                (":open", AttributeValue::Bool(has_open_requests)),
                (":holder", text(&lease.holder)),
                (":epoch", number(&lease.epoch)),
            ]),
        };
        match self.update_item(change).await? {
            ChangeResult::Done(_) => Ok(LeaseRenewal::Renewed),
            ChangeResult::Refused(_) => Ok(LeaseRenewal::Lost),
        }
    }

    async fn release_lease(
        &self,
        key: &RunKey,
        lease: &Lease,
        status: RunStatus,
        note: Option<LeaseNote<'_>>,
    ) -> Result<(), StoreError> {
        let mut values = values([
            (":holder", text(&lease.holder)),
            (":epoch", number(&lease.epoch)),
            (":status", text(status.as_str())),
        ]);
        let expression = match note {
            Some(LeaseNote { head, has_open_requests }) => {
                let open = AttributeValue::Bool(has_open_requests);
                values.insert(":open".to_owned(), open);
                values.insert(":records".to_owned(), number(&head.records));
                values.insert(":hash".to_owned(), text(&head.hash));
                "SET #status = :status, #has_open_requests = :open, #records = :records, #hash = :hash \
                    REMOVE #holder, #until_ms"
            }
            None => "SET #status = :status REMOVE #holder, #until_ms",
        };
        let key = RunItem::key(key);
        let change = ItemChange { key, expression, condition: STILL_OURS, values };
        match self.update_item(change).await? {
            ChangeResult::Done(_) | ChangeResult::Refused(_) => Ok(()),
        }
    }
}

const STILL_OURS: &str = "#holder = :holder AND #epoch = :epoch";

fn lease_result(item: Attributes) -> Result<LeaseAcquisition, StoreError> {
    let run = RunItem::from_item(item)?;
    Ok(match run.lease() {
        Some(lease) => LeaseAcquisition::Acquired { lapsed: run.is_lapsed(), lease },
        None => LeaseAcquisition::Unavailable,
    })
}
