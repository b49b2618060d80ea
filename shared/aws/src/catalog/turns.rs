//! The turns of a session.

use djinn_core::conversation::Exchange;
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::{ListPage, RunPosition, SessionTurn};
use djinn_runtime::port::journal::{Journals, RunMeta};
use djinn_runtime::port::{RunKey, SessionKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use super::{is_older, older_runs_query};
use crate::item::exchange::ExchangeItem;
use crate::journal::run_spec;
use crate::key::{Attributes, SORT, parse_run_sort, record_sort, run_partition, session_partition};
use crate::object::skip_unreadable;
use crate::query::Query;
use crate::store::AwsStore;

/// Maximum number of long exchanges fetched at once from the bucket.
const FETCHED_AT_ONCE: usize = 10;

impl AwsStore {
    pub(super) async fn read_turns(
        &self,
        session: &SessionKey,
        after: Option<&RunPosition>,
        limit: usize,
    ) -> Result<ListPage<SessionTurn, RunPosition>, StoreError> {
        // An extra item to detect another page, and the position itself.
        let query = older_runs_query(session_partition(session), after, limit + 2);
        // A run that ends between the two reads is in both. In the other order, it could be in neither.
        let active = self.read_active_turn(session, after).await?;
        let ended_turns = self.query_items(query).await?;
        let mut ended_turns: Vec<_> =
            ended_turns.into_iter().filter(|item| is_older(item, after)).collect();
        let more = ended_turns.len() > limit;
        ended_turns.truncate(limit);
        let ended_turns =
            stream::iter(ended_turns.into_iter().map(|item| self.read_ended_turn(item)));
        let ended_turns: Vec<SessionTurn> =
            ended_turns.buffered(FETCHED_AT_ONCE).try_collect().await?;
        let next = ended_turns
            .last()
            .filter(|_| more)
            .map(|turn| RunPosition { started_at_ms: turn.started_at_ms, run: turn.run.clone() });
        let active = active.filter(|active| ended_turns.iter().all(|turn| turn.run != active.run));
        Ok(ListPage { items: active.into_iter().chain(ended_turns).collect(), next })
    }

    /// Returns the active run as a turn, on the first page only.
    async fn read_active_turn(
        &self,
        session: &SessionKey,
        after: Option<&RunPosition>,
    ) -> Result<Option<SessionTurn>, StoreError> {
        if after.is_some() {
            return Ok(None);
        }
        let Some((key, meta)) = self.active_run(session).await? else { return Ok(None) };
        let exchange = skip_unreadable(self.read_question(&key).await)?.flatten();
        let RunMeta { request, user, started_at_ms, status, .. } = meta;
        let request = Some(request);
        let user = Some(user);
        Ok(Some(SessionTurn { run: key.run, request, user, started_at_ms, status, exchange }))
    }

    /// Returns the active run of a session with its metadata.
    pub(super) async fn active_run(
        &self,
        session: &SessionKey,
    ) -> Result<Option<(RunKey, RunMeta)>, StoreError> {
        let Some(active) = self.find_active_run(session).await? else { return Ok(None) };
        let key = RunKey::new(session.tenant.clone(), active);
        let meta = self.find_meta(&key).await?;
        Ok(meta.filter(|meta| !meta.status.has_ended()).map(|meta| (key, meta)))
    }

    /// Returns the question of a run without an answer.
    async fn read_question(&self, key: &RunKey) -> Result<Option<Exchange>, StoreError> {
        let first = Query::range(run_partition(key), record_sort(0), record_sort(0));
        let Some(item) = self.query_items(first).await?.pop() else { return Ok(None) };
        let record = self.read_record(item).await?;
        let spec = run_spec(&record)?;
        let question = spec.question.clone();
        let asker = Some(spec.user.clone());
        Ok(Some(Exchange { question, asker, ..Exchange::default() }))
    }

    async fn read_ended_turn(&self, item: Attributes) -> Result<SessionTurn, StoreError> {
        let sort = item.get(SORT).and_then(|sort| sort.as_s().ok());
        let place = sort.and_then(|sort| parse_run_sort(sort));
        let RunPosition { started_at_ms, run } =
            place.ok_or_else(|| StoreError::Unreadable(format!("`{sort:?}` is no run's place")))?;
        let item = ExchangeItem::from_item(item)?;
        let status = item.status.unwrap_or(RunStatus::Finished);
        let request = item.request.clone();
        let user = item.user.clone();
        let exchange = skip_unreadable(self.read_exchange(item).await)?.flatten();
        Ok(SessionTurn { run, request, user, started_at_ms, status, exchange })
    }
}
