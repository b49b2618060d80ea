//! The list of all items in the table.

use djinn_runtime::port::StoreError;

use crate::item::active::ActiveItem;
use crate::item::calls::CallsItem;
use crate::item::day::DayItem;
use crate::item::exchange::ExchangeItem;
use crate::item::expected_file::ExpectedFileItem;
use crate::item::file::FileItem;
use crate::item::live::LiveItem;
use crate::item::mail::MailItem;
use crate::item::memory::MemoryItem;
use crate::item::minute::MinuteItem;
use crate::item::permits::PermitsItem;
use crate::item::record::RecordItem;
use crate::item::request::RequestItem;
use crate::item::run::RunItem;
use crate::item::sealed_key::SealedKeyItem;
use crate::item::session::SessionItem;
use crate::item::share::ShareItem;
use crate::item::user_run::UserRunItem;
use crate::item::user_session::UserSessionItem;
use crate::key::{
    ACTIVE, Attributes, CALLS, DAY, EXPIRES, KEY, MEMORY, META, MINUTE, PARTITION, REQUEST,
    SESSION, SHARE, SORT, STREAMS, UPLOADS,
};

/// All items in the table: partition key, sort key, owner, and changes. Every partition key starts with
/// `<tenant>#`, left out here. Stored names are never reused.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TableItem {
    /// `RUN#<run>` / `META`
    /// the run's status, session and lease. Changed by lease, status and watchers, each with its own
    /// condition.
    Run(Box<RunItem>),
    /// `RUN#<run>` / `J#<n, 10 digits>`
    /// a journal record: inputs and entries, or a pointer. A child's first record also points to the part
    /// shared by its round. Written once.
    Record(RecordItem),
    /// `RUN#<run>` / `IN#<mail id>`
    /// a message to the run, or a pointer. Replaced by a message with the same id, deleted after recording.
    Mail(MailItem),
    /// `LIVE#<run>#<shard>` / `<time, 13 digits>#<writer>#<offset, 10 digits>`
    /// previews for viewers. Written once, expires within minutes.
    Live(LiveItem),
    /// `SESSION#<hash of owner>#<session>` / `META`
    /// the active run. Changed only together with this run.
    Session(SessionItem),
    /// `SESSION#<hash of owner>#<session>` / `RUN#<started ms, 13 digits>#<run>`
    /// an ended run: status, question and answer, or a pointer. Written once.
    Exchange(ExchangeItem),
    /// `SESSION#<hash of owner>#<session>` / `MEMORY`
    /// the summary of a session's oldest exchanges, or a pointer. Replaced at the end of each run with a new
    /// summary.
    Memory(MemoryItem),
    /// `SESSION#<hash of owner>#<session>` / `FILE#<name>`
    /// the newest content of a product file. Replaced by writing the file again.
    File(FileItem),
    /// `SESSION#<hash of owner>#<session>` / `EXPECTED#<name>`
    /// a file announced for upload. Becomes a `File` after the upload.
    ExpectedFile(ExpectedFileItem),
    /// `SESSION#<hash of owner>#<session>` / `UPLOADS`
    /// the permits of upload URLs still valid. Changed by each URL, under a condition, and by the arrival of
    /// its file.
    Uploads(PermitsItem),
    /// `SHARE#<handle>` / `META`, `SESSION#<hash of owner>#<session>` / `SHARE#<handle>`, and `USER#<guest>` /
    /// `SHARE#<created ms, 13 digits>#<handle>`
    /// a share, by its handle, by its session, and by its guest unless shared with the tenant. All are written
    /// once, together; the expiry is the session's at this time.
    Share(ShareItem),
    /// `USER#<user>` / `REQUEST#<request label>`
    /// the session of a user's newest request with the label. The last writer wins.
    Request(RequestItem),
    /// `USER#<user>` / `KEY#<name>#<hash of origin>`
    /// a user's key for tools, sealed by the gateway. Replaced by setting the key again; does not expire.
    SealedKey(SealedKeyItem),
    /// `USER#<user>` / `SESSION#<session>`
    /// an entry of a user's sessions. Changed by each run of the session.
    UserSession(UserSessionItem),
    /// `USER#<user>` / `RUN#<started ms, 13 digits>#<run>`
    /// an entry of a user's runs, with the status at the start, then at the end.
    UserRun(UserRunItem),
    /// `USER#<user>` / `DAY#<yyyy-mm-dd>`
    /// the use of a user's model calls in a day, and the holds of active calls. Changed by each call, under a
    /// condition; absent without daily budgets.
    Day(DayItem),
    /// `USER#<user>` / `MINUTE#<minute since 1970>`
    /// the number of a user's runs started in a minute. Changed by each start, under a condition; expires
    /// within hours. Absent without a limit per minute.
    Minute(MinuteItem),
    /// `USER#<user>` / `ACTIVE`
    /// the user's active runs. Changed by each start, under a condition, and by each end; absent without a
    /// limit.
    Active(ActiveItem),
    /// `USER#<user>` / `STREAMS`
    /// the user's streams. Changed by each start, under a condition, and by each end; absent without a limit.
    Streams(PermitsItem),
    /// `TOOL#<hash of user>#<tool>` / `CALLS`
    /// samples of a tool's newest calls. Changed by each invocation with calls, of runs with human requests
    /// enabled. Expires three months after the last call.
    Calls(CallsItem),
}

/// The parameters for creating the table. `template.yaml` and the local store must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableDefinition {
    /// The partition key, a string.
    pub partition_key: &'static str,
    /// The sort key, a string.
    pub sort_key: &'static str,
    /// The attribute with an item's expiry in Unix seconds.
    pub expiry: &'static str,
    /// The table's billing mode.
    pub billing_mode: &'static str,
}

/// Returns the table's definition, without indexes and streams.
#[must_use]
pub fn table_definition() -> TableDefinition {
    TableDefinition {
        partition_key: PARTITION,
        sort_key: SORT,
        expiry: EXPIRES,
        billing_mode: "PAY_PER_REQUEST",
    }
}

impl TableItem {
    /// Reads any item by its key; `None` for a kind unknown to this code.
    ///
    /// # Errors
    /// Returns `Unreadable` if the attributes do not match the key.
    pub(crate) fn from_item(item: Attributes) -> Result<Option<Self>, StoreError> {
        let text = |name: &str| item.get(name).and_then(|v| v.as_s().ok()).map(String::as_str);
        let pk = text(PARTITION).unwrap_or_default();
        let sk = text(SORT).unwrap_or_default();
        let kind = pk.split('#').nth(1).unwrap_or_default();
        let family = sk.split_once('#').map_or(sk, |(family, _)| family);
        let table_item = match (kind, family) {
            ("RUN", "META") => Self::Run(Box::new(RunItem::from_item(item)?)),
            ("RUN", "J") => Self::Record(RecordItem::from_item(item)?),
            ("RUN", "IN") => Self::Mail(MailItem::from_item(item)?),
            ("LIVE", _) => Self::Live(LiveItem::from_item(item)?),
            ("SESSION", "META") => Self::Session(SessionItem::from_item(item)?),
            ("SESSION", "RUN") => Self::Exchange(ExchangeItem::from_item(item)?),
            ("SESSION", MEMORY) => Self::Memory(MemoryItem::from_item(item)?),
            ("SESSION", "FILE") => Self::File(FileItem::from_item(item)?),
            ("SESSION", "EXPECTED") => Self::ExpectedFile(ExpectedFileItem::from_item(item)?),
            ("SESSION", UPLOADS) => Self::Uploads(PermitsItem::from_item(&item)?),
            ("SESSION" | "USER", SHARE) | ("SHARE", META) => {
                Self::Share(ShareItem::from_item(item)?)
            }
            ("USER", REQUEST) => Self::Request(RequestItem::from_item(item)?),
            ("USER", KEY) => Self::SealedKey(SealedKeyItem::from_item(item)?),
            ("USER", SESSION) => Self::UserSession(UserSessionItem::from_item(item)?),
            ("USER", DAY) => Self::Day(DayItem::from_item(&item)?),
            ("USER", MINUTE) => Self::Minute(MinuteItem::from_item(item)?),
            ("USER", STREAMS) => Self::Streams(PermitsItem::from_item(&item)?),
            ("USER", ACTIVE) => Self::Active(ActiveItem::from_item(&item)?),
            ("TOOL", CALLS) => Self::Calls(CallsItem::from_item(item)?),
            ("USER", "RUN") => Self::UserRun(UserRunItem::from_item(item)?),
            _ => return Ok(None),
        };
        Ok(Some(table_item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::key::{ItemKey, run_partition, session_partition};

    #[test]
    fn a_kind_of_newer_code_is_passed_over() {
        let session = session_partition(&sample::session());
        for key in [
            ItemKey::new(session, "FORK#1"),
            ItemKey::new(run_partition(&sample::run()), "K#1"),
            ItemKey::new("t#TEAM#x".to_owned(), META),
            ItemKey::new("t".to_owned(), ""),
        ] {
            assert_eq!(TableItem::from_item(key.into_attributes()), Ok(None));
        }
    }
}
