//! Queries of a single partition.

use djinn_runtime::port::StoreError;

use crate::change::{text, values};
use crate::error::store_error;
use crate::key::Attributes;
use crate::store::AwsStore;

/// A range of a partition, in sort key order. Strongly consistent by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    partition: String,
    from: String,
    to: String,
    newest_first: bool,
    eventually_consistent: bool,
    limit: Option<usize>,
}

impl Query {
    /// Returns a query for sort keys from `from` to `to`, both included.
    pub(crate) fn range(partition: String, from: impl Into<String>, to: impl Into<String>) -> Self {
        let from = from.into();
        let to = to.into();
        Self { partition, from, to, newest_first: false, eventually_consistent: false, limit: None }
    }

    /// Returns a query for sort keys with a prefix ending in `#`.
    pub(crate) fn with_prefix(partition: String, prefix: &str) -> Self {
        Self::range(partition, prefix, after_prefix(prefix))
    }

    /// Limits the query to the last items, newest first.
    pub(crate) fn newest_first(self, limit: usize) -> Self {
        Self { newest_first: true, limit: Some(limit), ..self }
    }

    /// Limits the query to the first items.
    pub(crate) fn at_most(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Makes the query eventually consistent: half the price, but writes of the last second may be missing.
    pub(crate) fn eventually_consistent(self) -> Self {
        Self { eventually_consistent: true, ..self }
    }
}

/// Returns a key after all keys with this prefix; the prefix must end in `#`.
pub(crate) fn after_prefix(prefix: &str) -> String {
    format!("{}$", prefix.trim_end_matches('#'))
}

impl AwsStore {
    /// Returns all items of a query, page by page.
    pub(crate) async fn query_items(&self, query: Query) -> Result<Vec<Attributes>, StoreError> {
        let mut items = Vec::new();
        let mut start = None;
        loop {
            let remaining = query.limit.map(|limit| limit.saturating_sub(items.len()));
            let (more, last) = self.query_page(&query, remaining, start.take()).await?;
            items.extend(more);
            let enough = query.limit.is_some_and(|limit| items.len() >= limit);
            match last {
                Some(last) if !enough => start = Some(last),
                _ => return Ok(items),
            }
        }
    }

    /// Returns a page of at most 1 MB, and the last item's key if more items may follow.
    pub(crate) async fn query_page(
        &self,
        query: &Query,
        limit: Option<usize>,
        start: Option<Attributes>,
    ) -> Result<(Vec<Attributes>, Option<Attributes>), StoreError> {
        let request = self
            .dynamodb()
            .await
            .query()
            .table_name(self.table())
            .key_condition_expression("pk = :pk AND sk BETWEEN :from AND :to")
            .set_expression_attribute_values(Some(values([
                (":pk", text(&query.partition)),
                (":from", text(&query.from)),
                (":to", text(&query.to)),
            ])))
            .consistent_read(!query.eventually_consistent)
            .scan_index_forward(!query.newest_first)
            .set_limit(limit.and_then(|limit| i32::try_from(limit).ok()))
            .set_exclusive_start_key(start);
        match Box::pin(request.send()).await {
            Ok(page) => Ok((page.items.unwrap_or_default(), page.last_evaluated_key)),
            Err(error) => Err(store_error(self.table_request("Query"), &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{FILE, RUN};

    #[test]
    fn a_family_ends_before_every_other_key() {
        for (prefix, inside, outside) in
            [(RUN, "RUN#0001#run_1", "RUNS"), (FILE, "FILE#\u{10ffff}", "FILE_")]
        {
            let to = after_prefix(prefix);
            assert!(prefix <= inside && inside <= to.as_str() && to.as_str() < outside);
        }
    }
}
