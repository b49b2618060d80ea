//! Writes of single items that meet a transaction.

use std::time::Duration;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// How often a write is tried again that met a transaction.
const RETRIES: u32 = 5;

/// The wait before the first of them; doubled for each one after, so about two seconds in all.
const FIRST_WAIT: Duration = Duration::from_millis(60);

/// Sends a request until no transaction is in its way. DynamoDB refuses a write of an item that a
/// transaction is about to write; the SDK does not try it again.
pub(crate) async fn retry_conflicts<T, E, R, F>(
    mut send: impl FnMut() -> F,
) -> Result<T, SdkError<E, R>>
where
    E: ProvideErrorMetadata,
    F: Future<Output = Result<T, SdkError<E, R>>>,
{
    let mut wait = FIRST_WAIT;
    for _ in 0..RETRIES {
        // In a box: an SDK's request is tens of kilobytes, for which every future around it had room.
        match Box::pin(send()).await {
            Err(error) if error.code() == Some("TransactionConflictException") => {}
            answered => return answered,
        }
        tokio::time::sleep(wait).await;
        wait *= 2;
    }
    Box::pin(send()).await
}
