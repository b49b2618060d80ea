//! Leases: updates of a run's metadata.

use djinn_core::status::RunStatus;
use djinn_runtime::port::journal::Lease;
use djinn_runtime::port::lease::{Leases, Renewed, Taken};
use djinn_runtime::port::{RunKey, StoreError};

use crate::change::{Change, number, text, values};
use crate::item::run::RunItem;
use crate::store::{AwsStore, Changed};
use crate::table::Attributes;

impl Leases for AwsStore {
    async fn take_lease(
        &self,
        key: &RunKey,
        holder: &str,
        now_ms: i64,
        until_ms: i64,
    ) -> Result<Taken, StoreError> {
        let change = Change {
            key: RunItem::key(key),
            expression: "SET #holder = :holder, #until_ms = :until, #epoch = #epoch + :one, \
                #taken_from = if_not_exists(#holder, :nobody), #status = :running",
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
        match self.change(change).await? {
            Changed::Done(item) => taken(item),
            Changed::Refused(item) if item.is_empty() => Ok(Taken::Held),
            Changed::Refused(item) => {
                let run = RunItem::from_item(item.clone())?;
                // Our own, taken by a request whose reply was lost.
                let is_ours = run.holder.as_deref() == Some(holder);
                if is_ours { taken(item) } else { Ok(Taken::Held) }
            }
        }
    }

    async fn renew_lease(
        &self,
        key: &RunKey,
        lease: &Lease,
        until_ms: i64,
    ) -> Result<Renewed, StoreError> {
        let change = Change {
            key: RunItem::key(key),
            expression: "SET #until_ms = :until",
            condition: STILL_OURS,
            values: values([
                (":until", number(&until_ms)),
                (":holder", text(&lease.holder)),
                (":epoch", number(&lease.epoch)),
            ]),
        };
        match self.change(change).await? {
            Changed::Done(item) => {
                let watched_until_ms = RunItem::from_item(item)?.watched_until_ms;
                Ok(Renewed::Ours { watched_until_ms })
            }
            Changed::Refused(_) => Ok(Renewed::Lost),
        }
    }

    async fn release_lease(
        &self,
        key: &RunKey,
        lease: &Lease,
        status: RunStatus,
    ) -> Result<(), StoreError> {
        let change = Change {
            key: RunItem::key(key),
            expression: "SET #status = :status REMOVE #holder, #until_ms",
            condition: STILL_OURS,
            values: values([
                (":holder", text(&lease.holder)),
                (":epoch", number(&lease.epoch)),
                (":status", text(status.as_str())),
            ]),
        };
        match self.change(change).await? {
            Changed::Done(_) | Changed::Refused(_) => Ok(()),
        }
    }
}

const STILL_OURS: &str = "#holder = :holder AND #epoch = :epoch";

fn taken(item: Attributes) -> Result<Taken, StoreError> {
    let run = RunItem::from_item(item)?;
    Ok(match run.lease() {
        Some(lease) => Taken::Ours { lapsed: run.lapsed(), lease },
        None => Taken::Held,
    })
}
