//! Transactions and their failures.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use djinn_runtime::port::StoreError;

use crate::change::{ItemChange, PutCondition};
use crate::error::{
    AwsRequest, CONDITION_FAILED, is_retryable_cancellation, is_too_large, store_error,
    too_large_error,
};
use crate::key::Attributes;
use crate::store::AwsStore;
use crate::throttle::RetrySchedule;

/// The outcome of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TransactionResult {
    /// All items were written.
    Done,
    /// No item was written: the conditions of some items failed.
    Refused(RefusedItems),
}

/// The rejected items of a transaction in order, each with the stored item; an empty map means no item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RefusedItems(Vec<Option<Attributes>>);

impl RefusedItems {
    /// Returns the stored item at `index`, if rejected.
    pub(crate) fn of(&self, index: usize) -> Option<&Attributes> {
        self.0.get(index).and_then(Option::as_ref)
    }
}

impl AwsStore {
    /// Writes all items or none. Conflicts and throttling are retried as for a single record; a failed
    /// condition is never retried.
    pub(crate) async fn write_transaction(
        &self,
        items: Vec<TransactWriteItem>,
    ) -> Result<TransactionResult, StoreError> {
        let client = self.dynamodb().await;
        let mut rounds = 0;
        loop {
            let request = client.transact_write_items().set_transact_items(Some(items.clone()));
            let Err(error) = Box::pin(request.send()).await else {
                return Ok(TransactionResult::Done);
            };
            let cause = error.as_service_error();
            if let Some(refusals) = cause.and_then(refused_items) {
                return Ok(TransactionResult::Refused(refusals));
            }
            // An excessive size takes precedence over other reasons.
            if cause.is_some_and(is_item_too_large) {
                return Err(too_large_error(self.table_request("TransactWriteItems"), "item size"));
            }
            rounds += 1;
            let wait = RetrySchedule::RECORD.wait_after(rounds, fastrand::f64());
            let Some(wait) = wait.filter(|_| cause.is_some_and(is_retryable)) else {
                return Err(store_error(self.table_request("TransactWriteItems"), &error));
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Returns a put, rejected if the key exists.
    pub(crate) fn transact_create(
        &self,
        item: Attributes,
    ) -> Result<TransactWriteItem, StoreError> {
        let condition =
            PutCondition { expression: "attribute_not_exists(#pk)", values: Attributes::new() };
        self.transact_put_if(item, Some(&condition))
    }

    /// Returns a put, replacing an item with the same key.
    pub(crate) fn transact_put(&self, item: Attributes) -> Result<TransactWriteItem, StoreError> {
        self.transact_put_if(item, None)
    }

    /// Returns a conditional put, replacing an item with the same key.
    pub(crate) fn transact_put_if(
        &self,
        item: Attributes,
        condition: Option<&PutCondition>,
    ) -> Result<TransactWriteItem, StoreError> {
        let put_request = Put::builder()
            .table_name(self.table())
            .set_item(Some(item))
            .set_condition_expression(condition.map(|condition| condition.expression.to_owned()))
            .set_expression_attribute_names(condition.and_then(PutCondition::attribute_names))
            .set_expression_attribute_values(condition.and_then(PutCondition::values))
            .return_values_on_condition_check_failure(RETURN_OLD)
            .build();
        let put_request = put_request.map_err(|error| incomplete_transaction(&error))?;
        Ok(TransactWriteItem::builder().put(put_request).build())
    }

    /// Returns an update, creating a missing item.
    pub(crate) fn transact_update(
        &self,
        change: ItemChange<'_>,
    ) -> Result<TransactWriteItem, StoreError> {
        let update = Update::builder()
            .table_name(self.table())
            .update_expression(change.expression)
            .set_condition_expression(change.condition())
            .set_expression_attribute_names(change.attribute_names())
            .set_expression_attribute_values(change.values())
            .set_key(Some(change.key.into_attributes()))
            .return_values_on_condition_check_failure(RETURN_OLD)
            .build();
        let update = update.map_err(|error| incomplete_transaction(&error))?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    /// Deletes an item under a condition; the change's expression is not used.
    pub(crate) fn transact_delete(
        &self,
        change: ItemChange<'_>,
    ) -> Result<TransactWriteItem, StoreError> {
        let delete = Delete::builder()
            .table_name(self.table())
            .set_condition_expression(change.condition())
            .set_expression_attribute_names(change.attribute_names())
            .set_expression_attribute_values(change.values())
            .set_key(Some(change.key.into_attributes()))
            .return_values_on_condition_check_failure(RETURN_OLD)
            .build();
        let delete = delete.map_err(|error| incomplete_transaction(&error))?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    }

    /// Describes a request to the table, for error texts and logs.
    pub(crate) fn table_request(&self, operation: &'static str) -> AwsRequest<'_> {
        AwsRequest { operation, on: self.table() }
    }
}

const RETURN_OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

fn incomplete_transaction(error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unreadable(format!("incomplete transaction: {error}"))
}

/// Returns the items with failed conditions, if any.
fn refused_items(error: &TransactWriteItemsError) -> Option<RefusedItems> {
    let TransactWriteItemsError::TransactionCanceledException(canceled) = error else {
        return None;
    };
    let reasons = canceled.cancellation_reasons().iter().map(|reason| {
        let is_refused = reason.code() == Some(CONDITION_FAILED);
        is_refused.then(|| reason.item().cloned().unwrap_or_default())
    });
    let reasons: Vec<_> = reasons.collect();
    reasons.iter().any(Option::is_some).then_some(RefusedItems(reasons))
}

/// Returns true if an item or the whole transaction exceeds the table's size limit.
fn is_item_too_large(error: &TransactWriteItemsError) -> bool {
    let says = |code: Option<&str>, message: Option<&str>| {
        is_too_large(code.unwrap_or_default(), message.unwrap_or_default())
    };
    if let TransactWriteItemsError::TransactionCanceledException(canceled) = error {
        let mut reasons = canceled.cancellation_reasons().iter();
        return reasons.any(|reason| says(reason.code(), reason.message()));
    }
    says(error.code(), error.message())
}

/// Returns true if a retry of the same transaction may succeed.
fn is_retryable(error: &TransactWriteItemsError) -> bool {
    if let TransactWriteItemsError::TransactionCanceledException(canceled) = error {
        let reasons = canceled.cancellation_reasons().iter();
        return reasons.filter_map(CancellationReason::code).any(is_retryable_cancellation);
    }
    error.code().is_some_and(is_retryable_cancellation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::types::error::TransactionCanceledException;

    fn canceled(codes: &[&str]) -> TransactWriteItemsError {
        let reasons = codes.iter().map(|code| CancellationReason::builder().code(*code).build());
        TransactWriteItemsError::TransactionCanceledException(
            TransactionCanceledException::builder()
                .set_cancellation_reasons(Some(reasons.collect()))
                .build(),
        )
    }

    #[test]
    fn a_failed_condition_decides_whatever_else_went_wrong() {
        let error = canceled(&["None", "ConditionalCheckFailed", "TransactionConflict"]);
        let refusals = refused_items(&error).unwrap();
        assert_eq!(refusals.of(0), None);
        assert_eq!(refusals.of(1), Some(&Attributes::new()));
        assert_eq!((refusals.of(2), refusals.of(9)), (None, None));
    }

    #[test]
    fn an_item_that_is_too_large_is_so_whatever_else_is_in_the_way() {
        let with = |code: &str, message: &str| {
            let reason = |code| CancellationReason::builder().code(code);
            let reasons =
                vec![reason("TransactionConflict").build(), reason(code).message(message).build()];
            TransactWriteItemsError::TransactionCanceledException(
                TransactionCanceledException::builder()
                    .set_cancellation_reasons(Some(reasons))
                    .build(),
            )
        };
        let too_large = "Item size to update has exceeded the maximum allowed size";
        assert!(is_item_too_large(&with("ValidationError", too_large)));
        assert!(!is_item_too_large(&with("ValidationError", "no such attribute")));
        assert!(!is_item_too_large(&with("ConditionalCheckFailed", too_large)));
    }

    #[test]
    fn conflicts_and_throttling_are_tried_again_and_nothing_else_is() {
        for code in ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"] {
            let error = canceled(&["None", code]);
            assert!(refused_items(&error).is_none() && is_retryable(&error), "{code}");
        }
        for code in ["ValidationError", "ItemCollectionSizeLimitExceeded", "None"] {
            assert!(!is_retryable(&canceled(&[code])), "{code}");
        }
    }
}
