//! What a new run needs to know of its session: two queries, whatever the session's length.

use djinn_core::conversation::Exchange;
use djinn_runtime::port::journal::{EndedRun, SessionView};
use djinn_runtime::port::{SessionKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use crate::item::exchange::ExchangeItem;
use crate::item::session::SessionItem;
use crate::key::{Attributes, EXPECTED, META, RUN, SORT, parse_run_sort, session_partition};
use crate::query::Query;
use crate::store::AwsStore;

/// Exchanges that a new run is shown: 20 messages.
const MAX_EXCHANGES: usize = 10;

/// Files that a new run is shown.
const MAX_FILES: usize = 200;

impl AwsStore {
    pub(super) async fn session_view(&self, key: &SessionKey) -> Result<SessionView, StoreError> {
        let partition = session_partition(key);
        let ended = self
            .query_items(Query::with_prefix(partition.clone(), RUN).newest_first(MAX_EXCHANGES));
        // Expected files, files and META stand together, in this order.
        let rest = self.query_items(Query::range(partition, EXPECTED, META));
        let (ended, mut rest) = tokio::try_join!(ended, rest)?;
        let meta = rest.iter().position(is_meta).map(|place| rest.swap_remove(place));
        let meta = meta.map(SessionItem::from_item).transpose()?;
        let runs = ended.iter().filter_map(ended_run).collect();
        let (history, mut files) =
            tokio::try_join!(self.read_exchanges(ended), self.resolve_files(key, rest))?;
        let files = files.split_off(files.len().saturating_sub(MAX_FILES));
        let active = meta.and_then(|meta| meta.active);
        Ok(SessionView { active, history, ended: runs, files })
    }

    /// Exchanges, oldest first. One that cannot be read is left out: its session goes on without it.
    async fn read_exchanges(
        &self,
        newest_first: Vec<Attributes>,
    ) -> Result<Vec<Exchange>, StoreError> {
        let exchanges = newest_first
            .into_iter()
            .rev()
            .map(|item| async { self.read_exchange(ExchangeItem::from_item(item)?).await });
        let readable = |read| async move {
            match read {
                Ok(exchange) => Ok(exchange),
                Err(StoreError::Unreadable(problem)) => {
                    tracing::warn!(problem, "an exchange is left out");
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        };
        let read = stream::iter(exchanges).buffered(MAX_EXCHANGES).then(readable);
        read.try_filter_map(|exchange| async move { Ok(exchange) }).try_collect().await
    }

    /// The exchange of a turn, if it has one.
    pub(crate) async fn read_exchange(
        &self,
        item: ExchangeItem,
    ) -> Result<Option<Exchange>, StoreError> {
        let Some(body) = item.body else { return Ok(None) };
        let json = self.read_body(body).await?;
        let exchange: Exchange = serde_json::from_str(&json)
            .map_err(|error| StoreError::Unreadable(format!("exchange: {error}")))?;
        // Earlier versions said who asked beside it only.
        Ok(Some(Exchange { asker: exchange.asker.or(item.user), ..exchange }))
    }
}

/// The run of a turn; one that cannot be read is left out.
fn ended_run(item: &Attributes) -> Option<EndedRun> {
    let place = parse_run_sort(item.get(SORT)?.as_s().ok()?)?;
    let user = ExchangeItem::from_item(item.clone()).ok()?.user;
    Some(EndedRun { run: place.run, user })
}

fn is_meta(item: &Attributes) -> bool {
    item.get(SORT).and_then(|sort| sort.as_s().ok()).is_some_and(|sort| sort == META)
}
