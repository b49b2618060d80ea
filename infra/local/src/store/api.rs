//! DynamoDB's HTTP API over the table, for clients with the key. dynoxide's own API accepts any signature,
//! and allows requests from any page.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use djinn_aws::{SignedRequest, is_signed};
use djinn_runtime::port::secret::Secret;
use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde_json::json;

/// Maximum size of a request in bytes, as in DynamoDB.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// The prefix of an operation's name.
const TARGET: &str = "DynamoDB_20120810.";

struct Table {
    database: Database,
    key: Secret,
}

/// Returns the routes of the operations on items, for requests signed with this key.
pub(super) fn table_routes(database: Database, key: Secret) -> Router {
    Router::new()
        .fallback(answer_request)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(Arc::new(Table { database, key }))
}

async fn answer_request(
    State(table): State<Arc<Table>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let texts =
        headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let texts: Vec<_> = texts.collect();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = SignedRequest { method: method.as_str(), path, headers: &texts, body: &body };
    if !is_signed(request, &table.key) {
        return error_response(
            "InvalidSignatureException",
            "The request is not signed with the key of this table.",
        );
    }
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    let Some(operation) = target.and_then(|target| target.strip_prefix(TARGET)) else {
        return error_response("UnknownOperationException", "The request names no operation.");
    };
    match run_operation(&table.database, operation, &body) {
        Some(Ok(json)) => json_response(StatusCode::OK, json),
        Some(Err(error)) => {
            let status = StatusCode::from_u16(error.status_code());
            json_response(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), error.to_json())
        }
        None => {
            error_response("UnknownOperationException", "This table does not know the operation.")
        }
    }
}

/// Runs an operation; returns `None` for operations on anything but items.
fn run_operation(
    database: &Database,
    operation: &str,
    body: &[u8],
) -> Option<Result<String, DynoxideError>> {
    macro_rules! call {
        ($method:ident) => {
            serde_json::from_slice(body)
                .map_err(|error| DynoxideError::SerializationException(error.to_string()))
                .and_then(|request| database.$method(request))
                .and_then(|answer| to_json(&answer))
        };
    }
    Some(match operation {
        "BatchGetItem" => call!(batch_get_item),
        "BatchWriteItem" => call!(batch_write_item),
        "DeleteItem" => call!(delete_item),
        "GetItem" => call!(get_item),
        "PutItem" => call!(put_item),
        "Query" => call!(query),
        "Scan" => call!(scan),
        "TransactGetItems" => call!(transact_get_items),
        "TransactWriteItems" => call!(transact_write_items),
        "UpdateItem" => call!(update_item),
        _ => return None,
    })
}

fn to_json<T: Serialize>(answer: &T) -> Result<String, DynoxideError> {
    serde_json::to_string(answer)
        .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

fn error_response(code: &str, message: &str) -> Response {
    let json = json!({"__type": format!("com.amazon.coral.service#{code}"), "message": message});
    json_response(StatusCode::BAD_REQUEST, json.to_string())
}

fn json_response(status: StatusCode, json: String) -> Response {
    (status, [(CONTENT_TYPE, "application/x-amz-json-1.0")], json).into_response()
}
