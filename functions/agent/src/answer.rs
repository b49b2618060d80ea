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
use djinn_aws::AwsStore;
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::id::{RequestId, RunId};
use djinn_core::journal::Record;
use djinn_core::session::SessionName;
use djinn_core::wire::cursor::Cursor;
use djinn_core::wire::joyagent::{JoyAgent, Schemas, Translator};
use djinn_core::wire::joyagent_ui::JoyAgentUi;
use djinn_core::wire::native::Native;
use djinn_core::wire::{Connection, Projection};
use djinn_runtime::client::{ClientBody, ClientStream, Recall};
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::{Journals, SessionKey};
use djinn_runtime::port::{Ports, RunKey};
use djinn_runtime::serve::{
    Driving, Opened, Question, ReplayFrom, Serving, Viewer, known, no_cursor, open, replay,
    schema_of, serve, unavailable,
};

use crate::link::{Asking, links_to_session};
use crate::refusal::{Refusal, name};
use crate::slots::{Slot, Slots};
use crate::user_stream::UserStream;
use crate::{Agent, Shared};

/// The protocol a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// JoyAgent's raw events.
    JoyAgent,
    /// JoyAgent's UI.
    JoyAgentUi,
    /// Our own.
    Native,
}

impl Protocol {
    /// Whether its clients show what follows a message below that message: there an answer is not
    /// followed by the whole run once more.
    fn has_a_place_for_each_message(self) -> bool {
        match self {
            Self::JoyAgent | Self::JoyAgentUi => true,
            Self::Native => false,
        }
    }
}

/// A question with how it wants to be answered.
pub(crate) struct Ask {
    pub(crate) question: Question,
    pub(crate) protocol: Protocol,
    /// Whether text is sent as it is written.
    pub(crate) previews: bool,
}

/// Opens the question's run and streams it.
pub(crate) async fn stream<P: Ports<Store = AwsStore>>(
    agent: &Shared<P>,
    parts: &Parts,
    ask: Ask,
) -> Result<Response, Refusal> {
    let mut places = Places::of_process(agent, parts).await?;
    places.user = UserStream::take(agent, parts, followed(agent, &ask.question).await?).await?;
    let streamed = opened(agent, parts, ask).await;
    places.filled(agent, streamed).await
}

/// The run that a question is about, as far as that can be told before it is opened: with `continue` the
/// session's active one, else its own.
async fn followed<P: Ports>(agent: &Agent<P>, question: &Question) -> Result<RunId, Refusal> {
    let own = question.run_key().run;
    if !question.is_continue() || agent.ports.settings().user.streams.is_none() {
        return Ok(own);
    }
    let view = agent.ports.store().session(&question.session_key()).await;
    Ok(view.map_err(|error| unavailable(&error))?.active.unwrap_or(own))
}

async fn opened<P: Ports<Store = AwsStore>>(
    agent: &Shared<P>,
    parts: &Parts,
    ask: Ask,
) -> Result<Streamed, Refusal> {
    let Ask { question, protocol, previews } = ask;
    let cursor = cursor_of(agent, &parts.headers, &question).await?;
    let holder = holder(agent);
    let (session, session_name) = (question.session_key(), question.session_name());
    let request = question.request.clone();
    let opened = open(&agent.ports, question, &holder).await?;
    let (key, begin) = match opened {
        Opened::New { key, driving, first } => (key, Begin::Driving(driving, Box::new(first))),
        Opened::Existing { key, asked_in, .. } => {
            let asked_in = asked_in.filter(|_| protocol.has_a_place_for_each_message());
            (key, cursor.map_or(asked_in.map_or(Begin::Start, Begin::Record), Begin::After))
        }
    };
    let viewer = Viewer::Asker;
    let shown = Shown { key, session, session_name, request, protocol, previews, viewer };
    send(agent, parts, shown, holder, begin).await
}

/// Streams a run that exists, to a client that comes back to it.
pub(crate) async fn follow<P: Ports<Store = AwsStore>>(
    agent: &Shared<P>,
    parts: &Parts,
    shown: Shown,
    cursor: Option<Cursor>,
) -> Result<Response, Refusal> {
    let mut places = Places::of_process(agent, parts).await?;
    places.user = UserStream::take(agent, parts, shown.key.run.clone()).await?;
    let begin = cursor.map_or(Begin::Start, Begin::After);
    let streamed = send(agent, parts, shown, holder(agent), begin).await;
    places.filled(agent, streamed).await
}

/// What a response takes up while it is streamed: a place among the streams of this process, and one among
/// the caller's.
struct Places {
    user: Option<UserStream>,
    _process: Option<Slot>,
}

impl Places {
    async fn of_process<P: Ports>(agent: &Agent<P>, parts: &Parts) -> Result<Self, Refusal> {
        let process = match parts.extensions.get::<Arc<Slots>>() {
            Some(slots) => Some(slots.take(agent.ports.clock()).await?),
            None => None,
        };
        Ok(Self { user: None, _process: process })
    }

    /// The response that has them. A refusal needs none: they are free before it leaves, since a function may
    /// be frozen then.
    async fn filled<P: Ports<Store = AwsStore>>(
        mut self,
        agent: &Shared<P>,
        streamed: Result<Streamed, Refusal>,
    ) -> Result<Response, Refusal> {
        match streamed {
            Ok(Streamed { body, run, request, recall }) => {
                if let (Some(user), Some(recall)) = (&self.user, recall) {
                    user.keep(agent, recall);
                }
                let mut response = event_stream(Frames { body, places: self });
                name(response.headers_mut(), Some(&run), Some(&request));
                Ok(response)
            }
            Err(refusal) => {
                if let Some(user) = &mut self.user {
                    poll_fn(|cx| user.poll_give_back(cx)).await;
                }
                Err(refusal)
            }
        }
    }
}

/// What a response streams.
struct Streamed {
    body: ClientBody,
    run: RunId,
    request: RequestId,
    /// What ends it for want of a place: who drives a run does not leave it for that.
    recall: Option<Recall>,
}

/// A run, and how a client is shown it.
pub(crate) struct Shown {
    pub(crate) key: RunKey,
    pub(crate) session: SessionKey,
    /// The session as this client names it.
    pub(crate) session_name: SessionName,
    pub(crate) request: RequestId,
    pub(crate) protocol: Protocol,
    /// Whether text is sent as it is written.
    pub(crate) previews: bool,
    /// What this client is to the run: who asked may answer what it asks.
    pub(crate) viewer: Viewer,
}

/// Where a response begins.
enum Begin {
    /// With a run of this invocation's own, and its first record.
    Driving(Box<Driving>, Box<Record>),
    /// With the question.
    Start,
    /// After what the client had.
    After(Cursor),
    /// With this record: the client has another place for what was before.
    Record(u64),
}

/// Sends what the client has not had, and serves it from there on.
async fn send<P: Ports>(
    agent: &Shared<P>,
    parts: &Parts,
    shown: Shown,
    holder: String,
    begin: Begin,
) -> Result<Streamed, Refusal> {
    let Shown { key, session, session_name, request, protocol, previews, viewer } = shown;
    let language = agent.settings.run.language;
    let is_new = matches!(begin, Begin::Driving(..));
    let asking = (viewer == Viewer::Asker).then_some(Asking { run: &key, is_new });
    let links = links_to_session(agent, parts, &session, session_name, asking).await;
    let translator = || {
        let ports = agent.ports.clone();
        let schemas = Schemas::new(move |tool| schema_of(&ports, tool, language));
        Translator::new(key.run.clone(), request.clone(), links.clone(), language)
            .with_schemas(schemas)
    };
    let projection: Box<dyn Projection> = match protocol {
        Protocol::Native if viewer == Viewer::Guest => Box::new(Native::new(links).without_names()),
        Protocol::Native => Box::new(Native::new(links)),
        Protocol::JoyAgent => Box::new(JoyAgent::new(translator())),
        Protocol::JoyAgentUi => Box::new(JoyAgentUi::new(translator())),
    };
    let connection = Connection::new(key.run.clone(), projection, previews);
    let now_ms = agent.ports.clock().now_ms();
    let settings = agent.ports.settings();
    let (mut client, body) = ClientStream::open(connection, settings.client_buffer, now_ms);
    client.merge_previews(settings.merge_previews);
    if viewer != Viewer::Asker {
        client.note_not_the_askers();
    }
    client.greet(now_ms);
    let from = match &begin {
        Begin::Driving(..) => None,
        Begin::Start => Some(ReplayFrom::Start),
        Begin::After(cursor) => Some(ReplayFrom::After(cursor)),
        Begin::Record(n) => Some(ReplayFrom::Record(*n)),
    };
    if let Some(from) = from {
        replay(&agent.ports, &key, &mut client, from).await?;
    }
    let driving = match begin {
        Begin::Driving(driving, first) => {
            client.record(&first, &[], now_ms);
            Some(driving)
        }
        Begin::Start | Begin::After(_) | Begin::Record(_) => None,
    };
    let recall = driving.is_none().then(|| client.recall());
    let run = key.run.clone();
    let serving = Serving { key, holder, deadline: deadline(agent, parts), hops: 0 };
    let ports = agent.ports.clone();
    // On Lambda the invocation lasts until the body ends, and the body until the client is dropped.
    tokio::spawn(async move { serve(&ports, serving, client, driving).await });
    Ok(Streamed { body, run, request, recall })
}

/// Names this driver among all others that ever were.
pub(crate) fn holder<P: Ports>(agent: &Agent<P>) -> String {
    format!("agent.{:x}.{:x}", agent.ports.clock().now_ms(), fastrand::u64(..))
}

/// When Lambda ends this invocation.
pub(crate) fn deadline<P: Ports>(agent: &Agent<P>, parts: &Parts) -> Deadline {
    let Some(context) = parts.extensions.get::<lambda_http::Context>() else {
        return Deadline::none();
    };
    let at_ms = i64::try_from(context.deadline).unwrap_or(i64::MAX);
    let margin = agent.ports.settings().hand_over_margin;
    Deadline::announced(at_ms, agent.ports.clock().now_ms(), margin)
}

/// The cursor that a question comes with: of its own run, or of the one that a `continue` goes on
/// with. Which of the two is checked when that run is known; one of neither starts no run.
async fn cursor_of<P: Ports>(
    agent: &Agent<P>,
    headers: &HeaderMap,
    question: &Question,
) -> Result<Option<Cursor>, Refusal> {
    let Some(text) = last_event_id(headers) else { return Ok(None) };
    let own = question.run_key();
    let cursor = Cursor::parse(&text);
    let is_its = |cursor: &Cursor| cursor.run == own.run || question.is_continue();
    let Some(cursor) = cursor.filter(is_its) else {
        return Err(unwritten(&own.run, no_cursor(&agent.ports, &own).await));
    };
    let key = RunKey::new(own.tenant, cursor.run.clone());
    match known(&agent.ports, &key).await {
        Ok(meta) if meta.user == question.user => Ok(Some(cursor)),
        // Another user's run does not exist for this one.
        Ok(_) => Err(unwritten(&key.run, ErrorCode::RunNotFound.into())),
        Err(failure) => Err(unwritten(&key.run, failure)),
    }
}

/// Why a question's cursor is refused. A run that was never there, or is not there any more, is not
/// what was asked for.
fn unwritten(run: &RunId, failure: Failure) -> Refusal {
    if failure.code != ErrorCode::RunNotFound {
        return failure.into();
    }
    let wanted = format!("there is no run {run} to come back to: ask without one");
    Failure::new(ErrorCode::BadCursor, wanted).into()
}

/// What a client says that it had last.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(HeaderName::from_static("last-event-id"))?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn event_stream(frames: Frames) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(frames)).into_response()
}

/// The body's frames as the bytes of a response. It cannot fail: an error in the middle of a
/// Lambda stream would be written into it as text. Its places are free when the response has
/// ended, or its client has gone.
struct Frames {
    body: ClientBody,
    places: Places,
}

impl futures::Stream for Frames {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { body, places } = self.get_mut();
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if let (None, Some(user)) = (&frame, &mut places.user) {
            ready!(user.poll_give_back(cx));
        }
        Poll::Ready(frame.map(|frame| Ok(Bytes::from(frame))))
    }
}
