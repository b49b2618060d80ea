//! From a question to a response that streams its run.

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
use djinn_protocol::connection::{Connection, Projection};
use djinn_protocol::cursor::Cursor;
use djinn_protocol::joyagent::{JoyAgent, ToolSchemas, Translator};
use djinn_protocol::joyagent_ui::JoyAgentUi;
use djinn_protocol::native::NativeProjection;
use djinn_runtime::client::{ClientBody, ClientStream, HandOverSignal};
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::{RunKey, SessionKey};
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{
    AccessLevel, LeasedRun, LoadedRun, ReplayFrom, ServeContext, StartResult,
    invalid_cursor_failure, replay_run, serve_client, start_streaming, store_failure, tool_schema,
};
use djinn_runtime::world::Ports;

use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::{ApiError, add_id_headers};
use crate::session_links::{AnswerableRun, session_links};
use crate::slots::{StreamSlot, StreamSlots};
use crate::user_stream::UserStream;

/// The protocol a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamProtocol {
    /// The client reads JoyAgent's raw events, as `POST /AutoAgent` sends them.
    JoyAgent,
    /// The client reads what JoyAgent's UI does, as `queryAgentStreamIncr` sends it.
    JoyAgentUi,
    /// The client reads the events of our own protocol, as `POST /runs` sends them.
    Native,
}

impl StreamProtocol {
    /// Whether its clients show what follows a message below that message: there an answer is not
    /// followed by the whole run once more.
    fn has_thread_per_message(self) -> bool {
        match self {
            Self::JoyAgent | Self::JoyAgentUi => true,
            Self::Native => false,
        }
    }
}

/// A question with how it wants to be answered.
pub(crate) struct StreamRequest {
    pub(crate) question: UserQuestion,
    pub(crate) protocol: StreamProtocol,
    /// Whether text is sent as it is written.
    pub(crate) previews: bool,
}

/// Opens the question's run and streams it.
pub(crate) async fn stream_question<P: AgentPorts>(
    agent: &SharedAgent<P>,
    parts: &Parts,
    ask: StreamRequest,
) -> Result<Response, ApiError> {
    let mut permits = ResponsePermits::acquire_process(agent, parts).await?;
    permits.user =
        UserStream::acquire(agent, parts, find_streamed_run(agent, &ask.question).await?).await?;
    let streamed = open_run(agent, parts, ask).await;
    permits.into_response(agent, streamed).await
}

/// The run that a question is about, as far as that can be told before it is opened: with `continue` the
/// session's active one, else its own.
async fn find_streamed_run<P: Ports>(
    agent: &Agent<P>,
    question: &UserQuestion,
) -> Result<RunId, ApiError> {
    let own = question.run_key().run;
    if !question.is_continue() || agent.ports.settings().user.streams.is_none() {
        return Ok(own);
    }
    let view = agent.ports.store().load_session(&question.session_key()).await;
    Ok(view.map_err(|error| store_failure(&error))?.active.unwrap_or(own))
}

async fn open_run<P: AgentPorts>(
    agent: &SharedAgent<P>,
    parts: &Parts,
    ask: StreamRequest,
) -> Result<ResponseStream, ApiError> {
    let StreamRequest { question, protocol, previews } = ask;
    let (cursor, known) = read_cursor(agent, &parts.headers, &question).await?.unzip();
    let holder = new_holder(agent);
    let (session, session_name) = (question.session_key(), question.session_name());
    let request = question.request.clone();
    let opened = start_streaming(&agent.ports, question, &holder, known).await?;
    let (key, begin) = match opened {
        StartResult::New { key, leased_run: driving, first_record: first } => {
            (key, StreamStart::Driving(driving, Box::new(first)))
        }
        StartResult::Existing { run, request_record: asked_in, .. } => {
            let asked_in = asked_in.filter(|_| protocol.has_thread_per_message());
            let from = cursor.map_or(
                asked_in.map_or(ReplayStart::Start, ReplayStart::Record),
                ReplayStart::After,
            );
            (run.key().clone(), StreamStart::Existing(run, from))
        }
    };
    let viewer = AccessLevel::Asker;
    let shown = RunSubscription { key, session, session_name, request, protocol, previews, viewer };
    serve_stream(agent, parts, shown, holder, begin).await
}

/// Streams a run that exists, to a client that comes back to it.
pub(crate) async fn stream_run<P: AgentPorts>(
    agent: &SharedAgent<P>,
    parts: &Parts,
    shown: RunSubscription,
    run: LoadedRun,
    cursor: Option<Cursor>,
) -> Result<Response, ApiError> {
    let mut permits = ResponsePermits::acquire_process(agent, parts).await?;
    permits.user = UserStream::acquire(agent, parts, shown.key.run.clone()).await?;
    let from = cursor.map_or(ReplayStart::Start, ReplayStart::After);
    let begin = StreamStart::Existing(Box::new(run), from);
    let streamed = serve_stream(agent, parts, shown, new_holder(agent), begin).await;
    permits.into_response(agent, streamed).await
}

/// What a response takes up while it is streamed: a slot of this process, and a permit of the caller's.
struct ResponsePermits {
    user: Option<UserStream>,
    _process: Option<StreamSlot>,
}

impl ResponsePermits {
    async fn acquire_process<P: Ports>(agent: &Agent<P>, parts: &Parts) -> Result<Self, ApiError> {
        let process = match parts.extensions.get::<Arc<StreamSlots>>() {
            Some(slots) => Some(slots.acquire(agent.ports.clock()).await?),
            None => None,
        };
        Ok(Self { user: None, _process: process })
    }

    /// The response that has them. A refusal needs none: they are free before it leaves, since a function may
    /// be frozen then.
    async fn into_response<P: AgentPorts>(
        mut self,
        agent: &SharedAgent<P>,
        streamed: Result<ResponseStream, ApiError>,
    ) -> Result<Response, ApiError> {
        match streamed {
            Ok(ResponseStream { body, run, request, recall }) => {
                if let (Some(user), Some(recall)) = (&self.user, recall) {
                    user.watch_permit(agent, recall);
                }
                let mut response = event_stream_response(ResponseFrames { body, permits: self });
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

/// What a response streams.
struct ResponseStream {
    body: ClientBody,
    run: RunId,
    request: RequestId,
    /// What ends it for want of a place: who drives a run does not leave it for that.
    recall: Option<HandOverSignal>,
}

/// A run, and how a client is shown it.
pub(crate) struct RunSubscription {
    pub(crate) key: RunKey,
    pub(crate) session: SessionKey,
    /// The session as this client names it.
    pub(crate) session_name: SessionName,
    pub(crate) request: RequestId,
    pub(crate) protocol: StreamProtocol,
    /// Whether text is sent as it is written.
    pub(crate) previews: bool,
    /// What this client is to the run: who asked may answer what it asks.
    pub(crate) viewer: AccessLevel,
}

/// Where a response begins.
enum StreamStart {
    /// With a run of this invocation's own, and its first record.
    Driving(Box<LeasedRun>, Box<Record>),
    /// The run was there before; its client is sent what it has not had.
    Existing(Box<LoadedRun>, ReplayStart),
}

/// Where a client begins in a run that was there before.
enum ReplayStart {
    /// The response begins with the question: the client names nothing that it had.
    Start,
    /// After what the client had.
    After(Cursor),
    /// With this record: the client has another place for what was before.
    Record(u64),
}

/// Sends what the client has not had, and serves it from there on.
async fn serve_stream<P: Ports>(
    agent: &SharedAgent<P>,
    parts: &Parts,
    shown: RunSubscription,
    holder: String,
    begin: StreamStart,
) -> Result<ResponseStream, ApiError> {
    let RunSubscription { key, session, session_name, request, protocol, previews, viewer } = shown;
    let language = agent.settings.run.language;
    let is_new = matches!(begin, StreamStart::Driving(..));
    let asking = (viewer == AccessLevel::Asker).then_some(AnswerableRun { run: &key, is_new });
    let links = session_links(agent, parts, &session, session_name, asking).await;
    let translator = || {
        let ports = agent.ports.clone();
        let schemas = ToolSchemas::new(move |tool, language| tool_schema(&ports, tool, language));
        Translator::new(key.run.clone(), request.clone(), links.clone(), language)
            .with_schemas(schemas)
    };
    let projection: Box<dyn Projection> = match protocol {
        StreamProtocol::Native if viewer == AccessLevel::Guest => {
            Box::new(NativeProjection::new(links).without_names())
        }
        StreamProtocol::Native => Box::new(NativeProjection::new(links)),
        StreamProtocol::JoyAgent => Box::new(JoyAgent::new(translator())),
        StreamProtocol::JoyAgentUi => Box::new(JoyAgentUi::new(translator())),
    };
    let connection = Connection::new(key.run.clone(), projection, previews);
    let now_ms = agent.ports.clock().now_ms();
    let settings = agent.ports.settings();
    let (mut client, body) = ClientStream::open(connection, settings.client_buffer, now_ms);
    client.merge_previews(settings.preview_merge_window);
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
    Ok(ResponseStream { body, run, request, recall })
}

/// Names this driver among all others that ever were.
pub(crate) fn new_holder<P: Ports>(agent: &Agent<P>) -> String {
    format!("agent.{:x}.{:x}", agent.ports.clock().now_ms(), fastrand::u64(..))
}

/// When Lambda ends this invocation.
pub(crate) fn invocation_deadline<P: Ports>(agent: &Agent<P>, parts: &Parts) -> Deadline {
    let Some(context) = parts.extensions.get::<lambda_http::Context>() else {
        return Deadline::none();
    };
    let at_ms = i64::try_from(context.deadline).unwrap_or(i64::MAX);
    let margin = agent.ports.settings().hand_over_margin;
    Deadline::from_invocation(at_ms, agent.ports.clock().now_ms(), margin)
}

/// The cursor that a question comes with: of its own run, or of the one that a `continue` goes on
/// with, and the run that it names. Which of the two is checked when the question's run is known; one of
/// neither starts no run.
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
        Ok(run) if run.meta().user == question.user => Ok(Some((cursor, run))),
        // Another user's run does not exist for this one.
        Ok(_) => Err(cursor_error(&key.run, ErrorCode::RunNotFound.into())),
        Err(failure) => Err(cursor_error(&key.run, failure)),
    }
}

/// Why a question's cursor is refused. A run that was never there, or is not there any more, is not
/// what was asked for.
fn cursor_error(run: &RunId, failure: Failure) -> ApiError {
    if failure.code != ErrorCode::RunNotFound {
        return failure.into();
    }
    let wanted = format!("there is no run {run} to reconnect to: send no cursor");
    Failure::new(ErrorCode::BadCursor, wanted).into()
}

/// What a client says that it had last.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(HeaderName::from_static("last-event-id"))?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn event_stream_response(frames: ResponseFrames) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(frames)).into_response()
}

/// The body's frames as the bytes of a response. It cannot fail: an error in the middle of a
/// Lambda stream would be written into it as text. Its permits are free when the response has
/// ended, or its client has gone.
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
