//! Partition keys and sort keys of items.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_core::id::{
    FileName, KeyName, RequestId, RunId, SessionId, ShareHandle, TenantId, UserId, sha256_hex,
};
use djinn_runtime::port::call_history::ToolKey;
use djinn_runtime::port::catalog::RunPosition;
use djinn_runtime::port::{RunKey, SessionKey, UserKey};

/// An item's attributes in DynamoDB.
pub(crate) type Attributes = HashMap<String, AttributeValue>;

/// The number of partitions for a run's live log. A partition takes 1 000 units of 1 KB a second; a run's
/// writers add 1 200 together, twice as many at worst. Readers read all partitions.
pub(crate) const LIVE_SHARDS: u64 = 4;

/// The names of the key attributes and of the expiry attribute (Unix seconds).
pub(crate) const PARTITION: &str = "pk";
pub(crate) const SORT: &str = "sk";
pub(crate) const EXPIRES: &str = "expires";

/// Returns the prefix of a tenant's objects. The bucket's lifecycle rule expires keys below `tenants/`, never
/// below `config/`.
pub(crate) fn tenant_prefix(tenant: &TenantId) -> String {
    format!("tenants/{tenant}/")
}

/// The key of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ItemKey {
    pub(crate) pk: String,
    pub(crate) sk: String,
}

impl ItemKey {
    pub(crate) fn new(pk: String, sk: impl Into<String>) -> Self {
        Self { pk, sk: sk.into() }
    }

    pub(crate) fn into_attributes(self) -> Attributes {
        HashMap::from([
            (PARTITION.to_owned(), AttributeValue::S(self.pk)),
            (SORT.to_owned(), AttributeValue::S(self.sk)),
        ])
    }
}

/// Returns a run's partition: META, journal and mailbox.
pub(crate) fn run_partition(run: &RunKey) -> String {
    if run.is_root() {
        format!("{}#RUN#{}", run.tenant, run.run)
    } else {
        format!("{}#CHILD#{}#{}", run.tenant, run.run, run.path)
    }
}

/// Returns a session's partition: META, exchanges and files.
pub(crate) fn session_partition(session: &SessionKey) -> String {
    let SessionKey { tenant, owner, session } = session;
    format!("{tenant}#SESSION#{}#{session}", user_hash(owner))
}

/// Returns the partition of a share.
pub(crate) fn share_partition(tenant: &TenantId, handle: &ShareHandle) -> String {
    format!("{tenant}#SHARE#{handle}")
}

/// Returns the partition of a tool.
pub(crate) fn tool_partition(tool: &ToolKey) -> String {
    let UserKey { tenant, user } = &tool.user;
    format!("{tenant}#TOOL#{}#{}", user_hash(user), tool.tool)
}

/// Returns a user's hash for composed keys: fixed length, only hexadecimal digits.
pub(crate) fn user_hash(user: &UserId) -> String {
    short_hash(user.as_str())
}

/// Returns the first 32 digits of a text's SHA-256.
pub(crate) fn short_hash(text: &str) -> String {
    let mut hash = sha256_hex(text.as_bytes());
    hash.truncate(32);
    hash
}

/// Returns the partition of a user's lists.
pub(crate) fn user_partition(tenant: &TenantId, user: &UserId) -> String {
    format!("{tenant}#USER#{user}")
}

/// Returns the start of live-log positions written at this moment; positions sort by time.
pub(crate) fn live_moment(at_ms: i64) -> String {
    format!("{:013}", at_ms.max(0))
}

/// Returns a partition of a run's live log.
pub(crate) fn live_partition(run: &RunKey, shard: u64) -> String {
    format!("{}#LIVE#{}#{shard}", run.tenant, run.run)
}

pub(crate) const META: &str = "META";
pub(crate) const RECORD: &str = "J#";
pub(crate) const MAIL: &str = "IN#";
pub(crate) const RUN: &str = "RUN#";
pub(crate) const FILE: &str = "FILE#";
pub(crate) const EXPECTED: &str = "EXPECTED#";
pub(crate) const MEMORY: &str = "MEMORY";
pub(crate) const SESSION: &str = "SESSION";
pub(crate) const REQUEST: &str = "REQUEST";
pub(crate) const KEY: &str = "KEY";
pub(crate) const SHARE: &str = "SHARE";
pub(crate) const DAY: &str = "DAY";
pub(crate) const MINUTE: &str = "MINUTE";
pub(crate) const ACTIVE: &str = "ACTIVE";
pub(crate) const STREAMS: &str = "STREAMS";
pub(crate) const UPLOADS: &str = "UPLOADS";
pub(crate) const CALLS: &str = "CALLS";

/// The first and the last sort key: before and after all others.
pub(crate) const FIRST_SORT: &str = "!";
pub(crate) const LAST_SORT: &str = "~";

/// Returns a record's sort key. Numbers above 9 999 999 999 do not occur.
pub(crate) fn record_sort(n: u64) -> String {
    format!("{RECORD}{n:010}")
}

/// Sorts by start, for the session's exchanges and the user's runs.
pub(crate) fn run_sort(started_at_ms: i64, run: &RunId) -> String {
    format!("{RUN}{:013}#{run}", started_at_ms.max(0))
}

/// Parses the run of a [`run_sort`] sort key.
pub(crate) fn parse_run_sort(sort: &str) -> Option<RunPosition> {
    let (start_ms, run) = sort.strip_prefix(RUN)?.split_once('#')?;
    Some(RunPosition { started_at_ms: start_ms.parse().ok()?, run: RunId::new(run).ok()? })
}

pub(crate) fn file_sort(name: &FileName) -> String {
    format!("{FILE}{name}")
}

pub(crate) fn expected_sort(name: &FileName) -> String {
    format!("{EXPECTED}{name}")
}

/// Returns the start of the sort keys of a user's keys of this name.
pub(crate) fn key_prefix(name: &KeyName) -> String {
    format!("{KEY}#{name}#")
}

/// Returns the sort key of a user's key for an origin.
pub(crate) fn key_sort(name: &KeyName, origin: &str) -> String {
    format!("{}{}", key_prefix(name), short_hash(origin))
}

pub(crate) fn share_sort(handle: &ShareHandle) -> String {
    format!("{SHARE}#{handle}")
}

/// Sorts by creation, for the shares with a user.
pub(crate) fn guest_share_sort(created_at_ms: i64, handle: &ShareHandle) -> String {
    format!("{SHARE}#{:013}#{handle}", created_at_ms.max(0))
}

pub(crate) fn request_sort(label: &RequestId) -> String {
    format!("{REQUEST}#{label}")
}

pub(crate) fn user_session_sort(session: &SessionId) -> String {
    format!("{SESSION}#{session}")
}
