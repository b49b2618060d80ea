//! Streams the run of a question.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{RequestId, RunId, SessionName};
use djinn_core::journal::Record;
use djinn_protocol::connection::Connection;
use djinn_protocol::cursor::Cursor;
use djinn_runtime::client::{ClientBody, ClientStream, HandOverSignal};
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::{RunKey, SessionKey};
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{
    AccessLevel, LeasedRun, LoadedRun, ReplayFrom, ServeContext, StartResult,
    invalid_cursor_failure, replay_run, serve_client, start_streaming, store_failure,
};
use djinn_runtime::world::Ports;
use serde_json::Value;

use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::{ApiError, add_id_headers};
use crate::detached_run::start_detached;
use crate::mcp_waits::{McpWait, begin_wait};
use crate::projections::{StreamPlace, build_projection};
use crate::session_links::{RespondableRun, session_links};
use crate::slots::{StreamSlot, StreamSlots};
pub(crate) use crate::stream_protocol::StreamProtocol;
use crate::user_stream::UserStream;

/// A question with the format of the response.
pub(crate) struct StreamRequest {
    pub(crate) question: UserQuestion,
    pub(crate) protocol: StreamProtocol,
    /// True if text is streamed while the model writes.
    pub(crate) previews: bool,
}

/// Starts the question's run and streams the events.
pub(crate) async fn stream_question<P: AgentPorts>(
    agent: &SharedAgent<P>,
    parts: &Parts,
    ask: StreamRequest,
) -> Result<Response, ApiError> {
    let mut permits = ResponsePermits::acquire_process(agent, parts).await?;
    // For `continue`, the stream is expected to be of the session's active run.
    let question = &ask.question;
    let is_limited = agent.ports.settings().user.streams.is_some();
    let active = if is_limited && question.is_continue() {
        let view = agent.ports.store().load_session(&question.session_key()).await;
        view.map_err(|error| store_failure(&error))?.active
    } else {
        None
    };
    let run = active.unwrap_or_else(|| question.run_key().run);
    permits.user = UserStream::acquire(agent, parts, run).await?;
    let stream = open_run(agent, parts, ask).await;
    permits.into_response(agent, parts, stream).await
}

async fn open_run<P: AgentPorts>(
    agent: &SharedAgent<P>,
    parts: &Parts,
    ask: StreamRequest,
) -> Result<ResponseStream, ApiError> {
    let StreamRequest { question, protocol, previews } = ask;
    let (cursor, loaded_run) = read_cursor(agent, &parts.headers, &question).await?.unzip();
    let holder = new_holder(agent);
    let session = question.session_key();
    let session_name = question.spec.session_name();
    let request = question.spec.request.clone();
    let start = if protocol.max_wait().is_some() {
        let key = start_detached(agent, question).await?;
        let run = Box::new(LoadedRun::load(&agent.ports, &key).await?);
        StartResult::Existing { run, request_record: None }
    } else {
        start_streaming(&agent.ports, question, &holder, loaded_run).await?
    };
    let (key, begin) = match start {
        StartResult::New { key, leased_run: driving, first_record: first } => {
            (key, StreamStart::Driving(driving, first))
        }
        StartResult::Existing { run, request_record, .. } => {
            let request_record = request_record.and_then(|n| protocol.first_record_below(n));
            let from = cursor.map_or(
                request_record.map_or(ReplayStart::Start, ReplayStart::Record),
                ReplayStart::After,
            );
            (run.key().clone(), StreamStart::Existing(run, from))
        }
    };
    let viewer = AccessLevel::Asker;
    let subscription =
        RunSubscription { key, session, session_name, request, protocol, previews, viewer };
    serve_stream(agent, parts, subscription, holder, begin).await
}

/// Streams an existing run to a returning client, from this position.
pub(crate) async fn stream_run<P: AgentPorts>(
    agent: &SharedAgent<P>,
    parts: &Parts,
    subscription: RunSubscription,
    run: LoadedRun,
    from: ReplayStart,
) -> Result<Response, ApiError> {
    let mut permits = ResponsePermits::acquire_process(agent, parts).await?;
    permits.user = UserStream::acquire(agent, parts, subscription.key.run.clone()).await?;
    let begin = StreamStart::Existing(Box::new(run), from);
    let stream = serve_stream(agent, parts, subscription, new_holder(agent), begin).await;
    permits.into_response(agent, parts, stream).await
}

/// The permits of a stream: a slot of this process, and a permit of the caller. Beside them, the wait of a call.
struct ResponsePermits {
    user: Option<UserStream>,
    wait: Option<Arc<McpWait>>,
    _process: Option<StreamSlot>,
}

impl ResponsePermits {
    async fn acquire_process<P: Ports>(agent: &Agent<P>, parts: &Parts) -> Result<Self, ApiError> {
        let process = match parts.extensions.get::<Arc<StreamSlots>>() {
            Some(slots) => Some(slots.acquire(agent.ports.clock()).await?),
            None => None,
        };
        Ok(Self { user: None, wait: None, _process: process })
    }

    /// Returns the response with the permits. An error response needs none: the permits are released first,
    /// because Lambda may freeze the function after the response.
    async fn into_response<P: AgentPorts>(
        mut self,
        agent: &SharedAgent<P>,
        parts: &Parts,
        streamed: Result<ResponseStream, ApiError>,
    ) -> Result<Response, ApiError> {
        match streamed {
            Ok(ResponseStream { body, media_type, headers: own, run, request, call, recall }) => {
                self.wait =
                    call.zip(recall.clone()).and_then(|(call, end)| begin_wait(parts, call, end));
                if let (Some(user), Some(recall)) = (&self.user, recall) {
                    user.watch_permit(agent, recall);
                }
                let headers = [
                    (CONTENT_TYPE, HeaderValue::from_static(media_type)),
                    (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
                    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
                ];
                let body = Body::from_stream(ResponseFrames { body, permits: self });
                let mut response = (headers, own, body).into_response();
                add_id_headers(response.headers_mut(), Some(&run), Some(&request));
                Ok(response)
            }
            Err(refusal) => {
                if let Some(user) = &mut self.user {
                    poll_fn(|cx| user.poll_release(cx)).await;
                }
                Err(refusal)
            }
        }
    }
}

/// The content of a streamed response.
struct ResponseStream {
    body: ClientBody,
    media_type: &'static str,
    /// The protocol's own headers.
    headers: HeaderMap,
    run: RunId,
    request: RequestId,
    /// The id of a call that its client may cancel.
    call: Option<Value>,
    /// The signal for ending the stream after losing the permit; `None` for a driver, which keeps driving the
    /// run.
    recall: Option<HandOverSignal>,
}

/// A run and the format for a client.
pub(crate) struct RunSubscription {
    pub(crate) key: RunKey,
    pub(crate) session: SessionKey,
    pub(crate) session_name: SessionName,
    pub(crate) request: RequestId,
    pub(crate) protocol: StreamProtocol,
    /// True if text is streamed while the model writes.
    pub(crate) previews: bool,
    /// The client's access level; the asker may respond to human requests.
    pub(crate) viewer: AccessLevel,
}

/// The start of a response.
enum StreamStart {
    /// A run driven by this invocation, with the first record.
    Driving(Box<LeasedRun>, Box<Record>),
    /// An existing run; the client receives the missing records.
    Existing(Box<LoadedRun>, ReplayStart),
}

impl StreamStart {
    /// Returns the number of the first record for the client.
    fn first_record(&self) -> u64 {
        match self {
            Self::Driving(..) | Self::Existing(_, ReplayStart::Start) => 0,
            Self::Existing(_, ReplayStart::After(cursor)) => cursor.record.saturating_add(1),
            Self::Existing(_, ReplayStart::Record(n)) => *n,
        }
    }
}

/// The client's position in an existing run.
pub(crate) enum ReplayStart {
    /// From the question: the client has named no position.
    Start,
    /// After the client's cursor.
    After(Cursor),
    /// From this record: the client displays the earlier records elsewhere.
    Record(u64),
}

/// Sends the missing records, and streams the run from there.
async fn serve_stream<P: Ports>(
    agent: &SharedAgent<P>,
    parts: &Parts,
    subscription: RunSubscription,
    holder: String,
    begin: StreamStart,
) -> Result<ResponseStream, ApiError> {
    let RunSubscription { key, session, session_name, request, protocol, previews, viewer } =
        subscription;
    let media_type = protocol.media_type();
    let first_record = begin.first_record();
    let max_wait = protocol.max_wait();
    let call = protocol.call_id();
    let headers = protocol.headers(&key.run, first_record);
    let is_new = matches!(begin, StreamStart::Driving(..));
    let asking = (viewer == AccessLevel::Asker).then_some(RespondableRun { run: &key, is_new });
    let public_session = session_name.to_string();
    let links = session_links(agent, parts, &session, session_name, asking).await;
    let place =
        StreamPlace { run: &key.run, request: &request, public_session, first_record, is_new };
    let projection = build_projection(agent, protocol, place, viewer, links);
    let connection = Connection::new(key.run.clone(), projection, previews);
    let now_ms = agent.ports.clock().now_ms();
    let settings = agent.ports.settings();
    let (mut client, body) = ClientStream::open(connection, settings.client_buffer, now_ms);
    client.merge_previews(settings.preview_merge_window);
    if let Some(wait) = max_wait {
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        client.end_at(now_ms.saturating_add(wait_ms));
    }
    if viewer != AccessLevel::Asker {
        client.mark_as_other_viewer();
    }
    client.send_greeting(now_ms);
    let driving = match begin {
        StreamStart::Driving(driving, first) => {
            client.send_record(&first, &[], now_ms);
            Some(driving)
        }
        StreamStart::Existing(run, position) => {
            let from = match &position {
                ReplayStart::Start => ReplayFrom::Start,
                ReplayStart::After(cursor) => ReplayFrom::After(cursor),
                ReplayStart::Record(n) => ReplayFrom::Record(*n),
            };
            replay_run(&agent.ports, &run, &mut client, from).await?;
            None
        }
    };
    let recall = driving.is_none().then(|| client.hand_over_signal());
    let run = key.run.clone();
    let serving =
        ServeContext { key, holder, deadline: invocation_deadline(agent, parts), hops: 0 };
    let ports = agent.ports.clone();
    // On Lambda the invocation lasts until the body ends, and the body until the client is dropped.
    tokio::spawn(async move { serve_client(&ports, serving, client, driving).await });
    Ok(ResponseStream { body, media_type, headers, run, request, call, recall })
}

/// Returns a unique name for this driver.
pub(crate) fn new_holder<P: Ports>(agent: &Agent<P>) -> String {
    format!("agent.{:x}.{:x}", agent.ports.clock().now_ms(), fastrand::u64(..))
}

pub(crate) fn invocation_deadline<P: Ports>(agent: &Agent<P>, parts: &Parts) -> Deadline {
    let Some(context) = parts.extensions.get::<lambda_http::Context>() else {
        return Deadline::none();
    };
    let at_ms = i64::try_from(context.deadline).unwrap_or(i64::MAX);
    let margin = agent.ports.settings().hand_over_margin;
    Deadline::from_invocation(at_ms, agent.ports.clock().now_ms(), margin)
}

/// Parses the cursor of a question and loads the cursor's run: the question's own run, or the run of a
/// `continue`. The choice is checked once the question's run is known. A cursor of another run starts no run.
async fn read_cursor<P: Ports>(
    agent: &Agent<P>,
    headers: &HeaderMap,
    question: &UserQuestion,
) -> Result<Option<(Cursor, LoadedRun)>, ApiError> {
    let Some(text) = last_event_id(headers) else { return Ok(None) };
    let own = question.run_key();
    let cursor = Cursor::parse(&text);
    let is_its = |cursor: &Cursor| cursor.run == own.run || question.is_continue();
    let Some(cursor) = cursor.filter(is_its) else {
        let failure = match LoadedRun::load(&agent.ports, &own).await {
            Ok(run) => invalid_cursor_failure(&agent.ports, &run).await,
            Err(failure) => failure,
        };
        return Err(cursor_error(&own.run, failure));
    };
    let key = RunKey::new(own.tenant, cursor.run.clone());
    match LoadedRun::load(&agent.ports, &key).await {
        Ok(run) if run.meta().user == question.spec.user => Ok(Some((cursor, run))),
        // For this caller, another user's run does not exist.
        Ok(_) => Err(cursor_error(&key.run, ErrorCode::RunNotFound.into())),
        Err(failure) => Err(cursor_error(&key.run, failure)),
    }
}

/// Returns the error of a question's cursor. A missing run becomes [`ErrorCode::BadCursor`].
fn cursor_error(run: &RunId, failure: Failure) -> ApiError {
    if failure.code != ErrorCode::RunNotFound {
        return failure.into();
    }
    let problem = format!("there is no run {run} to reconnect to: send no cursor");
    Failure::new(ErrorCode::BadCursor, problem).into()
}

/// Returns the client's last event id.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(HeaderName::from_static("last-event-id"))?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// The body's frames as bytes of a response. Reading never fails, because Lambda would write an error into
/// the stream as text. The permits are released at the end, or when the client has disconnected.
struct ResponseFrames {
    body: ClientBody,
    permits: ResponsePermits,
}

impl futures::Stream for ResponseFrames {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { body, permits } = self.get_mut();
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if let (None, Some(user)) = (&frame, &mut permits.user) {
            ready!(user.poll_release(cx));
        }
        Poll::Ready(frame.map(|frame| Ok(Bytes::from(frame))))
    }
}
