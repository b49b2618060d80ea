//! `POST /v1/responses` and the routes of existing responses, for the clients of OpenAI's Responses API.

use std::time::Duration;

use axum::extract::State;
use axum::http::request::Parts;
use axum::response::Response;
use djinn_core::error_code::ErrorCode;
use djinn_core::id::RunId;
use djinn_protocol::cursor::Cursor;
use djinn_protocol::request::{
    ChatContent, ChatFile, ChatImage, ChatMessageRequest, ChatPart, NoParameters, ResponsesContent,
    ResponsesConversation, ResponsesInput, ResponsesItem, ResponsesPart, ResponsesQuery,
    ResponsesRequest,
};
use djinn_protocol::responses_api::{ResponsesApiForm, ResponsesApiOptions, SequenceNumber};
use djinn_runtime::port::RunKey;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{AccessLevel, LoadedRun, ResponseCapability, request_stop};
use djinn_runtime::world::Ports;
use serde_json::Value;

use super::chat_completions::{
    Chat, MODEL, check_tool_choice, find_mode, model_name, name_request, name_session,
    to_session_name,
};
use super::question_members::{FieldNames, QuestionMembers};
use super::{QuestionReader, QuestionReply};
use crate::access::require_own_run;
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::body::JsonMembers;
use crate::fields::parse_fields;
use crate::identity::Caller;
use crate::path::RunPath;
use crate::query::UrlQuery;
use crate::run_stream::{
    ReplayStart, RunSubscription, StreamProtocol, StreamRequest, stream_question, stream_run,
};
use crate::stream_protocol::ResponsesStream;

/// The names of the question, the response before it, and the place to resume in errors.
const INPUT: &str = "input";
const PREVIOUS: &str = "previous_response_id";
const STARTING_AFTER: &str = "starting_after";

/// The beginning of the ids of requests, and so of sessions without a name.
const REQUEST: &str = "response";

/// The longest wait for the newest state of a run at work.
const STATE_WAIT: Duration = Duration::from_secs(1);

/// The longest wait for the end of a run that was told to stop.
const STOP_WAIT: Duration = Duration::from_secs(10);

/// `POST /v1/responses`: answers in events or in one document. With `background`, the document has the new run.
pub(crate) async fn create_response<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    members: JsonMembers,
) -> QuestionReply {
    let agent = &agent.refresh().await;
    let mut reader = QuestionReader::new(agent, caller, &parts, FieldNames::ResponsesApi);
    let response = async {
        let request =
            name_request(agent, &reader.caller, &parts.headers, &members, REQUEST).await?;
        reader.facts.request = Some(request);
        let (request, unknown) = members.parse_request::<ResponsesRequest>();
        let mut request = request?;
        check_request(&request)?;
        let model = request.model.take().unwrap_or_else(|| MODEL.to_owned());
        let previous = request.previous_response_id.take();
        let is_stream = request.stream.unwrap_or(false);
        let is_background = request.background.unwrap_or(false);
        let session = match &previous {
            Some(id) => Some(find_previous_session(agent, &reader.caller, id).await?),
            None => name_own_session(&request, &parts),
        };
        let is_listed = session.as_ref().is_some_and(|session| !is_unnamed(session));
        let mut chat = read_input(request.input)?;
        chat.instructions = join_texts(request.instructions, &chat.instructions);
        let history = Some(std::mem::take(&mut chat.history)).filter(|_| session.is_none());
        let fields = QuestionMembers::of_run(chat.into_request(find_mode(agent, &model), session));
        let question = reader.read_question(fields, &unknown).await?;
        let mut question = UserQuestion { history, ..question };
        question.capability = ResponseCapability::Everything;
        question.spec.is_unlisted = !is_listed;
        let form = if is_stream {
            ResponsesApiForm::Stream { after: None }
        } else {
            ResponsesApiForm::Document
        };
        let session = question.spec.session_name().to_string();
        let options = ResponsesApiOptions { model, session, previous, is_background, form };
        let wait = (is_background && !is_stream).then_some(Duration::ZERO);
        let protocol = StreamProtocol::Responses(ResponsesStream { options, wait });
        stream_question(agent, &parts, StreamRequest { question, protocol, previews: is_stream })
            .await
    };
    let response = response.await;
    reader.into_reply(response)
}

/// `GET /v1/responses/{run}`: returns the state of a run, or streams its events after a place.
pub(crate) async fn show_response<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    UrlQuery(ResponsesQuery { stream, starting_after }): UrlQuery<ResponsesQuery>,
    parts: Parts,
) -> Result<Response, ApiError> {
    let agent = &agent.refresh().await;
    let run = require_own_run(agent, &caller, LoadedRun::load(&agent.ports, &run).await?).await?;
    let after = starting_after.map(|text| {
        let problem = "must be the `sequence_number` of an event of this response";
        let number = SequenceNumber::parse(&text);
        number.ok_or_else(|| ApiError::invalid_field(STARTING_AFTER, problem))
    });
    let after = after.transpose()?;
    if !stream.unwrap_or(false) {
        if after.is_some() {
            return Err(ApiError::invalid_field(STARTING_AFTER, "needs `stream=true`"));
        }
        return show_state(agent, &parts, run, STATE_WAIT).await;
    }
    let complete = after.and_then(SequenceNumber::last_complete_record);
    let from = complete.map_or(ReplayStart::Start, |record| {
        ReplayStart::After(Cursor { run: run.key().run.clone(), record })
    });
    let form = ResponsesApiForm::Stream { after };
    let subscription = subscribe(&run, form, None);
    let response = stream_run(agent, &parts, subscription, run, from).await;
    response.map_err(|error| match error.failure.code {
        ErrorCode::BadCursor => error.with_field(STARTING_AFTER),
        _ => error,
    })
}

/// `POST /v1/responses/{run}/cancel`: stops a run, and returns its state.
pub(crate) async fn cancel_response<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    _: UrlQuery<NoParameters>,
    parts: Parts,
) -> Result<Response, ApiError> {
    let agent = &agent.refresh().await;
    let run = LoadedRun::load(&agent.ports, &run).await?;
    let mut run = require_own_run(agent, &caller, run).await?;
    request_stop(&agent.ports, &mut run, caller.user).await?;
    show_state(agent, &parts, run, STOP_WAIT).await
}

/// Returns the state of a run as a document. Only a run at work limits the wait.
async fn show_state<P: AgentPorts>(
    agent: &SharedAgent<P>,
    parts: &Parts,
    run: LoadedRun,
    wait: Duration,
) -> Result<Response, ApiError> {
    let wait = (!run.meta().status.has_ended()).then_some(wait);
    let subscription = subscribe(&run, ResponsesApiForm::Document, wait);
    stream_run(agent, parts, subscription, run, ReplayStart::Start).await
}

fn subscribe(run: &LoadedRun, form: ResponsesApiForm, wait: Option<Duration>) -> RunSubscription {
    let meta = run.meta();
    let options = ResponsesApiOptions {
        model: model_name(&meta.mode),
        session: meta.session_name().to_string(),
        previous: None,
        is_background: false,
        form,
    };
    RunSubscription {
        session: meta.session_key(&run.key().tenant),
        session_name: meta.session_name(),
        key: run.key().clone(),
        request: meta.request.clone(),
        protocol: StreamProtocol::Responses(ResponsesStream { options, wait }),
        previews: form != ResponsesApiForm::Document,
        viewer: AccessLevel::Asker,
    }
}

/// Rejects the fields that ask for another answer than Djinn gives.
fn check_request(request: &ResponsesRequest) -> Result<(), ApiError> {
    check_tool_choice(request.tool_choice.as_ref())?;
    let format = request.text.as_ref().and_then(|text| text.format.as_ref());
    if format.is_some_and(|format| format.kind != "text") {
        let problem = "must be `text`; an agent whose file says `answer: json` returns JSON";
        return Err(ApiError::invalid_field("text.format.type", problem));
    }
    if request.conversation.is_some() && request.previous_response_id.is_some() {
        let problem = "must not be sent with `previous_response_id`, which has a session";
        return Err(ApiError::invalid_field("conversation", problem));
    }
    Ok(())
}

/// Returns the session of an earlier response of the caller. Another's response does not exist.
async fn find_previous_session<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    id: &str,
) -> Result<String, ApiError> {
    let not_found = || ApiError::from(ErrorCode::RunNotFound).with_field(PREVIOUS);
    let run = RunId::new(id).map_err(|_| not_found())?;
    let key = RunKey::new(caller.tenant.clone(), run);
    let run = LoadedRun::find(&agent.ports, &key).await?.ok_or_else(not_found)?;
    let run = require_own_run(agent, caller, run).await;
    let run = run.map_err(|error| error.with_field(PREVIOUS))?;
    Ok(run.meta().session_name().to_string())
}

/// Returns the session that the request names, in its body or a header.
fn name_own_session(request: &ResponsesRequest, parts: &Parts) -> Option<String> {
    let conversation = request.conversation.clone().map(|conversation| match conversation {
        ResponsesConversation::Name(id) | ResponsesConversation::Object { id } => id,
    });
    let conversation = conversation.filter(|name| !name.is_empty());
    let other_name = || name_session(&parts.headers, request.metadata.as_ref(), false);
    conversation.or_else(other_name).map(to_session_name)
}

/// Returns true for the session of a question that named none. Such a session is in no list.
fn is_unnamed(session: &str) -> bool {
    session.strip_prefix(REQUEST).is_some_and(|rest| rest.starts_with('-'))
}

fn join_texts(first: Option<String>, second: &str) -> String {
    let texts = first.into_iter().chain((!second.is_empty()).then(|| second.to_owned()));
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Reads the input as the messages of a chat. Items that are no messages have no effect.
fn read_input(input: ResponsesInput) -> Result<Chat, ApiError> {
    let message = |role: &str, content| ChatMessageRequest { role: role.to_owned(), content };
    let items = match input {
        ResponsesInput::Text(text) => {
            return Chat::read(vec![message("user", Some(ChatContent::Text(text)))], INPUT);
        }
        ResponsesInput::Items(items) => items,
    };
    let mut messages = Vec::new();
    for (at, item) in items.into_iter().enumerate() {
        let path = format!("{INPUT}[{at}]");
        let Value::Object(fields) = item else {
            return Err(ApiError::invalid_field(path, "must be an object"));
        };
        if fields.get("type").is_some_and(|kind| kind != "message") {
            messages.push(message("tool", None));
            continue;
        }
        let item = parse_fields::<ResponsesItem>(fields).0.map_err(|error| {
            let field = error.field().map_or_else(|| path.clone(), |name| format!("{path}.{name}"));
            ApiError::invalid_field(field, "is missing or has another type")
        })?;
        if !["user", "assistant", "system", "developer"].contains(&item.role.as_str()) {
            let problem = "must be `user`, `assistant`, `system` or `developer`";
            return Err(ApiError::invalid_field(format!("{path}.role"), problem));
        }
        let content = match item.content {
            ResponsesContent::Text(text) => ChatContent::Text(text),
            ResponsesContent::Parts(parts) => ChatContent::Parts(read_parts(parts, &path)?),
        };
        messages.push(message(&item.role, Some(content)));
    }
    Chat::read(messages, INPUT)
}

/// Reads the parts of a message as the parts of a chat.
fn read_parts(parts: Vec<ResponsesPart>, path: &str) -> Result<Vec<ChatPart>, ApiError> {
    let parts = parts.into_iter().enumerate().map(|(at, part)| {
        let ResponsesPart { kind, text, refusal, image_url, file_data, filename } = part;
        let field = |name: &str| format!("{path}.content[{at}].{name}");
        let missing = |name: &str| ApiError::invalid_field(field(name), "is missing");
        let bytes = |name: &str, uri: Option<String>| {
            let uri = uri.filter(|uri| uri.starts_with("data:"));
            let problem = "must be a `data:` URI, because no address and no other file is fetched";
            uri.ok_or_else(|| ApiError::invalid_field(field(name), problem))
        };
        let empty = ChatPart { kind: "text".to_owned(), text: None, image_url: None, file: None };
        match kind.as_str() {
            "input_text" | "output_text" => {
                Ok(ChatPart { text: Some(text.ok_or_else(|| missing("text"))?), ..empty })
            }
            "refusal" => {
                Ok(ChatPart { text: Some(refusal.ok_or_else(|| missing("refusal"))?), ..empty })
            }
            "input_image" => {
                let image_url = Some(ChatImage { url: bytes("image_url", image_url)? });
                Ok(ChatPart { kind: "image_url".to_owned(), image_url, ..empty })
            }
            "input_file" => {
                let file_data = Some(bytes("file_data", file_data)?);
                let file = Some(ChatFile { filename, file_data });
                Ok(ChatPart { kind: "file".to_owned(), file, ..empty })
            }
            _ => {
                let problem = "must be `input_text`, `output_text`, `input_image` or `input_file`";
                Err(ApiError::invalid_field(field("type"), problem))
            }
        }
    });
    parts.collect()
}
