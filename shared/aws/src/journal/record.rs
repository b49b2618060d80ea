//! Records: one conditional put each, with bodies over 100 KB in the bucket.

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use djinn_core::journal::{FORMAT, Record, RecordText};
use djinn_runtime::port::journal::AppendResult;
use djinn_runtime::port::page::{Page, PageSize};
use djinn_runtime::port::{RunKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use crate::change::attribute_names;
use crate::error::store_error;
use crate::item::record::RecordItem;
use crate::key::{Attributes, RECORD, record_sort, run_partition};
use crate::object::{FETCHED_AT_ONCE, skip_unreadable};
use crate::query::{Query, after_prefix};
use crate::store::AwsStore;
use crate::throttle::{RetrySchedule, retry_throttled};

impl AwsStore {
    pub(super) async fn append_record(
        &self,
        key: &RunKey,
        record: &Record,
        expires_at_s: i64,
    ) -> Result<AppendResult, StoreError> {
        let item = self.record_item(key, record, expires_at_s).await?;
        let condition = "attribute_not_exists(#pk)";
        let request = self
            .dynamodb()
            .await
            .put_item()
            .table_name(self.table())
            .set_item(Some(item.to_item(key)?))
            .condition_expression(condition)
            .set_expression_attribute_names(attribute_names(&[condition]))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let result = retry_throttled(RetrySchedule::RECORD, || request.clone().send()).await;
        let Err(error) = result else {
            return Ok(AppendResult::Appended(item.hash));
        };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(failure)) => match failure.item() {
                Some(existing_item) => resolve_append(existing_item, record),
                None => Ok(AppendResult::Conflict),
            },
            _ => Err(store_error(self.table_request("PutItem"), &error)),
        }
    }

    /// Creates the item of a record, after storing long texts in the bucket.
    pub(super) async fn record_item(
        &self,
        key: &RunKey,
        record: &Record,
        expires: i64,
    ) -> Result<RecordItem, StoreError> {
        let text = RecordText::encode(record, &key.to_string())
            .map_err(|error| unreadable_record(record.number, &error))?;
        let round_start = match text.round_start {
            Some(json) => Some(self.store_round_start(key, json).await?),
            None => None,
        };
        Ok(RecordItem {
            v: text.format,
            n: text.number,
            write: text.write,
            epoch: text.epoch,
            at_ms: text.at_ms,
            previous: text.previous,
            hash: text.hash,
            body: self.store_body(key, text.body).await?,
            round_start,
            expires,
        })
    }

    pub(super) async fn read_records(
        &self,
        key: &RunKey,
        from: u64,
    ) -> Result<Vec<Record>, StoreError> {
        let partition = run_partition(key);
        let query = Query::range(partition, record_sort(from), after_prefix(RECORD));
        let records = self.query_items(query).await?.into_iter().map(|item| self.read_record(item));
        stream::iter(records).buffered(FETCHED_AT_ONCE).try_collect().await
    }

    pub(super) async fn read_record_page(
        &self,
        key: &RunKey,
        from: u64,
        size: PageSize,
    ) -> Result<Page, StoreError> {
        let _turn = self.acquire_page_permit().await;
        let page = self.read_item_page(key, from, size).await?;
        let records = page.records.into_iter().map(|item| self.read_record_item(item));
        let records = stream::iter(records).buffered(FETCHED_AT_ONCE).try_collect().await?;
        Ok(Page { records, bytes: page.bytes, has_more: page.has_more })
    }

    /// Reads the texts of a page for verification.
    pub(super) async fn read_text_page(
        &self,
        key: &RunKey,
        from: u64,
        size: PageSize,
    ) -> Result<Page<RecordText>, StoreError> {
        let _turn = self.acquire_page_permit().await;
        let page = self.read_item_page(key, from, size).await?;
        // A lost or changed object counts as an empty text, which has another hash.
        let texts = page.records.into_iter().map(|item| async move {
            check_format(&item)?;
            let body = skip_unreadable(self.read_body(item.body.clone()).await)?;
            let round_start = match &item.round_start {
                Some(round_start) => skip_unreadable(self.read_body(round_start.clone()).await)?,
                None => None,
            };
            Ok(item.into_text(body.unwrap_or_default(), round_start))
        });
        let records = stream::iter(texts).buffered(FETCHED_AT_ONCE).try_collect().await?;
        Ok(Page { records, bytes: page.bytes, has_more: page.has_more })
    }

    async fn read_item_page(
        &self,
        key: &RunKey,
        from: u64,
        size: PageSize,
    ) -> Result<Page<RecordItem>, StoreError> {
        let query = Query::range(run_partition(key), record_sort(from), after_prefix(RECORD));
        let (items, last) = self.query_page(&query, Some(size.records), None).await?;
        let mut page = Page { has_more: last.is_some(), ..Page::default() };
        for item in items {
            let item = RecordItem::from_item(item)?;
            let bytes = page.bytes.saturating_add(item.total_bytes());
            if !page.records.is_empty() && bytes > size.bytes {
                page.has_more = true;
                break;
            }
            page.bytes = bytes;
            page.records.push(item);
        }
        Ok(page)
    }

    pub(super) async fn read_newest_records(
        &self,
        key: &RunKey,
        records: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let all = Query::range(run_partition(key), record_sort(0), after_prefix(RECORD));
        let records = self.query_items(all.newest_first(records)).await?.into_iter();
        let records = records.map(|item| self.read_record(item));
        stream::iter(records).buffered(FETCHED_AT_ONCE).try_collect().await
    }

    pub(crate) async fn read_record(&self, item: Attributes) -> Result<Record, StoreError> {
        self.read_record_item(RecordItem::from_item(item)?).await
    }

    async fn read_record_item(&self, item: RecordItem) -> Result<Record, StoreError> {
        check_format(&item)?;
        let body = self.read_body(item.body.clone()).await?;
        let round_start = match &item.round_start {
            Some(round_start) => Some(self.read_body(round_start.clone()).await?),
            None => None,
        };
        let text = item.into_text(body, round_start);
        text.decode().map_err(|error| unreadable_record(text.number, &error))
    }
}

fn check_format(item: &RecordItem) -> Result<(), StoreError> {
    if item.v > FORMAT { Err(StoreError::NewerFormat(item.v)) } else { Ok(()) }
}

fn unreadable_record(n: u64, error: &serde_json::Error) -> StoreError {
    StoreError::Unreadable(format!("record {n}: {error}"))
}

/// Compares the stored record of the same number with the record to write. Equal means appended.
pub(super) fn resolve_append(
    existing_item: &Attributes,
    record: &Record,
) -> Result<AppendResult, StoreError> {
    let existing_record = RecordItem::from_item(existing_item.clone())?;
    Ok(if existing_record.write == record.write {
        AppendResult::Appended(existing_record.hash)
    } else {
        AppendResult::Conflict
    })
}
