//! Deletion of a session with all contents.
//!
//! At every level, items that lead to others are deleted last, so a repeated deletion finds the remaining
//! items after an interruption. A concurrent question writes under other keys, or fails its condition.

use std::collections::BTreeSet;

use djinn_core::entry::Event;
use djinn_core::id::{ChildId, SessionId};
use djinn_core::session::SharedSession;
use djinn_runtime::port::catalog::SessionDeletion;
use djinn_runtime::port::file_url::Folder;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::page::PageSize;
use djinn_runtime::port::{RunKey, SessionKey, StoreError, UserKey};
use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};

use crate::change::{ItemChange, number, text, values};
use crate::file::all_prefixes;
use crate::item::memory::MemoryItem;
use crate::item::permits::uploads_key;
use crate::item::request::RequestItem;
use crate::item::run::RunItem;
use crate::item::session::SessionItem;
use crate::item::user_run::UserRunItem;
use crate::item::user_session::UserSessionItem;
use crate::key::{
    Attributes, EXPECTED, FILE, ItemKey, LIVE_SHARDS, META, PARTITION, RUN, SORT, live_partition,
    parse_run_sort, run_partition, session_partition,
};
use crate::key::{FIRST_SORT, LAST_SORT};
use crate::object::run_prefix;
use crate::query::{Query, after_prefix};
use crate::store::AwsStore;

/// Maximum number of concurrent deletions.
const AT_ONCE: usize = 16;

/// The parts of a session to delete.
struct SessionRemoval {
    session: SessionKey,
    /// All items of the session's ended runs, one for each run.
    turns: Vec<Attributes>,
    /// The start of the newest run, Unix milliseconds.
    newest_at_ms: i64,
}

impl AwsStore {
    pub(super) async fn delete_session_items(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> Result<SessionDeletion, StoreError> {
        let entry = self.get_item(UserSessionItem::key(&user.tenant, &user.user, session)).await?;
        let Some(entry) = entry.map(UserSessionItem::from_item).transpose()? else {
            return Ok(SessionDeletion::Unknown);
        };
        let session = user.session_key(session);
        if let Some((active, _)) = self.active_run(&session).await? {
            return Ok(SessionDeletion::Busy(active.run));
        }
        let turns = self.query_items(Query::with_prefix(session_partition(&session), RUN)).await?;
        let places = turns.iter().filter_map(|turn| parse_run_sort(&key_of(turn).sk));
        let starts = places.map(|place| place.started_at_ms);
        let newest_at_ms = starts.fold(entry.newest_at_ms, i64::max);
        let forgetting = SessionRemoval { session, turns, newest_at_ms };
        // Deleted first: a summary must not survive its runs.
        self.delete_item(deletion_of(MemoryItem::key(&forgetting.session))).await?;
        self.delete_turns(&forgetting).await?;
        self.delete_files(&forgetting.session).await?;
        self.delete_shares(&forgetting.session).await?;
        self.delete_list_items(forgetting).await?;
        Ok(SessionDeletion::Done)
    }

    /// Deletes the session's runs. Each turn is deleted after its run, because the turn leads to the run.
    async fn delete_turns(&self, forgetting: &SessionRemoval) -> Result<(), StoreError> {
        for turn in &forgetting.turns {
            if let Some(place) = parse_run_sort(&key_of(turn).sk) {
                let run = RunKey::new(forgetting.session.tenant.clone(), place.run);
                self.delete_run(&run).await?;
            }
            self.delete_item(deletion_of(key_of(turn))).await?;
        }
        Ok(())
    }

    /// Deletes a run with all children, list entries and labels; the metadata goes last.
    async fn delete_run(&self, key: &RunKey) -> Result<(), StoreError> {
        let Some(item) = self.get_item(RunItem::key(key)).await? else { return Ok(()) };
        let run = RunItem::from_item(item)?;
        self.delete_children(key).await?;
        for shard in 0..LIVE_SHARDS {
            self.delete_partition(live_partition(key, shard)).await?;
        }
        self.delete_objects(&run_prefix(key)).await?;
        let name = SharedSession::name_of(run.shared.as_ref(), &run.session);
        let user = UserKey { tenant: key.tenant.clone(), user: run.user.clone() };
        self.delete_item(ItemChange {
            key: RequestItem::key(&user, &run.request),
            expression: "",
            condition: "#session = :session",
            values: values([(":session", text(&name))]),
        })
        .await?;
        let list_key = UserRunItem::key(&key.tenant, &run.user, run.started_at_ms, &key.run);
        self.delete_item(deletion_of(list_key)).await?;
        self.delete_partition(run_partition(key)).await
    }

    /// Deletes all descendants of a run, deepest first, because a journal leads to its children.
    fn delete_children<'a>(&'a self, key: &'a RunKey) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            for child in self.find_children(key).await? {
                let child = key.with_child(child);
                self.delete_children(&child).await?;
                self.delete_partition(run_partition(&child)).await?;
            }
            Ok(())
        })
    }

    /// Returns the children of a run. Children of an unreadable run are left to expire.
    async fn find_children(&self, key: &RunKey) -> Result<BTreeSet<ChildId>, StoreError> {
        let mut children = BTreeSet::new();
        let mut from = 0;
        let mut size = PageSize::FOR_FOLD;
        loop {
            let page = match self.read_page(key, from, size).await {
                Ok(page) => page,
                Err(error) if error.is_temporary() => return Err(error),
                Err(_) => return Ok(BTreeSet::new()),
            };
            size = size.next_size(&page);
            let Some(last) = page.records.last() else { return Ok(children) };
            from = last.number + 1;
            let entries = page.records.into_iter().flat_map(|record| record.entries);
            children.extend(entries.filter_map(|entry| {
                let Event::ChildStarted { child, .. } = entry.event else { return None };
                Some(child)
            }));
            if !page.has_more {
                return Ok(children);
            }
        }
    }

    async fn delete_files(&self, session: &SessionKey) -> Result<(), StoreError> {
        for prefix in all_prefixes(&Folder::from(session)) {
            self.delete_objects(&prefix).await?;
        }
        let query = Query::range(session_partition(session), EXPECTED, after_prefix(FILE));
        self.delete_items(self.query_items(query).await?).await?;
        self.delete_item(deletion_of(uploads_key(session))).await
    }

    /// Deletes the session's metadata and the entry in its owner's list, unless a new run has started.
    async fn delete_list_items(&self, forgetting: SessionRemoval) -> Result<(), StoreError> {
        let SessionRemoval { session, newest_at_ms, .. } = forgetting;
        self.delete_item(ItemChange {
            key: SessionItem::key(&session),
            expression: "",
            condition: "attribute_not_exists(#active)",
            values: Attributes::new(),
        })
        .await?;
        self.delete_item(ItemChange {
            key: UserSessionItem::key(&session.tenant, &session.owner, &session.session),
            expression: "",
            condition: "#newest_at_ms <= :newest",
            values: values([(":newest", number(&newest_at_ms))]),
        })
        .await
    }

    /// Deletes every item of a partition, metadata last.
    async fn delete_partition(&self, partition: String) -> Result<(), StoreError> {
        let all = Query::range(partition, FIRST_SORT, LAST_SORT);
        let is_meta = |item: &Attributes| key_of(item).sk == META;
        let (meta, rest) = self.query_items(all).await?.into_iter().partition(is_meta);
        self.delete_items(rest).await?;
        self.delete_items(meta).await
    }

    async fn delete_items(&self, items: Vec<Attributes>) -> Result<(), StoreError> {
        stream::iter(items)
            .map(Ok)
            .try_for_each_concurrent(AT_ONCE, |item| self.delete_item(deletion_of(key_of(&item))))
            .await
    }

    async fn delete_objects(&self, prefix: &str) -> Result<(), StoreError> {
        let objects = self.list_objects(prefix, None).await?;
        stream::iter(objects)
            .map(Ok)
            .try_for_each_concurrent(
                AT_ONCE,
                |(key, _)| async move { self.delete_object(&key).await },
            )
            .await
    }
}

/// Returns the unconditional deletion of an item.
fn deletion_of(key: ItemKey) -> ItemChange<'static> {
    ItemChange { key, expression: "", condition: "", values: Attributes::new() }
}

fn key_of(item: &Attributes) -> ItemKey {
    let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
    ItemKey::new(text(PARTITION).unwrap_or_default(), text(SORT).unwrap_or_default())
}
