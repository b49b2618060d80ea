//! Deleting a session and everything of it.
//!
//! What is needed to find the rest goes last, at every level, so that a deletion that was
//! interrupted finds what is left when it is made again. What a question that comes meanwhile writes
//! has other keys, or fails the condition.

use std::collections::BTreeSet;

use djinn_core::entry::Event;
use djinn_core::id::{RunId, SessionId, TaskId};
use djinn_core::session::SharedSession;
use djinn_runtime::port::catalog::{Forgotten, UserKey};
use djinn_runtime::port::journal::{Journals, SessionKey};
use djinn_runtime::port::page::PageSize;
use djinn_runtime::port::{RunKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use crate::change::{Change, number, text, values};
use crate::file::Folder;
use crate::item::places::uploads_of;
use crate::item::request::RequestItem;
use crate::item::run::RunItem;
use crate::item::session::SessionItem;
use crate::item::user_run::UserRunItem;
use crate::item::user_session::UserSessionItem;
use crate::object::run_prefix;
use crate::query::{Query, after_family};
use crate::store::AwsStore;
use crate::table::{
    Attributes, EXPECTED, FILE, Key, LIVE_SHARDS, META, PARTITION, RUN, SORT, live_partition,
    run_partition, run_place, session_partition,
};
use crate::table::{FIRST_SORT, LAST_SORT};

/// Items or objects that are deleted at once.
const AT_ONCE: usize = 16;

/// What is forgotten of a session.
struct Forgetting {
    session: SessionKey,
    /// Its runs' turns.
    turns: Vec<Attributes>,
    /// When its newest run was asked, Unix milliseconds.
    newest_at_ms: i64,
}

impl AwsStore {
    pub(super) async fn forget(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> Result<Forgotten, StoreError> {
        let listed = self.get(UserSessionItem::key(&user.tenant, &user.user, session)).await?;
        let Some(listed) = listed.map(UserSessionItem::from_item).transpose()? else {
            return Ok(Forgotten::Unknown);
        };
        let session = user.session(session);
        if let Some((active, _)) = self.active_run(&session).await? {
            return Ok(Forgotten::Busy(active.run));
        }
        let turns = self.query(Query::family(session_partition(&session), RUN)).await?;
        let mut forgetting =
            Forgetting { session, turns: Vec::new(), newest_at_ms: listed.newest_at_ms };
        for turn in turns {
            forgetting.add(turn);
        }
        self.forget_turns(&forgetting).await?;
        self.forget_files(&forgetting.session).await?;
        self.forget_shares(&forgetting.session).await?;
        self.forget_lists(forgetting).await?;
        Ok(Forgotten::Done)
    }

    /// Its runs, and after each its turn, which leads to it.
    async fn forget_turns(&self, forgetting: &Forgetting) -> Result<(), StoreError> {
        for turn in &forgetting.turns {
            if let Some(run) = run_of(turn) {
                self.forget_run(&RunKey::new(forgetting.session.tenant.clone(), run)).await?;
            }
            self.remove(everything(key_of(turn))).await?;
        }
        Ok(())
    }

    /// A run, its tasks, and where lists and labels name it; its metadata last.
    async fn forget_run(&self, key: &RunKey) -> Result<(), StoreError> {
        let Some(item) = self.get(RunItem::key(key)).await? else { return Ok(()) };
        let run = RunItem::from_item(item)?;
        for task in self.tasks_of(key).await? {
            self.forget_partition(run_partition(&key.with_task(task))).await?;
        }
        for shard in 0..LIVE_SHARDS {
            self.forget_partition(live_partition(key, shard)).await?;
        }
        self.forget_objects(&run_prefix(key)).await?;
        let name = SharedSession::name_of(run.shared.as_ref(), &run.session);
        let user = UserKey { tenant: key.tenant.clone(), user: run.user.clone() };
        self.remove(Change {
            key: RequestItem::key(&user, &run.request),
            expression: "",
            condition: "#session = :session",
            values: values([(":session", text(&name))]),
        })
        .await?;
        let listed = UserRunItem::key(&key.tenant, &run.user, run.started_at_ms, &key.run);
        self.remove(everything(listed)).await?;
        self.forget_partition(run_partition(key)).await
    }

    /// The tasks of a run. Of one that cannot be read, they are left to expire.
    async fn tasks_of(&self, key: &RunKey) -> Result<BTreeSet<TaskId>, StoreError> {
        let (mut tasks, mut from, mut size) = (BTreeSet::new(), 0, PageSize::FOLDED);
        loop {
            let page = match self.read_page(key, from, size).await {
                Ok(page) => page,
                Err(error) if error.may_pass() => return Err(error),
                Err(_) => return Ok(BTreeSet::new()),
            };
            size = size.after(&page);
            let Some(last) = page.records.last() else { return Ok(tasks) };
            from = last.n + 1;
            let entries = page.records.into_iter().flat_map(|record| record.entries);
            tasks.extend(entries.filter_map(|entry| {
                let Event::TaskStarted { task, .. } = entry.event else { return None };
                Some(task)
            }));
            if !page.more {
                return Ok(tasks);
            }
        }
    }

    async fn forget_files(&self, session: &SessionKey) -> Result<(), StoreError> {
        for prefix in Folder::from(session).prefixes() {
            self.forget_objects(&prefix).await?;
        }
        let query = Query::range(session_partition(session), EXPECTED, after_family(FILE));
        self.forget_items(self.query(query).await?).await?;
        self.remove(everything(uploads_of(session))).await
    }

    /// The session itself, and where its owner's list names it, unless another run has begun.
    async fn forget_lists(&self, forgetting: Forgetting) -> Result<(), StoreError> {
        let Forgetting { session, newest_at_ms, .. } = forgetting;
        self.remove(Change {
            key: SessionItem::key(&session),
            expression: "",
            condition: "attribute_not_exists(#active)",
            values: Attributes::new(),
        })
        .await?;
        self.remove(Change {
            key: UserSessionItem::key(&session.tenant, &session.owner, &session.session),
            expression: "",
            condition: "#newest_at_ms <= :newest",
            values: values([(":newest", number(&newest_at_ms))]),
        })
        .await
    }

    /// Every item of a partition, its metadata last.
    async fn forget_partition(&self, partition: String) -> Result<(), StoreError> {
        let all = Query::range(partition, FIRST_SORT, LAST_SORT);
        let is_meta = |item: &Attributes| key_of(item).sk == META;
        let (meta, rest) = self.query(all).await?.into_iter().partition(is_meta);
        self.forget_items(rest).await?;
        self.forget_items(meta).await
    }

    async fn forget_items(&self, items: Vec<Attributes>) -> Result<(), StoreError> {
        stream::iter(items)
            .map(Ok)
            .try_for_each_concurrent(AT_ONCE, |item| self.remove(everything(key_of(&item))))
            .await
    }

    async fn forget_objects(&self, prefix: &str) -> Result<(), StoreError> {
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

impl Forgetting {
    fn add(&mut self, turn: Attributes) {
        let started = run_place(&key_of(&turn).sk).map(|place| place.started_at_ms);
        self.newest_at_ms = self.newest_at_ms.max(started.unwrap_or_default());
        self.turns.push(turn);
    }
}

/// The deletion of an item, whatever it holds.
fn everything(key: Key) -> Change<'static> {
    Change { key, expression: "", condition: "", values: Attributes::new() }
}

fn key_of(item: &Attributes) -> Key {
    let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
    Key::new(text(PARTITION).unwrap_or_default(), text(SORT).unwrap_or_default())
}

fn run_of(turn: &Attributes) -> Option<RunId> {
    run_place(&key_of(turn).sk).map(|place| place.run)
}
