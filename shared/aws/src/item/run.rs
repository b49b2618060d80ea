//! `RUN#<run>` / `META`: a run's state, readable without the journal.

use djinn_core::id::{RequestId, SessionId, TenantId, UserId, WriteId};
use djinn_core::journal::{ChainHead, RecordHash};
use djinn_core::session::SharedSession;
use djinn_core::status::RunStatus;
use djinn_runtime::port::journal::{Lease, RunMeta};
use djinn_runtime::port::{RunKey, SessionKey, StoreError};
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::key::{Attributes, ItemKey, META, run_partition};

/// Extra retention of a run's metadata after its journal, in seconds: 400 days minus the journal's 30.
const META_OUTLIVES_S: i64 = 370 * 24 * 60 * 60;

/// Returns the expiry of a run's metadata and of all items that refer to the run.
pub(crate) fn meta_expiry(journal_expires_at_s: i64) -> i64 {
    journal_expires_at_s.saturating_add(META_OUTLIVES_S)
}

/// A run's metadata. The lease is held while `holder` is set and `until_ms` is in the future.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunItem {
    pub(crate) status: RunStatus,
    pub(crate) mode: String,
    /// The session, by its owner's label.
    pub(crate) session: SessionId,
    /// The share used by the asker, if another user owns the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shared: Option<SharedSession>,
    pub(crate) user: UserId,
    pub(crate) request: RequestId,
    /// SHA-256 of the request's body.
    pub(crate) body_hash: String,
    /// The write that created the run. A creator recognizes its own run by this id after a lost response.
    pub(crate) write: WriteId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) holder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until_ms: Option<i64>,
    /// Counts the changes of drivers; kept when the lease is released.
    pub(crate) epoch: u64,
    /// The holder of an unreleased lease before the present holder's take-over; empty if released.
    #[serde(default)]
    pub(crate) previous_holder: String,
    /// True if users had open requests at the last renewal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_open_requests: bool,
    pub(crate) started_at_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at_ms: Option<i64>,
    /// True if a client has received the end.
    #[serde(default)]
    pub(crate) end_shown: bool,
    /// The run's outline as JSON; empty if there is no outline.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) outline: String,
    /// The number of records at the last release of a lease, or at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) records: Option<u64>,
    /// The hash of the last one of these records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hash: Option<RecordHash>,
    pub(crate) expires: i64,
}

impl RunItem {
    pub(crate) fn key(run: &RunKey) -> ItemKey {
        ItemKey::new(run_partition(run), META)
    }

    pub(crate) fn to_item(&self, run: &RunKey) -> Result<Attributes, StoreError> {
        write_item(Self::key(run), self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }

    /// Returns the lease, or `None` after a release.
    pub(crate) fn lease(&self) -> Option<Lease> {
        let holder = self.holder.clone()?;
        Some(Lease { holder, until_ms: self.until_ms?, epoch: self.epoch })
    }

    /// Returns the run's session, in the tenant of its key.
    pub(crate) fn session_key(&self, tenant: &TenantId) -> SessionKey {
        let owner = SharedSession::owner_of(self.shared.as_ref(), &self.user).clone();
        SessionKey { tenant: tenant.clone(), owner, session: self.session.clone() }
    }

    /// Returns true if the present holder took over an unreleased lease.
    pub(crate) fn is_lapsed(&self) -> bool {
        !self.previous_holder.is_empty()
    }

    /// Returns the run's metadata for the runtime.
    pub(crate) fn into_meta(self) -> RunMeta {
        let lease = self.lease();
        let chain_head = self.records.zip(self.hash);
        let chain_head = chain_head.map(|(records, hash)| ChainHead { records, hash });
        RunMeta {
            status: self.status,
            mode: self.mode.clone(),
            session: self.session,
            shared: self.shared,
            user: self.user,
            request: self.request,
            body_hash: self.body_hash,
            lease,
            has_open_requests: self.has_open_requests,
            started_at_ms: self.started_at_ms,
            ended_at_ms: self.ended_at_ms,
            end_shown: self.end_shown,
            // An unreadable outline is derived from the journal instead.
            outline: serde_json::from_str(&self.outline).ok(),
            chain_head,
            journal_expires_at_s: self.expires.saturating_sub(META_OUTLIVES_S),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::table::TableItem;
    use aws_sdk_dynamodb::types::AttributeValue;
    use proptest::prelude::*;

    fn item() -> RunItem {
        RunItem {
            status: RunStatus::Running,
            mode: "react".to_owned(),
            session: sample::session().session,
            shared: None,
            user: sample::user(),
            request: RequestId::new("r1").unwrap(),
            body_hash: "hash".into(),
            write: WriteId::new("w1").unwrap(),
            holder: Some("h".into()),
            until_ms: Some(20),
            epoch: 3,
            previous_holder: String::new(),
            has_open_requests: false,
            started_at_ms: 1,
            ended_at_ms: None,
            end_shown: false,
            outline: String::new(),
            records: None,
            hash: None,
            expires: 2,
        }
    }

    proptest! {
        #[test]
        fn round_trips(
            holder in proptest::option::of("[a-z:.0-9]{1,40}"),
            until in proptest::option::of(any::<i64>()),
            epoch in any::<u64>(),
            previous_holder in "[a-z]{0,5}",
            end_shown in any::<bool>(),
            has_open_requests in any::<bool>(),
            times in any::<(i64, Option<i64>, i64)>(),
            status in proptest::sample::select(vec!["queued", "paused", "failed", "stopped"]),
            is_shared in any::<bool>(),
            outline in "[ -~]{0,40}",
            records in proptest::option::of(any::<u64>()),
        ) {
            let run = RunItem {
                status: RunStatus::parse(status).unwrap(),
                holder, until_ms: until, epoch, previous_holder, end_shown, outline, records, has_open_requests,
                hash: records.map(|_| RecordHash::default()),
                started_at_ms: times.0, ended_at_ms: times.1, expires: times.2,
                shared: is_shared.then(sample::shared_session),
                ..item()
            };
            let stored = run.to_item(&sample::run()).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Run(Box::new(run)))));
        }
    }

    #[test]
    fn lies_in_its_tenants_partition() {
        let key = RunItem::key(&sample::run());
        assert_eq!(key.pk, format!("t#RUN#{}", sample::run().run));
        assert_eq!(key.sk, "META");
    }

    #[test]
    fn rejects_a_garbled_item() {
        let mut stored = item().to_item(&sample::run()).unwrap();
        stored.insert("status".into(), AttributeValue::S("asleep".into()));
        let error = RunItem::from_item(stored).unwrap_err().to_string();
        assert!(error.contains("RUN#run_") && error.contains("META"), "{error}");
    }

    #[test]
    fn a_lease_is_there_until_it_is_released_and_its_epoch_stays() {
        let held = item();
        let lease = Lease { holder: "h".into(), until_ms: 20, epoch: 3 };
        assert_eq!(held.lease(), Some(lease));
        let released = RunItem { holder: None, until_ms: None, ..item() };
        assert_eq!((released.lease(), released.epoch), (None, 3));
    }
}
