//! Lists of a user's own: runs, sessions and what was said in one.

mod forget;
mod turns;

use djinn_core::id::SessionId;
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::{
    Catalog, Forgotten, Page, RunPlace, RunSummary, SessionPlace, SessionSummary, Turn, UserKey,
};
use djinn_runtime::port::journal::{Journals, SessionKey};
use djinn_runtime::port::{RunKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use crate::change::{Change, text, values};
use crate::item::user_run::UserRunItem;
use crate::item::user_session::UserSessionItem;
use crate::query::{Query, after_family};
use crate::store::{AwsStore, Changed};
use crate::table::{Attributes, RUN, SESSION, SORT, run_place, run_sort, user_partition};

/// How many of a user's runs one page looks through.
const LOOKED_THROUGH: usize = 1_000;

/// How many of a user's sessions a list is made from.
const LISTED: usize = 10_000;

/// Items that are asked for at once: about one page of a list.
const ASKED_FOR: usize = 101;

/// Runs whose present status is read at once.
const AT_ONCE: usize = 10;

impl Catalog for AwsStore {
    async fn list_runs(
        &self,
        user: &UserKey,
        statuses: &[RunStatus],
        after: Option<&RunPlace>,
        limit: usize,
    ) -> Result<Page<RunSummary, RunPlace>, StoreError> {
        let (mut items, mut next) = (Vec::new(), after.cloned());
        for _ in 0..LOOKED_THROUGH.div_ceil(ASKED_FOR) {
            let partition = user_partition(&user.tenant, &user.user);
            let query = older(partition, next.as_ref(), ASKED_FOR).eventually();
            let mut found = self.query(query).await?;
            let is_last = found.len() < ASKED_FOR;
            found.retain(|item| is_behind(item, next.as_ref()));
            let runs = found.into_iter().map(|item| self.run_summary(user, item));
            let mut runs = stream::iter(runs).buffered(AT_ONCE);
            while let Some(run) = runs.try_next().await? {
                if items.len() == limit {
                    return Ok(Page { items, next });
                }
                next = Some(RunPlace { started_at_ms: run.started_at_ms, run: run.run.clone() });
                if statuses.is_empty() || statuses.contains(&run.status) {
                    items.push(run);
                }
            }
            if is_last {
                return Ok(Page { items, next: None });
            }
        }
        Ok(Page { items, next })
    }

    async fn list_sessions(
        &self,
        user: &UserKey,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Page<SessionSummary, SessionPlace>, StoreError> {
        let family = format!("{SESSION}#");
        let query = Query::family(user_partition(&user.tenant, &user.user), &family);
        let mut sessions = Vec::new();
        for item in self.query(query.at_most(LISTED).eventually()).await? {
            let session = session_summary(item)?;
            if after.is_none_or(|after| place(&session) < *after) {
                sessions.push(session);
            }
        }
        sessions.sort_by_key(|session| std::cmp::Reverse(place(session)));
        let more = sessions.len() > limit;
        sessions.truncate(limit);
        let next = sessions.last().filter(|_| more).map(place);
        Ok(Page { items: sessions, next })
    }

    async fn find_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> Result<Option<SessionSummary>, StoreError> {
        let item = self.get(UserSessionItem::key(&user.tenant, &user.user, session)).await?;
        item.map(session_summary).transpose()
    }

    async fn name_session(
        &self,
        user: &UserKey,
        session: &SessionId,
        title: &str,
    ) -> Result<bool, StoreError> {
        let change = Change {
            key: UserSessionItem::key(&user.tenant, &user.user, session),
            expression: "SET #title = :title",
            condition: "attribute_exists(#session)",
            values: values([(":title", text(title))]),
        };
        Ok(matches!(self.change(change).await?, Changed::Done(_)))
    }

    async fn list_turns(
        &self,
        session: &SessionKey,
        after: Option<&RunPlace>,
        limit: usize,
    ) -> Result<Page<Turn, RunPlace>, StoreError> {
        self.turns(session, after, limit).await
    }

    async fn forget_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> Result<Forgotten, StoreError> {
        self.forget(user, session).await
    }
}

impl AwsStore {
    /// A run of its user's list. The list knows how a run began and ended, and only its metadata
    /// what is between.
    async fn run_summary(
        &self,
        user: &UserKey,
        item: Attributes,
    ) -> Result<RunSummary, StoreError> {
        let item = UserRunItem::from_item(item)?;
        let UserRunItem { run, session, request, title, started_at_ms, .. } = item;
        let (mut status, mut ended_at_ms) = (item.status, item.ended_at_ms);
        if !status.has_ended() {
            let meta = self.meta(&RunKey::new(user.tenant.clone(), run.clone())).await?;
            if let Some(meta) = meta {
                (status, ended_at_ms) = (meta.status, meta.ended_at_ms);
            }
        }
        Ok(RunSummary { run, session, request, title, status, started_at_ms, ended_at_ms })
    }
}

/// Items of runs that are as old as this place or older, newest first.
fn older(partition: String, after: Option<&RunPlace>, limit: usize) -> Query {
    let to = match after {
        Some(place) => run_sort(place.started_at_ms, &place.run),
        None => after_family(RUN),
    };
    Query::range(partition, RUN, to).newest(limit)
}

/// Whether an item's run is older than this place.
fn is_behind(item: &Attributes, after: Option<&RunPlace>) -> bool {
    let place = item.get(SORT).and_then(|sort| sort.as_s().ok()).and_then(|sort| run_place(sort));
    after.is_none() || place.as_ref() != after
}

fn session_summary(item: Attributes) -> Result<SessionSummary, StoreError> {
    let item = UserSessionItem::from_item(item)?;
    let UserSessionItem { session, title, started_at_ms, newest_at_ms, .. } = item;
    Ok(SessionSummary { session, title, started_at_ms, newest_at_ms })
}

fn place(session: &SessionSummary) -> SessionPlace {
    SessionPlace { newest_at_ms: session.newest_at_ms, session: session.session.clone() }
}
