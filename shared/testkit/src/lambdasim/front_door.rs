//! A function URL: converts an HTTP request to a v2 event, and the streamed response to an HTTP response.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_runtime::port::clock::{Clock as _, SystemClock};
use futures::stream;
use serde::Deserialize;
use serde_json::{Value, json};

use super::LambdaRegion;
use super::function::ResponsePieces;
use super::invoke_api::error_response;

/// The bytes between the prelude and the body of a streamed response.
const DELIMITER: [u8; 8] = [0; 8];

/// The maximum bytes of a request body, as on Lambda.
const MAX_BODY: usize = 6 * 1024 * 1024;

/// The beginning of a streamed response.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prelude {
    status_code: u16,
    #[serde(default)]
    headers: BTreeMap<String, HeaderValues>,
}

/// The path of a request to a function URL.
#[derive(Deserialize)]
pub(crate) struct FunctionPath {
    function: String,
    /// Empty for the root.
    #[serde(default)]
    path: String,
}

/// One or several values of a header.
#[derive(Deserialize)]
#[serde(untagged)]
enum HeaderValues {
    One(String),
    Many(Vec<String>),
}

pub(crate) async fn handle_request(
    State(region): State<Arc<LambdaRegion>>,
    Path(FunctionPath { function, path }): Path<FunctionPath>,
    request: Request<Body>,
) -> Response {
    let Some(deployment) = region.find_function(&function) else {
        return error_response(StatusCode::NOT_FOUND, "ResourceNotFoundException");
    };
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let Ok(text) = std::str::from_utf8(&body) else {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    };
    let payload = build_event(&parts, &format!("/{path}"), text).to_string();
    match deployment.invoke(&region, Bytes::from(payload), None) {
        Some(pieces) => {
            build_response(pieces).await.unwrap_or_else(|| StatusCode::BAD_GATEWAY.into_response())
        }
        None => error_response(StatusCode::TOO_MANY_REQUESTS, "TooManyRequestsException"),
    }
}

fn build_event(parts: &Parts, path: &str, body: &str) -> Value {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in &parts.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let header_value = headers.entry(name.as_str().to_owned()).or_default();
        if !header_value.is_empty() {
            header_value.push(',');
        }
        header_value.push_str(&value);
    }
    let user_agent = headers.get("user-agent").cloned().unwrap_or_default();
    let domain = headers.get("host").cloned().unwrap_or_default();
    json!({
        "version": "2.0", "routeKey": "$default",
        "rawPath": path, "rawQueryString": parts.uri.query().unwrap_or_default(),
        "headers": headers,
        "requestContext": {
            "accountId": "anonymous", "apiId": "lambdasim", "domainName": domain,
            "domainPrefix": "lambdasim", "requestId": "request", "routeKey": "$default",
            "stage": "$default", "time": "", "timeEpoch": SystemClock.now_ms(),
            "http": {"method": parts.method.as_str(), "path": path, "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1", "userAgent": user_agent},
        },
        "body": body, "isBase64Encoded": false,
    })
}

/// Builds the response from its prelude, with a streaming body; `None` without a prelude.
async fn build_response(mut pieces: ResponsePieces) -> Option<Response> {
    let mut buffer: Vec<u8> = Vec::new();
    let end = loop {
        let place = buffer.windows(DELIMITER.len()).position(|window| window == DELIMITER);
        match place {
            Some(end) => break end,
            None => buffer.extend_from_slice(&pieces.recv().await?.ok()?),
        }
    };
    let rest = buffer.split_off(end + DELIMITER.len());
    buffer.truncate(end);
    let prelude: Prelude = serde_json::from_slice(&buffer).ok()?;
    // An error closes the connection, so that the client does not see a regular end.
    let first = stream::iter([io::Result::Ok(Bytes::from(rest))]);
    let others = stream::unfold(pieces, async |mut pieces| {
        let piece = pieces.recv().await?;
        Some((piece, pieces))
    });
    let mut response = Response::new(Body::from_stream(futures::StreamExt::chain(first, others)));
    *response.status_mut() = StatusCode::from_u16(prelude.status_code).ok()?;
    for (name, values) in prelude.headers {
        let name = HeaderName::try_from(name).ok()?;
        let values = match values {
            HeaderValues::One(value) => vec![value],
            HeaderValues::Many(values) => values,
        };
        for value in values {
            response.headers_mut().append(&name, HeaderValue::try_from(value).ok()?);
        }
    }
    Some(response)
}
