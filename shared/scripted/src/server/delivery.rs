//! Sending a response chunk by chunk.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::http::{self, StatusCode, header};
use tokio::sync::watch;

use crate::gate::ChunkGate;
use crate::request::{RecordedRequest, ResponseDelivery};
use crate::response::{ResponseEnding, STAMP, ScriptedResponse};

/// Waits until the server is dropped.
pub(super) async fn wait_for_stop(mut running: watch::Receiver<()>) {
    while running.changed().await.is_ok() {}
}

/// Returns a response outside of the script.
pub(super) fn plain_response(status: StatusCode, why: String) -> http::Response<Body> {
    let mut response = http::Response::new(Body::from(why));
    *response.status_mut() = status;
    response
}

pub(super) async fn deliver_response(
    request: &RecordedRequest,
    response: ScriptedResponse,
    running: watch::Receiver<()>,
) -> http::Response<Body> {
    let encoding = request.protocol().encode_response(&response, request);
    // The pauses are before every chunk but the first, and before the end.
    let pauses = u32::try_from(encoding.chunks.len()).unwrap_or(u32::MAX).max(1);
    let feed = ChunkFeed {
        chunks: encoding.chunks.into(),
        gates: response.gates,
        delay: response.total_time.map(|whole| whole / pauses).or(response.delay),
        ending: response.ending,
        at_once: response.at_once,
        stamped: response.has_stamps,
        position: 0,
        delivery: request.start_delivery(),
        running,
    };
    if matches!(feed.ending, ResponseEnding::Silent) {
        wait_for_stop(feed.running.clone()).await;
    }
    let mut built = http::Response::builder()
        .status(encoding.status)
        .header(header::CONTENT_TYPE, encoding.content_type);
    for (name, value) in response.headers {
        built = built.header(name, value);
    }
    let body = Body::from_stream(futures::stream::unfold(feed, ChunkFeed::next_chunk));
    built.body(body).unwrap_or_else(|error| {
        let why = format!("the script's status or headers are invalid: {error}");
        plain_response(StatusCode::INTERNAL_SERVER_ERROR, why)
    })
}

/// The body of a response in progress.
struct ChunkFeed {
    chunks: VecDeque<Vec<u8>>,
    gates: Vec<(usize, ChunkGate)>,
    delay: Option<Duration>,
    ending: ResponseEnding,
    at_once: bool,
    stamped: bool,
    /// The number of chunks handed over.
    position: usize,
    delivery: ResponseDelivery,
    running: watch::Receiver<()>,
}

impl ChunkFeed {
    async fn next_chunk(mut self) -> Option<(io::Result<Bytes>, Self)> {
        if !self.at_once {
            // Yielding once makes the HTTP server flush, so every chunk is sent separately.
            tokio::task::yield_now().await;
        }
        let running = self.running.clone();
        let chunk = tokio::select! {
            chunk = self.await_chunk() => chunk,
            () = wait_for_stop(running) => Err(aborted_error("the server stopped")),
        };
        let chunk = chunk.transpose();
        match &chunk {
            Some(Ok(bytes)) => {
                self.position += 1;
                self.delivery.record_chunk(bytes.len());
            }
            Some(Err(_)) | None => self.delivery.mark_complete(),
        }
        chunk.map(|chunk| (chunk, self))
    }

    /// Returns the next chunk when due, or `None` at the end.
    async fn await_chunk(&mut self) -> io::Result<Option<Bytes>> {
        match self.ending {
            ResponseEnding::HangAfter(chunks) if chunks <= self.position => pending().await,
            ResponseEnding::CutAfter(chunks) if chunks <= self.position => {
                return Err(aborted_error("the script cuts here"));
            }
            _ => {}
        }
        for (_, gate) in self.gates.iter().filter(|(at, _)| *at == self.position) {
            gate.pass().await;
        }
        if let (Some(delay), 1..) = (self.delay, self.position) {
            tokio::time::sleep(delay).await;
        }
        let mut chunk = self.chunks.pop_front();
        if let Some(chunk) = chunk.as_mut().filter(|_| self.stamped) {
            stamp_chunk(chunk);
        }
        Ok(chunk.map(Bytes::from))
    }
}

/// Replaces the stamp in a chunk by the current time, if present.
#[expect(clippy::disallowed_methods, reason = "another process compares it with its own clock")]
fn stamp_chunk(chunk: &mut [u8]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let stamp = format!("@{:0width$}", now.as_micros(), width = STAMP.len() - 1);
    let place = chunk.windows(STAMP.len()).position(|bytes| bytes == STAMP.as_bytes());
    let place = place.and_then(|at| chunk.get_mut(at..at + stamp.len()));
    if let Some(place) = place {
        place.copy_from_slice(stamp.as_bytes());
    }
}

fn aborted_error(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, why)
}
