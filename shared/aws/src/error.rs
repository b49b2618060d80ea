//! The classification of AWS errors.

use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use djinn_runtime::port::StoreError;

/// Converts a failed request into the caller's error.
///
/// Data above an AWS size limit returns `TooLarge`. Errors of a wrong deployment return `Denied`, and their
/// operation and target are logged here. All other failures return `Unavailable`: throttling, 5xx, timeouts and
/// lost connections after the SDK's retries.
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
    let text = format!("{operation} on {on}: {}", DisplayErrorContext(error));
    let text = text.chars().take(MAX_TEXT).collect();
    if MISCONFIGURED.contains(&code) {
        tracing::error!(operation, on, code, "denied: check the name and the function's policy");
        StoreError::Denied(text)
    } else {
        StoreError::Unavailable(text)
    }
}

/// Returns the error for data above an AWS size limit.
pub(crate) fn too_large_error(request: AwsRequest<'_>, code: &str) -> StoreError {
    let AwsRequest { operation, on } = request;
    StoreError::TooLarge(format!("{operation} on {on}: {code}"))
}

/// Returns true if a response means excessive size: of an item, a key, a transaction or an object. DynamoDB
/// has no specific code for excessive size.
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
    /// AWS's name for the operation, such as `PutItem`.
    pub(crate) operation: &'static str,
    /// The table, bucket, function or group of the request.
    pub(crate) on: &'a str,
}

/// Maximum length of an error text. The rest would be the SDK's debug output of the response.
const MAX_TEXT: usize = 500;

/// Codes of a wrong deployment.
const MISCONFIGURED: [&str; 9] = [
    "AccessDenied",
    "AccessDeniedException",
    "IncompleteSignature",
    "InvalidSignatureException",
    "NoSuchBucket",
    "ResourceNotFoundException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
    "ValidationException",
];

/// The code for a failed condition of a transaction's item.
pub(crate) const CONDITION_FAILED: &str = "ConditionalCheckFailed";

/// Returns true if the code of a transaction, or of an item within, allows a retry. A failed condition does
/// not.
pub(crate) fn is_retryable_cancellation(code: &str) -> bool {
    matches!(
        code,
        "TransactionConflict"
            | "ThrottlingError"
            | "ProvisionedThroughputExceeded"
            | "TransactionInProgressException"
    ) || is_throttled(code)
}

/// Returns true for codes of throttled requests.
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
        let code = ErrorMetadata::builder().code("ResourceNotFoundException").build();
        let missing = ResourceNotFoundException::builder().meta(code).build();
        let throttled = ProvisionedThroughputExceededException::builder().build();
        for (cause, is_denied) in [
            (PutItemError::ResourceNotFoundException(missing), true),
            (PutItemError::ProvisionedThroughputExceededException(throttled), false),
        ] {
            let error: SdkError<PutItemError, ()> = SdkError::service_error(cause, ());
            let error = store_error(request, &error);
            assert!(error.is_temporary() && error.is_retryable() != is_denied, "{error:?}");
            let (StoreError::Unavailable(text) | StoreError::Denied(text)) = error else {
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
        for (code, message, is_denied) in [
            ("ValidationException", "The provided key element does not match the schema", true),
            ("AccessDeniedException", "is not authorized to perform", true),
            ("AccessDenied", "Access Denied", true),
            ("ThrottlingException", "Rate exceeded, reduce the size of your requests", false),
            ("", "", false),
        ] {
            let error = refused(code, message);
            assert_eq!(matches!(error, StoreError::Denied(_)), is_denied, "{message}: {error:?}");
            assert!(error.is_temporary() && error.is_retryable() != is_denied, "{message}");
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
