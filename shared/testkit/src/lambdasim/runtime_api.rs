//! The Runtime API for the processes of functions.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{AppendHeaders, IntoResponse, Response};
use futures::StreamExt as _;
use tokio::sync::oneshot;

use super::environment::{Environment, ReplySender, Signal};
use super::{LambdaRegion, lock};

/// The status for a process with an unknown environment.
const GONE: StatusCode = StatusCode::GONE;

pub(crate) async fn next_invocation(
    State(region): State<Arc<LambdaRegion>>,
    Path(environment): Path<u64>,
) -> Response {
    let (waiting, event) = oneshot::channel();
    let poll = region.find_environment(environment).map(|instance| instance.polls.send(waiting));
    let Some(Ok(())) = poll else { return GONE.into_response() };
    let Ok(event) = event.await else { return GONE.into_response() };
    let arn = format!("arn:aws:lambda:us-east-1:000000000000:function:{}", event.function);
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("lambda-runtime-aws-request-id", event.request),
        ("lambda-runtime-deadline-ms", event.deadline_ms.to_string()),
        ("lambda-runtime-invoked-function-arn", arn),
    ];
    headers.extend(event.tenant.map(|tenant| ("lambda-runtime-aws-tenant-id", tenant)));
    (AppendHeaders(headers), event.payload).into_response()
}

/// Forwards a response piece by piece, buffered or streaming; returns after the last piece.
pub(crate) async fn post_response(
    State(region): State<Arc<LambdaRegion>>,
    Path((environment, request)): Path<(u64, String)>,
    body: Body,
) -> StatusCode {
    let Some(environment) = region.find_environment(environment) else { return GONE };
    let reply = match environment.take_reply(&request, false) {
        Ok(reply) => reply,
        Err(status) => return status,
    };
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let is_broken = piece.is_err();
        if let Some(reply) = &reply {
            // The client may have disconnected: the function is not notified, and continues.
            let _ = reply.send(piece.map_err(io::Error::other));
        }
        if is_broken {
            return StatusCode::BAD_REQUEST;
        }
    }
    StatusCode::ACCEPTED
}

pub(crate) async fn post_error(
    State(region): State<Arc<LambdaRegion>>,
    Path((environment, request)): Path<(u64, String)>,
    _: Bytes,
) -> StatusCode {
    let Some(environment) = region.find_environment(environment) else { return GONE };
    environment.take_reply(&request, true).map_or_else(|status| status, |_| StatusCode::ACCEPTED)
}

/// Kills a process that reports a failed start.
pub(crate) async fn post_init_error(
    State(region): State<Arc<LambdaRegion>>,
    Path(environment): Path<u64>,
    _: Bytes,
) -> StatusCode {
    let Some(environment) = region.find_environment(environment) else { return GONE };
    environment.signal(Signal::KILL);
    StatusCode::ACCEPTED
}

impl Environment {
    /// Returns the channel for the response to this request, if in progress.
    fn take_reply(
        &self,
        request: &str,
        has_failed: bool,
    ) -> Result<Option<ReplySender>, StatusCode> {
        let mut current = lock(&self.current);
        match current.as_mut().filter(|current| current.request == request) {
            Some(current) => {
                current.has_failed = has_failed;
                Ok(current.reply.take())
            }
            None => Err(StatusCode::BAD_REQUEST),
        }
    }
}
