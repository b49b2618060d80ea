//! One classification of what AWS answers when it does not do what it was asked.

use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use djinn_runtime::port::StoreError;

/// What a failed request means for whoever made it.
///
/// What is larger than AWS takes is `TooLarge`. Every other failure of the request itself is
/// `Unavailable`: throttling, 5xx, time-outs and lost connections after the SDK's bounded retries, and
/// refusals that no retry mends. The latter are a mistake of the deployment, so they are logged here
/// with what they are about.
pub(crate) fn store_error<E, R>(request: AwsRequest<'_>, error: &SdkError<E, R>) -> StoreError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug,
{
    let AwsRequest { operation, on } = request;
    let code = error.code().unwrap_or_default();
    if is_too_large(code, error.message().unwrap_or_default()) {
        return too_large_error(request, code);
    }
    if is_misconfigured(code) {
        tracing::error!(operation, on, code, "refused: check the name and the function's policy");
    }
    let text = format!("{operation} on {on}: {}", DisplayErrorContext(error));
    StoreError::Unavailable(text.chars().take(MAX_TEXT).collect())
}

/// What was to be written is larger than AWS takes.
pub(crate) fn too_large_error(request: AwsRequest<'_>, code: &str) -> StoreError {
    let AwsRequest { operation, on } = request;
    StoreError::TooLarge(format!("{operation} on {on}: {code}"))
}

/// Whether an answer says that what was sent is too large: an item or a key of the table, all of a
/// transaction, an object. DynamoDB has no code of its own for that.
pub(crate) fn is_too_large(code: &str, message: &str) -> bool {
    match code {
        "EntityTooLarge" | "RequestEntityTooLarge" | "RequestTooLarge" => true,
        "ValidationException" | "ValidationError" => {
            let message = message.to_ascii_lowercase();
            message.contains("size") && message.contains("exceed")
        }
        _ => false,
    }
}

/// A request, for error texts and logs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AwsRequest<'a> {
    /// The operation has the name that AWS gives it, such as `PutItem`.
    pub(crate) operation: &'static str,
    /// The table, bucket, function or group it is about.
    pub(crate) on: &'a str,
}

/// The longest text of an error. What follows is the SDK's debug output of the response.
const MAX_TEXT: usize = 500;

/// Codes that a retry does not mend.
fn is_misconfigured(code: &str) -> bool {
    matches!(
        code,
        "AccessDenied"
            | "AccessDeniedException"
            | "IncompleteSignature"
            | "InvalidSignatureException"
            | "NoSuchBucket"
            | "ResourceNotFoundException"
            | "SignatureDoesNotMatch"
            | "UnrecognizedClientException"
            | "ValidationException"
    )
}

/// The code of an item of a transaction whose condition failed.
pub(crate) const CONDITION_FAILED: &str = "ConditionalCheckFailed";

/// Codes of a transaction, or of one of its items, that say that it may succeed when it is made
/// again. A failed condition is none of them.
pub(crate) fn is_retryable_cancellation(code: &str) -> bool {
    matches!(
        code,
        "TransactionConflict"
            | "ThrottlingError"
            | "ProvisionedThroughputExceeded"
            | "TransactionInProgressException"
    ) || is_throttled(code)
}

/// Codes of a request as a whole that say that there is no room for it at the moment.
pub(crate) fn is_throttled(code: &str) -> bool {
    matches!(
        code,
        "ProvisionedThroughputExceededException" | "RequestLimitExceeded" | "ThrottlingException"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::error::ErrorMetadata;
    use aws_sdk_dynamodb::operation::put_item::PutItemError;
    use aws_sdk_dynamodb::types::error::{
        ProvisionedThroughputExceededException, ResourceNotFoundException,
    };

    #[test]
    fn a_refusal_names_the_operation_and_the_table() {
        let request = AwsRequest { operation: "PutItem", on: "djinn-table" };
        for cause in [
            PutItemError::ResourceNotFoundException(ResourceNotFoundException::builder().build()),
            PutItemError::ProvisionedThroughputExceededException(
                ProvisionedThroughputExceededException::builder().build(),
            ),
        ] {
            let error: SdkError<PutItemError, ()> = SdkError::service_error(cause, ());
            let StoreError::Unavailable(text) = store_error(request, &error) else {
                panic!("{error:?}");
            };
            assert!(text.starts_with("PutItem on djinn-table: "), "{text}");
            assert!(text.len() <= MAX_TEXT);
        }
    }

    #[test]
    fn what_is_too_large_is_told_from_all_other_refusals() {
        let refused = |code: &str, message: &str| {
            let meta = ErrorMetadata::builder().code(code).message(message).build();
            let cause = PutItemError::generic(meta);
            let error: SdkError<PutItemError, ()> = SdkError::service_error(cause, ());
            store_error(AwsRequest { operation: "PutItem", on: "djinn-table" }, &error)
        };
        for (code, message) in [
            ("ValidationException", "Item size has exceeded the maximum allowed size"),
            ("ValidationException", "Item size to update has exceeded the maximum allowed size"),
            (
                "ValidationException",
                "One or more parameter values were invalid: Aggregated size of all range keys has \
                 exceeded the size limit of 1024 bytes",
            ),
            (
                "ValidationException",
                "Collection size of items exceeded, which can also be caused by the aggregate size \
                 of the items in the transaction exceeding the 4MB limit",
            ),
            ("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size"),
        ] {
            let error = refused(code, message);
            assert!(matches!(error, StoreError::TooLarge(_)), "{message}: {error:?}");
            assert!(!error.is_retryable());
        }
        for (code, message) in [
            ("ValidationException", "The provided key element does not match the schema"),
            ("ThrottlingException", "Rate exceeded, reduce the size of your requests"),
            ("", ""),
        ] {
            assert!(matches!(refused(code, message), StoreError::Unavailable(_)), "{message}");
        }
    }

    #[test]
    fn only_conflicts_and_throttling_are_tried_again() {
        assert!(is_retryable_cancellation("TransactionConflict"));
        assert!(is_retryable_cancellation("ThrottlingError"));
        assert!(is_retryable_cancellation("ThrottlingException"));
        for never in ["ConditionalCheckFailed", "ValidationError", "None", ""] {
            assert!(!is_retryable_cancellation(never), "{never}");
        }
    }
}
