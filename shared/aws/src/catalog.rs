//! Lists of a user's runs and sessions, and the turns of a session.

mod deletion;
mod turns;

use djinn_core::id::SessionId;
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::{
    Catalog, ListPage, RunPosition, RunSummary, SessionDeletion, SessionPosition, SessionSummary,
    SessionTurn,
};
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::{RunKey, SessionKey, StoreError, UserKey};
use futures::{StreamExt, TryStreamExt, stream};

use crate::change::{ItemChange, text, values};
use crate::item::user_run::UserRunItem;
use crate::item::user_session::UserSessionItem;
use crate::key::{Attributes, RUN, SESSION, SORT, parse_run_sort, run_sort, user_partition};
use crate::query::{Query, after_prefix};
use crate::store::{AwsStore, ChangeResult};

/// Maximum number of a user's runs read for one page.
const MAX_RUNS_SCANNED: usize = 1_000;

/// Maximum number of a user's sessions read for a list.
const MAX_SESSIONS_READ: usize = 10_000;

/// Maximum number of items in one query: about a page of a list.
const QUERY_LIMIT: usize = 101;

/// Maximum number of concurrent status reads.
const READS_AT_ONCE: usize = 10;

impl Catalog for AwsStore {
    async fn list_runs(
        &self,
        user: &UserKey,
        statuses: &[RunStatus],
        after: Option<&RunPosition>,
        limit: usize,
    ) -> Result<ListPage<RunSummary, RunPosition>, StoreError> {
        let mut items = Vec::new();
        let mut next = after.cloned();
        for _ in 0..MAX_RUNS_SCANNED.div_ceil(QUERY_LIMIT) {
            let partition = user_partition(&user.tenant, &user.user);
            let query =
                older_runs_query(partition, next.as_ref(), QUERY_LIMIT).eventually_consistent();
            let mut page = self.query_items(query).await?;
            let is_last = page.len() < QUERY_LIMIT;
            page.retain(|item| is_older(item, next.as_ref()));
            let runs = page.into_iter().map(|item| self.run_summary(user, item));
            let mut runs = stream::iter(runs).buffered(READS_AT_ONCE);
            while let Some(run) = runs.try_next().await? {
                if items.len() == limit {
                    return Ok(ListPage { items, next });
                }
                next = Some(RunPosition { started_at_ms: run.started_at_ms, run: run.run.clone() });
                if statuses.is_empty() || statuses.contains(&run.status) {
                    items.push(run);
                }
            }
            if is_last {
                return Ok(ListPage { items, next: None });
            }
        }
        Ok(ListPage { items, next })
    }

    async fn list_sessions(
        &self,
        user: &UserKey,
        after: Option<&SessionPosition>,
        limit: usize,
    ) -> Result<ListPage<SessionSummary, SessionPosition>, StoreError> {
        let family = format!("{SESSION}#");
        let query = Query::with_prefix(user_partition(&user.tenant, &user.user), &family);
        let mut sessions = Vec::new();
        for item in
            self.query_items(query.at_most(MAX_SESSIONS_READ).eventually_consistent()).await?
        {
            let session = session_summary(item)?;
            if after.is_none_or(|after| session_position(&session) < *after) {
                sessions.push(session);
            }
        }
        sessions.sort_by_key(|session| std::cmp::Reverse(session_position(session)));
        let more = sessions.len() > limit;
        sessions.truncate(limit);
        let next = sessions.last().filter(|_| more).map(session_position);
        Ok(ListPage { items: sessions, next })
    }

    async fn find_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> Result<Option<SessionSummary>, StoreError> {
        let item = self.get_item(UserSessionItem::key(&user.tenant, &user.user, session)).await?;
        item.map(session_summary).transpose()
    }

    async fn rename_session(
        &self,
        user: &UserKey,
        session: &SessionId,
        title: &str,
    ) -> Result<bool, StoreError> {
        let change = ItemChange {
            key: UserSessionItem::key(&user.tenant, &user.user, session),
            expression: "SET #title = :title",
            condition: "attribute_exists(#session)",
            values: values([(":title", text(title))]),
        };
        Ok(matches!(self.update_item(change).await?, ChangeResult::Done(_)))
    }

    async fn list_turns(
        &self,
        session: &SessionKey,
        after: Option<&RunPosition>,
        limit: usize,
    ) -> Result<ListPage<SessionTurn, RunPosition>, StoreError> {
        self.read_turns(session, after, limit).await
    }

    async fn delete_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> Result<SessionDeletion, StoreError> {
        self.delete_session_items(user, session).await
    }
}

impl AwsStore {
    /// Returns a run of the user's list. The list stores only a run's start and end; the status between is
    /// read from the run's metadata.
    async fn run_summary(
        &self,
        user: &UserKey,
        item: Attributes,
    ) -> Result<RunSummary, StoreError> {
        let item = UserRunItem::from_item(item)?;
        let UserRunItem { run, session, request, title, started_at_ms, .. } = item;
        let mut status = item.status;
        let mut ended_at_ms = item.ended_at_ms;
        let mut has_open_requests = false;
        if !status.has_ended() {
            let meta = self.find_meta(&RunKey::new(user.tenant.clone(), run.clone())).await?;
            if let Some(meta) = meta {
                (status, ended_at_ms) = (meta.status, meta.ended_at_ms);
                has_open_requests = meta.has_open_requests && status == RunStatus::Running;
            }
        }
        Ok(RunSummary {
            run,
            session,
            request,
            title,
            status,
            has_open_requests,
            started_at_ms,
            ended_at_ms,
        })
    }
}

/// Returns the query for runs at or before a position, newest first.
fn older_runs_query(partition: String, after: Option<&RunPosition>, limit: usize) -> Query {
    let to = match after {
        Some(place) => run_sort(place.started_at_ms, &place.run),
        None => after_prefix(RUN),
    };
    Query::range(partition, RUN, to).newest_first(limit)
}

/// Returns true if an item's run is older than the position.
fn is_older(item: &Attributes, after: Option<&RunPosition>) -> bool {
    let place =
        item.get(SORT).and_then(|sort| sort.as_s().ok()).and_then(|sort| parse_run_sort(sort));
    after.is_none() || place.as_ref() != after
}

fn session_summary(item: Attributes) -> Result<SessionSummary, StoreError> {
    let item = UserSessionItem::from_item(item)?;
    let UserSessionItem { session, title, newest_question, started_at_ms, newest_at_ms, .. } = item;
    Ok(SessionSummary { session, title, newest_question, started_at_ms, newest_at_ms })
}

fn session_position(session: &SessionSummary) -> SessionPosition {
    SessionPosition { newest_at_ms: session.newest_at_ms, session: session.session.clone() }
}
