//! Retries of single-item writes in conflict with a transaction.

use std::time::Duration;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// Maximum number of retries after a conflict.
const RETRIES: u32 = 5;

/// The wait before the first retry, doubled for each later retry: about two seconds in all.
const FIRST_WAIT: Duration = Duration::from_millis(60);

/// Sends a request until no transaction conflicts. DynamoDB rejects a write of an item within another
/// transaction, and the SDK does not retry such a write.
pub(crate) async fn retry_conflicts<T, E, R, F>(
    mut send: impl FnMut() -> F,
) -> Result<T, SdkError<E, R>>
where
    E: ProvideErrorMetadata,
    F: Future<Output = Result<T, SdkError<E, R>>>,
{
    let mut wait = FIRST_WAIT;
    for _ in 0..RETRIES {
        // Boxed: an SDK request takes tens of kilobytes, reserved otherwise in every enclosing future.
        match Box::pin(send()).await {
            Err(error) if error.code() == Some("TransactionConflictException") => {}
            result => return result,
        }
        tokio::time::sleep(wait).await;
        wait *= 2;
    }
    Box::pin(send()).await
}
