//! Records: one conditional put each, with bodies over 100 KB in the bucket.

use std::borrow::Cow;

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use djinn_core::entry::Entry;
use djinn_core::input::{Input, RunSpec};
use djinn_core::journal::{FORMAT, Record};
use djinn_runtime::port::journal::AppendResult;
use djinn_runtime::port::page::{Page, PageSize};
use djinn_runtime::port::{RunKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use super::round_start::RoundStart;
use crate::body::{MAX_INLINE_ROUND_START, Pointer};
use crate::change::attribute_names;
use crate::error::store_error;
use crate::item::record::RecordItem;
use crate::key::{Attributes, RECORD, record_sort, run_partition};
use crate::object::FETCHED_AT_ONCE;
use crate::query::{Query, after_prefix};
use crate::store::AwsStore;
use crate::throttle::{RetrySchedule, retry_throttled};

/// The JSON of a record's body.
#[derive(Serialize)]
struct BodyOut<'a> {
    inputs: &'a [Input],
    entries: &'a [Entry],
}

/// The owned form of [`BodyOut`], for reading.
#[derive(Deserialize)]
struct BodyIn {
    inputs: Vec<Input>,
    entries: Vec<Entry>,
}

impl AwsStore {
    pub(super) async fn append_record(
        &self,
        key: &RunKey,
        record: &Record,
        expires_at_s: i64,
    ) -> Result<AppendResult, StoreError> {
        let item = self.record_item(key, record, expires_at_s).await?.to_item(key)?;
        let condition = "attribute_not_exists(#pk)";
        let request = self
            .dynamodb()
            .await
            .put_item()
            .table_name(self.table())
            .set_item(Some(item))
            .condition_expression(condition)
            .set_expression_attribute_names(attribute_names(&[condition]))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let result = retry_throttled(RetrySchedule::RECORD, || request.clone().send()).await;
        let Err(error) = result else {
            return Ok(AppendResult::Appended);
        };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(failure)) => match failure.item() {
                Some(existing_item) => resolve_append(existing_item, record),
                None => Ok(AppendResult::Conflict),
            },
            _ => Err(store_error(self.table_request("PutItem"), &error)),
        }
    }

    /// Creates the item of a record, after storing a long body in the bucket.
    pub(super) async fn record_item(
        &self,
        key: &RunKey,
        record: &Record,
        expires: i64,
    ) -> Result<RecordItem, StoreError> {
        let (inputs, round_start) = self.split_round_start(key, record).await?;
        let body = BodyOut { inputs: &inputs, entries: &record.entries };
        let json = serde_json::to_string(&body)
            .map_err(|error| unreadable_record(record.number, &error))?;
        Ok(RecordItem {
            v: record.format,
            n: record.number,
            write: record.write.clone(),
            epoch: record.epoch,
            at_ms: record.at_ms,
            body: self.store_body(key, json).await?,
            round_start,
            expires,
        })
    }

    /// Returns the record's inputs. A long shared start of a child's first record is stored as an object.
    async fn split_round_start<'a>(
        &self,
        key: &RunKey,
        record: &'a Record,
    ) -> Result<(Cow<'a, [Input]>, Option<Pointer>), StoreError> {
        let whole = Cow::Borrowed(record.inputs.as_slice());
        if record.number > 0 || key.is_root() {
            return Ok((whole, None));
        }
        let mut inputs = record.inputs.clone();
        let Some(start) = run_spec_mut(&mut inputs).and_then(RoundStart::take_from) else {
            return Ok((whole, None));
        };
        let json = serde_json::to_string(&start)
            .map_err(|error| unreadable_record(record.number, &error))?;
        if json.len() <= MAX_INLINE_ROUND_START {
            return Ok((whole, None));
        }
        let pointer = self.store_round_start(key, json).await?;
        Ok((Cow::Owned(inputs), Some(pointer)))
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
        let query = Query::range(run_partition(key), record_sort(from), after_prefix(RECORD));
        let (items, last) = self.query_page(&query, Some(size.records), None).await?;
        let (mut page, mut fitting) =
            (Page { has_more: last.is_some(), ..Page::default() }, Vec::new());
        for item in items {
            let item = RecordItem::from_item(item)?;
            let bytes = page.bytes.saturating_add(item.total_bytes());
            if !fitting.is_empty() && bytes > size.bytes {
                page.has_more = true;
                break;
            }
            page.bytes = bytes;
            fitting.push(self.read_record_item(item));
        }
        page.records = stream::iter(fitting).buffered(FETCHED_AT_ONCE).try_collect().await?;
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
        if item.v > FORMAT {
            return Err(StoreError::NewerFormat(item.v));
        }
        let RecordItem { v, n, write, epoch, at_ms, body, round_start, .. } = item;
        let json = self.read_body(body).await?;
        let BodyIn { mut inputs, entries } =
            serde_json::from_str(&json).map_err(|error| unreadable_record(n, &error))?;
        if let (Some(pointer), Some(spec)) = (round_start, run_spec_mut(&mut inputs)) {
            let json = self.read_object_json(&pointer).await?;
            let start: RoundStart =
                serde_json::from_str(&json).map_err(|error| unreadable_record(n, &error))?;
            start.restore_into(spec);
        }
        Ok(Record { format: v, number: n, write, epoch, at_ms, inputs, entries })
    }
}

/// Returns the run spec among the inputs of a record.
fn run_spec_mut(inputs: &mut [Input]) -> Option<&mut RunSpec> {
    let Some(Input::Started(spec)) = inputs.first_mut() else { return None };
    Some(spec)
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
        AppendResult::Appended
    } else {
        AppendResult::Conflict
    })
}
