//! What was said in a session.

use djinn_core::conversation::Exchange;
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::{Page, RunPlace, Turn};
use djinn_runtime::port::journal::{Journals, RunMeta, SessionKey};
use djinn_runtime::port::{RunKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use super::{is_behind, older};
use crate::item::exchange::ExchangeItem;
use crate::journal::asked;
use crate::query::Query;
use crate::store::AwsStore;
use crate::table::{Attributes, SORT, record_sort, run_partition, run_place, session_partition};

/// Long exchanges that are fetched from the bucket at once.
const FETCHED_AT_ONCE: usize = 10;

impl AwsStore {
    pub(super) async fn turns(
        &self,
        session: &SessionKey,
        after: Option<&RunPlace>,
        limit: usize,
    ) -> Result<Page<Turn, RunPlace>, StoreError> {
        // One more than is shown, and the place itself.
        let query = older(session_partition(session), after, limit + 2);
        let (active, ended) =
            tokio::try_join!(self.active_turn(session, after), self.query(query))?;
        let mut ended: Vec<_> = ended.into_iter().filter(|item| is_behind(item, after)).collect();
        let more = ended.len() > limit;
        ended.truncate(limit);
        let ended = stream::iter(ended.into_iter().map(|item| self.ended_turn(item)));
        let ended: Vec<Turn> = ended.buffered(FETCHED_AT_ONCE).try_collect().await?;
        let next = ended
            .last()
            .filter(|_| more)
            .map(|turn| RunPlace { started_at_ms: turn.started_at_ms, run: turn.run.clone() });
        // It may have ended between the two reads.
        let active = active.filter(|active| ended.iter().all(|turn| turn.run != active.run));
        Ok(Page { items: active.into_iter().chain(ended).collect(), next })
    }

    /// The run that is being answered, on the first page.
    async fn active_turn(
        &self,
        session: &SessionKey,
        after: Option<&RunPlace>,
    ) -> Result<Option<Turn>, StoreError> {
        if after.is_some() {
            return Ok(None);
        }
        let Some((key, meta)) = self.active_run(session).await? else { return Ok(None) };
        let exchange = readable(self.question(&key).await)?.flatten();
        let RunMeta { request, user, started_at_ms, status, .. } = meta;
        let (request, user) = (Some(request), Some(user));
        Ok(Some(Turn { run: key.run, request, user, started_at_ms, status, exchange }))
    }

    /// The run that a session is still answering, and what is known of it.
    pub(super) async fn active_run(
        &self,
        session: &SessionKey,
    ) -> Result<Option<(RunKey, RunMeta)>, StoreError> {
        let Some(active) = self.active(session).await? else { return Ok(None) };
        let key = RunKey::new(session.tenant.clone(), active);
        let meta = self.meta(&key).await?;
        Ok(meta.filter(|meta| !meta.status.has_ended()).map(|meta| (key, meta)))
    }

    /// What a run that has no answer yet was asked.
    async fn question(&self, key: &RunKey) -> Result<Option<Exchange>, StoreError> {
        let first = Query::range(run_partition(key), record_sort(0), record_sort(0));
        let Some(item) = self.query(first).await?.pop() else { return Ok(None) };
        let record = self.record(item).await?;
        let asked = asked(&record)?;
        let (question, asker) = (asked.question.clone(), Some(asked.user.clone()));
        Ok(Some(Exchange { question, asker, ..Exchange::default() }))
    }

    async fn ended_turn(&self, item: Attributes) -> Result<Turn, StoreError> {
        let sort = item.get(SORT).and_then(|sort| sort.as_s().ok());
        let place = sort.and_then(|sort| run_place(sort));
        let RunPlace { started_at_ms, run } =
            place.ok_or_else(|| StoreError::Unreadable(format!("`{sort:?}` is no run's place")))?;
        let item = ExchangeItem::from_item(item)?;
        let status = item.status.unwrap_or(RunStatus::Finished);
        let (request, user) = (item.request.clone(), item.user.clone());
        let exchange = readable(self.exchange(item).await)?.flatten();
        Ok(Turn { run, request, user, started_at_ms, status, exchange })
    }
}

/// What can be read; what cannot is left out, and the rest of the list shown nevertheless.
fn readable<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.may_pass() => Err(error),
        Err(error) => {
            tracing::warn!(%error, "a turn is shown without its words");
            Ok(None)
        }
    }
}
