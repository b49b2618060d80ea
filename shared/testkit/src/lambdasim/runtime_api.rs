//! The Runtime API: what a function's process asks for, and what it answers.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use tokio::sync::oneshot;

use super::environment::{Environment, Reply, Signal};
use super::{Region, locked};

/// What becomes of a process whose environment is not known: nothing.
const GONE: StatusCode = StatusCode::GONE;

pub(crate) async fn next(
    State(region): State<Arc<Region>>,
    Path(environment): Path<u64>,
) -> Response {
    let (waiting, event) = oneshot::channel();
    let asked = region.environment(environment).map(|known| known.polls.send(waiting));
    let Some(Ok(())) = asked else { return GONE.into_response() };
    let Ok(event) = event.await else { return GONE.into_response() };
    let arn = format!("arn:aws:lambda:us-east-1:000000000000:function:{}", event.function);
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("lambda-runtime-aws-request-id", event.request),
        ("lambda-runtime-deadline-ms", event.deadline_ms.to_string()),
        ("lambda-runtime-invoked-function-arn", arn),
    ];
    (headers, event.payload).into_response()
}

/// Passes a response on piece by piece, buffered or streaming; it is answered when all of it is here.
pub(crate) async fn response(
    State(region): State<Arc<Region>>,
    Path((environment, request)): Path<(u64, String)>,
    body: Body,
) -> StatusCode {
    let Some(environment) = region.environment(environment) else { return GONE };
    let reply = match environment.replying(&request, false) {
        Ok(reply) => reply,
        Err(status) => return status,
    };
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let broken = piece.is_err();
        if let Some(reply) = &reply {
            // Whoever waited may have left: a function is not told, and goes on.
            let _ = reply.send(piece.map_err(io::Error::other));
        }
        if broken {
            return StatusCode::BAD_REQUEST;
        }
    }
    StatusCode::ACCEPTED
}

pub(crate) async fn error(
    State(region): State<Arc<Region>>,
    Path((environment, request)): Path<(u64, String)>,
    _: Bytes,
) -> StatusCode {
    let Some(environment) = region.environment(environment) else { return GONE };
    environment.replying(&request, true).map_or_else(|status| status, |_| StatusCode::ACCEPTED)
}

/// A process that cannot start is not waited for.
pub(crate) async fn init_error(
    State(region): State<Arc<Region>>,
    Path(environment): Path<u64>,
    _: Bytes,
) -> StatusCode {
    let Some(environment) = region.environment(environment) else { return GONE };
    environment.signal(Signal::KILL);
    StatusCode::ACCEPTED
}

impl Environment {
    /// Where the response to this request goes, if it is the one under way.
    fn replying(&self, request: &str, failed: bool) -> Result<Option<Reply>, StatusCode> {
        let mut current = locked(&self.current);
        match current.as_mut().filter(|current| current.request == request) {
            Some(current) => {
                current.failed = failed;
                Ok(current.reply.take())
            }
            None => Err(StatusCode::BAD_REQUEST),
        }
    }
}
