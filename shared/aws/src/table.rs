//! The whole table on one screen.

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
use crate::item::session::SessionItem;
use crate::item::share::ShareItem;
use crate::item::user_run::UserRunItem;
use crate::item::user_session::UserSessionItem;
use crate::key::{
    ACTIVE, Attributes, CALLS, DAY, EXPIRES, MEMORY, META, MINUTE, PARTITION, REQUEST, SESSION,
    SHARE, SORT, STREAMS, UPLOADS,
};

/// Everything in the table: partition key, sort key, whose it is, and whether it changes. Every
/// partition key starts with `<tenant>#`, left out here. Stored names are never reused.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TableItem {
    /// `RUN#<run>` / `META`
    /// where the run stands, its session, its lease. Changed by lease, status and watchers, each
    /// under a condition of its own.
    Run(Box<RunItem>),
    /// `RUN#<run>` / `J#<n, 10 digits>`
    /// a journal record: inputs and entries, or the pointer to them; of a child's first one the pointer
    /// to what it shares with its round. Written once.
    Record(RecordItem),
    /// `RUN#<run>` / `IN#<mail id>`
    /// a message to the run, or the pointer to it. Replaced by one of the same id, deleted once it is recorded.
    Mail(MailItem),
    /// `LIVE#<run>#<shard>` / `<time, 13 digits>#<writer>#<offset, 10 digits>`
    /// previews for viewers. Written once, expires within minutes.
    Live(LiveItem),
    /// `SESSION#<hash of owner>#<session>` / `META`
    /// the run that is being answered. Changed only with the run it names.
    Session(SessionItem),
    /// `SESSION#<hash of owner>#<session>` / `RUN#<started ms, 13 digits>#<run>`
    /// an ended run: its status, and its question and answer, or the pointer to them. Written once.
    Exchange(ExchangeItem),
    /// `SESSION#<hash of owner>#<session>` / `MEMORY`
    /// the summary of a session's oldest exchanges, or the pointer to it. Replaced by the end of each run that made one.
    Memory(MemoryItem),
    /// `SESSION#<hash of owner>#<session>` / `FILE#<name>`
    /// the newest content of a product file. Replaced by writing the file again.
    File(FileItem),
    /// `SESSION#<hash of owner>#<session>` / `EXPECTED#<name>`
    /// a file that a client was given an upload URL for. Becomes a `File` once its bytes are there.
    ExpectedFile(ExpectedFileItem),
    /// `SESSION#<hash of owner>#<session>` / `UPLOADS`
    /// the upload URLs that were given out and may still be used. Changed by each one, under a condition,
    /// and by the arrival of its file.
    Uploads(PermitsItem),
    /// `SHARE#<handle>` / `META`, and `SESSION#<hash of owner>#<session>` / `SHARE#<handle>`
    /// a share: the handle leads to the session, and the session to its handles. Written once, both
    /// together; expires with the session as it stood then.
    Share(ShareItem),
    /// `USER#<user>` / `REQUEST#<request label>`
    /// the session in which a user asked the newest request of that label. The last writer wins.
    Request(RequestItem),
    /// `USER#<user>` / `SESSION#<session>`
    /// one of a user's conversations. Changed by each run of it.
    UserSession(UserSessionItem),
    /// `USER#<user>` / `RUN#<started ms, 13 digits>#<run>`
    /// one of a user's runs: its status as of its start, then of its end.
    UserRun(UserRunItem),
    /// `USER#<user>` / `DAY#<yyyy-mm-dd>`
    /// what a user's model calls used up in a day, and what is held for those at work. Changed by each
    /// call, under a condition; there is none where days have no budget.
    Day(DayItem),
    /// `USER#<user>` / `MINUTE#<minute since 1970>`
    /// how many runs a user started in a minute. Changed by each, under a condition; expires within
    /// hours. There is none where minutes have no bound.
    Minute(MinuteItem),
    /// `USER#<user>` / `ACTIVE`
    /// the user's runs at work. Changed by each one's start, under a condition, and end; there is none
    /// where their number has no bound.
    Active(ActiveItem),
    /// `USER#<user>` / `STREAMS`
    /// the responses that are streamed to the user. Changed by each one's beginning, under a condition, and
    /// end; there is none where their number has no bound.
    Streams(PermitsItem),
    /// `TOOL#<hash of user>#<tool>` / `CALLS`
    /// what the newest calls of a tool came to. Changed by each invocation that made some, of runs that
    /// ask people; expires after three months without any.
    Calls(CallsItem),
}

/// What creating the table needs to know. `template.yaml` and the local store agree with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableDefinition {
    /// The partition key, a string.
    pub partition_key: &'static str,
    /// The sort key, a string.
    pub sort_key: &'static str,
    /// The attribute that holds an item's expiry in Unix seconds.
    pub expiry: &'static str,
    /// How the table is paid for.
    pub billing_mode: &'static str,
}

/// The table's definition. It has no index and no stream.
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
    /// Reads any item by its key; `None` for one of a kind that newer code may have added.
    ///
    /// # Errors
    /// `Unreadable` for attributes that do not fit the key.
    pub(crate) fn from_item(item: Attributes) -> Result<Option<Self>, StoreError> {
        let text = |name: &str| item.get(name).and_then(|v| v.as_s().ok()).map(String::as_str);
        let (pk, sk) = (text(PARTITION).unwrap_or_default(), text(SORT).unwrap_or_default());
        let kind = pk.split('#').nth(1).unwrap_or_default();
        let family = sk.split_once('#').map_or(sk, |(family, _)| family);
        let read = match (kind, family) {
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
            ("SESSION", SHARE) | ("SHARE", META) => Self::Share(ShareItem::from_item(item)?),
            ("USER", REQUEST) => Self::Request(RequestItem::from_item(item)?),
            ("USER", SESSION) => Self::UserSession(UserSessionItem::from_item(item)?),
            ("USER", DAY) => Self::Day(DayItem::from_item(&item)?),
            ("USER", MINUTE) => Self::Minute(MinuteItem::from_item(item)?),
            ("USER", STREAMS) => Self::Streams(PermitsItem::from_item(&item)?),
            ("USER", ACTIVE) => Self::Active(ActiveItem::from_item(&item)?),
            ("TOOL", CALLS) => Self::Calls(CallsItem::from_item(item)?),
            ("USER", "RUN") => Self::UserRun(UserRunItem::from_item(item)?),
            _ => return Ok(None),
        };
        Ok(Some(read))
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
