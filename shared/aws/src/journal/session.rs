//! A new run's view of its session: two queries, for any length of session.

use djinn_core::conversation::{CompactedContext, Exchange};
use djinn_runtime::port::journal::{EndedRun, MAX_ENDED_RUNS, MAX_EXCHANGES, SessionView};
use djinn_runtime::port::{SessionKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use crate::item::exchange::ExchangeItem;
use crate::item::memory::MemoryItem;
use crate::item::session::SessionItem;
use crate::key::{
    Attributes, EXPECTED, MEMORY, META, RUN, SORT, parse_run_sort, session_partition,
};
use crate::object::{FETCHED_AT_ONCE, skip_unreadable};
use crate::query::Query;
use crate::store::AwsStore;

/// The attribute with the exchange.
const BODY: &str = "body";

/// Maximum number of files listed for a new run.
const MAX_FILES: usize = 200;

impl AwsStore {
    pub(super) async fn session_view(&self, key: &SessionKey) -> Result<SessionView, StoreError> {
        let partition = session_partition(key);
        let ended_turns = self
            .query_items(Query::with_prefix(partition.clone(), RUN).newest_first(MAX_EXCHANGES));
        // Expected files, files, MEMORY and META stand together, in this order.
        let rest = self.query_items(Query::range(partition, EXPECTED, META));
        let (mut ended_turns, mut rest) = tokio::try_join!(ended_turns, rest)?;
        let meta = take_item(&mut rest, META).map(SessionItem::from_item).transpose()?;
        let runs = ended_turns.iter().take(MAX_ENDED_RUNS).filter_map(ended_run).collect();
        // A run with an unreadable journal has no exchange, and is not counted.
        ended_turns.retain(|turn| turn.contains_key(BODY));
        let mut earlier = None;
        if let Some(item) = take_item(&mut rest, MEMORY)
            && let Some((summary, turn_count)) =
                skip_unreadable(self.read_summary(item, &ended_turns).await)?
        {
            ended_turns.truncate(turn_count);
            earlier = Some(summary);
        }
        let (history, mut files) =
            tokio::try_join!(self.read_exchanges(ended_turns), self.resolve_files(key, rest))?;
        let files = files.split_off(files.len().saturating_sub(MAX_FILES));
        let active = meta.and_then(|meta| meta.active);
        Ok(SessionView { active, earlier, history, ended: runs, files })
    }

    /// Returns the summary, and the number of newest turns after the summary.
    async fn read_summary(
        &self,
        item: Attributes,
        newest_first: &[Attributes],
    ) -> Result<(CompactedContext, usize), StoreError> {
        let item = MemoryItem::from_item(item)?;
        let maker = item.maker_sort();
        let since_maker = newest_first.iter().take_while(|turn| sort_of(turn) >= maker.as_str());
        let turn_count = since_maker.count() + item.newer_exchanges as usize;
        let json = self.read_body(item.body).await?;
        let summary = serde_json::from_str(&json)
            .map_err(|error| StoreError::Unreadable(format!("summary: {error}")))?;
        Ok((summary, turn_count))
    }

    /// Returns the exchanges, oldest first. Unreadable exchanges are left out, so that the session can
    /// continue.
    async fn read_exchanges(
        &self,
        newest_first: Vec<Attributes>,
    ) -> Result<Vec<Exchange>, StoreError> {
        let exchanges = newest_first
            .into_iter()
            .rev()
            .map(|item| async { self.read_exchange(ExchangeItem::from_item(item)?).await });
        let readable = |result| async move { skip_unreadable(result).map(Option::flatten) };
        let results = stream::iter(exchanges).buffered(FETCHED_AT_ONCE).then(readable);
        results.try_filter_map(|exchange| async move { Ok(exchange) }).try_collect().await
    }

    /// Returns the exchange of a turn, if any.
    pub(crate) async fn read_exchange(
        &self,
        item: ExchangeItem,
    ) -> Result<Option<Exchange>, StoreError> {
        let Some(body) = item.body else { return Ok(None) };
        let json = self.read_body(body).await?;
        let exchange: Exchange = serde_json::from_str(&json)
            .map_err(|error| StoreError::Unreadable(format!("exchange: {error}")))?;
        // Earlier versions stored the asker only beside the exchange.
        Ok(Some(Exchange { asker: exchange.asker.or(item.user), ..exchange }))
    }
}

/// Returns the run of a turn, or `None` if unreadable.
fn ended_run(item: &Attributes) -> Option<EndedRun> {
    let place = parse_run_sort(item.get(SORT)?.as_s().ok()?)?;
    let user = ExchangeItem::from_item(item.clone()).ok()?.user;
    Some(EndedRun { run: place.run, user })
}

/// Takes the item of this sort key out of a list.
fn take_item(items: &mut Vec<Attributes>, sort: &str) -> Option<Attributes> {
    let place = items.iter().position(|item| sort_of(item) == sort)?;
    Some(items.remove(place))
}

fn sort_of(item: &Attributes) -> &str {
    item.get(SORT).and_then(|sort| sort.as_s().ok()).map_or("", String::as_str)
}
