//! The store: a table and a bucket.

use std::sync::Arc;

use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};
use aws_smithy_async::time::SharedTimeSource;
use djinn_runtime::port::StoreError;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::change::{ItemChange, PutCondition};
use crate::clients::Clients;
use crate::conflict::retry_conflicts;
use crate::error::store_error;
use crate::key::{Attributes, ItemKey};
use crate::sample_cache::SampleCache;
use crate::throttle::{RetrySchedule, retry_throttled};

/// Journals, leases, mailboxes, live logs and files in one table and one bucket. Implements the runtime's
/// `Store`; clones share the clients.
///
/// DynamoDB deletes expired items with a delay, typically within two days. Reads may return expired items
/// until then, and no logic depends on their absence.
#[derive(Debug, Clone)]
pub struct AwsStore {
    pub(crate) clients: Arc<Clients>,
    time: SharedTimeSource,
    pub(crate) sample_cache: SampleCache,
    page_permits: Arc<Semaphore>,
}

/// Maximum number of journal pages read at once: during a read, a page takes several times its size.
const PAGES_AT_ONCE: usize = 16;

/// The outcome of a conditional change of an item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChangeResult {
    /// The changed item.
    Done(Attributes),
    /// The condition failed; contains the stored item, empty if missing.
    Refused(Attributes),
}

impl AwsStore {
    pub(crate) fn new(clients: Arc<Clients>) -> Self {
        Self {
            clients,
            time: SharedTimeSource::default(),
            sample_cache: SampleCache::default(),
            page_permits: Arc::new(Semaphore::new(PAGES_AT_ONCE)),
        }
    }

    /// Waits for the permit to read a page of a journal; released on drop.
    pub(crate) async fn acquire_page_permit(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.page_permits.acquire().await.ok()
    }

    pub(crate) async fn dynamodb(&self) -> &aws_sdk_dynamodb::Client {
        self.clients.dynamodb().await
    }

    pub(crate) fn table(&self) -> &str {
        &self.clients.settings.table
    }

    /// Returns the time in Unix milliseconds. Used to order a session's files; no other decision depends on
    /// this clock.
    pub(crate) fn now_ms(&self) -> i64 {
        let now = self.time.now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
    }

    /// Returns the item with this key, if any, by a strongly consistent read.
    pub(crate) async fn get_item(&self, key: ItemKey) -> Result<Option<Attributes>, StoreError> {
        let request = self
            .dynamodb()
            .await
            .get_item()
            .table_name(self.table())
            .set_key(Some(key.into_attributes()))
            .consistent_read(true);
        match Box::pin(request.send()).await {
            Ok(output) => Ok(output.item),
            Err(error) => Err(store_error(self.table_request("GetItem"), &error)),
        }
    }

    /// Puts an item, replacing an item with the same key.
    pub(crate) async fn put_item(&self, item: Attributes) -> Result<(), StoreError> {
        self.put_with_retry(RetrySchedule::NONE, item).await
    }

    /// Puts an item, replacing an item with the same key, with retries while throttled.
    pub(crate) async fn put_with_retry(
        &self,
        patience: RetrySchedule,
        item: Attributes,
    ) -> Result<(), StoreError> {
        let request =
            self.dynamodb().await.put_item().table_name(self.table()).set_item(Some(item));
        match retry_throttled(patience, || request.clone().send()).await {
            Ok(_) => Ok(()),
            Err(error) => Err(store_error(self.table_request("PutItem"), &error)),
        }
    }

    /// Puts an item, replacing an item with the same key. Returns false if the condition fails.
    pub(crate) async fn put_item_if(
        &self,
        item: Attributes,
        condition: &PutCondition,
    ) -> Result<bool, StoreError> {
        let request = self
            .dynamodb()
            .await
            .put_item()
            .table_name(self.table())
            .set_item(Some(item))
            .condition_expression(condition.expression)
            .set_expression_attribute_names(condition.attribute_names())
            .set_expression_attribute_values(condition.values());
        let Err(error) = retry_conflicts(|| request.clone().send()).await else { return Ok(true) };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(false),
            _ => Err(store_error(self.table_request("PutItem"), &error)),
        }
    }

    /// Deletes an item unless the condition fails; the change's expression is not used. A missing item is not
    /// an error.
    pub(crate) async fn delete_item(&self, change: ItemChange<'_>) -> Result<(), StoreError> {
        let request = self
            .dynamodb()
            .await
            .delete_item()
            .table_name(self.table())
            .set_condition_expression(change.condition())
            .set_expression_attribute_names(change.attribute_names())
            .set_expression_attribute_values(change.values())
            .set_key(Some(change.key.into_attributes()));
        let Err(error) = retry_conflicts(|| request.clone().send()).await else { return Ok(()) };
        match error.as_service_error() {
            Some(DeleteItemError::ConditionalCheckFailedException(_)) => Ok(()),
            _ => Err(store_error(self.table_request("DeleteItem"), &error)),
        }
    }

    /// Changes one item without retries while throttled; a failed condition is a result, not an error.
    pub(crate) async fn update_item(
        &self,
        change: ItemChange<'_>,
    ) -> Result<ChangeResult, StoreError> {
        self.update_with_retry(RetrySchedule::NONE, change).await
    }

    /// Changes one item, with retries while throttled.
    pub(crate) async fn update_with_retry(
        &self,
        patience: RetrySchedule,
        change: ItemChange<'_>,
    ) -> Result<ChangeResult, StoreError> {
        let request = self
            .dynamodb()
            .await
            .update_item()
            .table_name(self.table())
            .update_expression(change.expression)
            .set_condition_expression(change.condition())
            .set_expression_attribute_names(change.attribute_names())
            .set_expression_attribute_values(change.values())
            .set_key(Some(change.key.into_attributes()))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let error = match retry_throttled(patience, || request.clone().send()).await {
            Ok(changed) => return Ok(ChangeResult::Done(changed.attributes.unwrap_or_default())),
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failure)) => {
                Ok(ChangeResult::Refused(failure.item().cloned().unwrap_or_default()))
            }
            _ => Err(store_error(self.table_request("UpdateItem"), &error)),
        }
    }
}
