//! The Invoke API, for AWS SDKs.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::LambdaRegion;
use super::function::ResponsePieces;

pub(crate) async fn handle_invoke(
    State(region): State<Arc<LambdaRegion>>,
    Path(function): Path<String>,
    headers: HeaderMap,
    payload: Bytes,
) -> Response {
    let Some(deployment) = region.find_function(&function) else {
        return error_response(StatusCode::NOT_FOUND, "ResourceNotFoundException");
    };
    let kind = headers.get("x-amz-invocation-type").and_then(|kind| kind.to_str().ok());
    if kind == Some("Event") {
        deployment.invoke_later(&region, &payload);
        return StatusCode::ACCEPTED.into_response();
    }
    let tenant = headers.get("x-amz-tenant-id").and_then(|tenant| tenant.to_str().ok());
    let Some(pieces) = deployment.invoke(&region, payload, tenant.map(str::to_owned)) else {
        return error_response(StatusCode::TOO_MANY_REQUESTS, "TooManyRequestsException");
    };
    match collect_pieces(pieces).await {
        Some(body) => body.into_response(),
        None => {
            let body = json!({"errorMessage": "the function did not respond"});
            ([("x-amz-function-error", "Unhandled")], axum::Json(body)).into_response()
        }
    }
}

/// Returns a complete response; `None` if missing or incomplete.
async fn collect_pieces(mut pieces: ResponsePieces) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let mut any = false;
    while let Some(piece) = pieces.recv().await {
        any = true;
        body.extend_from_slice(&piece.ok()?);
    }
    any.then_some(body)
}

pub(crate) fn error_response(status: StatusCode, kind: &'static str) -> Response {
    let body = axum::Json(json!({"message": kind, "Type": "User"}));
    (status, [("x-amzn-errortype", kind)], body).into_response()
}
