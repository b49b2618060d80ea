//! `POST /ai/chat` and `GET /ai/chat/{chat}/stream`, for `useChat` of Vercel's AI SDK.

use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::ErrorCode;
use djinn_core::human::{HumanResponse, ResponseRecord};
use djinn_core::id::{HumanRequestId, RequestId, RunId, SessionName, sha256_hex};
use djinn_protocol::request::{
    AiApproval, AiChatRequest, AiMessageRequest, AiPart, AiStreamQuery, AttachmentRequest,
    RunRequest,
};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::serve::{AccessLevel, LoadedRun, Permission, ResponseCapability};
use serde_json::Value;

use super::question_members::{FieldNames, QuestionMembers};
use super::{QuestionReader, QuestionReply, is_blank};
use crate::access::{require_access, require_own_run};
use crate::agent::{AgentPorts, SharedAgent};
use crate::ai_stream::{AiMessage, AiPlace, AiStream};
use crate::api_error::ApiError;
use crate::body::{PlainJson, parse_id};
use crate::identity::Caller;
use crate::query::UrlQuery;
use crate::route::requests::submit_record;
use crate::run_stream::{
    ReplayStart, RunSubscription, StreamProtocol, StreamRequest, stream_question, stream_run,
};

/// The header that tells a client with its own count of chunks that the stream begins anew.
const TAIL_INDEX: HeaderName = HeaderName::from_static("x-workflow-stream-tail-index");

/// The name of the messages in errors.
const MESSAGES: &str = "messages";

/// The trigger of a request for another answer.
const REGENERATE: &str = "regenerate-message";

/// The number of chunks before which a client has nothing to drop: the start of the message and of its step.
const FIRST_CHUNKS: i64 = 2;

/// `POST /ai/chat`: answers a question, or takes the responses to approvals and streams the rest of the answer.
pub(crate) async fn answer_ai_chat<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    PlainJson(members): PlainJson,
) -> QuestionReply {
    let agent = &agent.refresh().await;
    let mut reader = QuestionReader::new(agent, caller, &parts, FieldNames::AiSdk);
    let response = async {
        let (request, unknown) = members.parse_request::<AiChatRequest>();
        let mut request = request?;
        let place = request.messages.len().saturating_sub(1);
        let path = format!("{MESSAGES}[{place}]");
        let first = request.messages.first().map(|message| message.id.clone());
        let Some(last) = request.messages.pop() else {
            return Err(ApiError::invalid_field(MESSAGES, "must have a message"));
        };
        match last.role.as_str() {
            "user" => {}
            "assistant" => {
                let caller = reader.caller.clone();
                let approvals = Approvals::read(&last, &path)?;
                return continue_answer(agent, caller, &parts, last, approvals).await;
            }
            _ => {
                let problem = "must be `user`, or `assistant` with responses to its approvals";
                return Err(ApiError::invalid_field(format!("{path}.role"), problem));
            }
        }
        let reconnects = request.id.is_none();
        let chat = request.id.take().or_else(|| Some(format!("chat-{}", first?)));
        let session = session_name(&chat.unwrap_or_default());
        reader.facts.request = Some(request_id(&session, &last, &request)?);
        let fields = QuestionMembers::of_run(read_question(&last, request, session, &path)?);
        let mut question = reader.read_question(fields, &unknown).await?;
        question.capability = ResponseCapability::Everything;
        let stream = AiStream { reconnects, is_repeat: false, message: AiMessage::New };
        let protocol = StreamProtocol::AiSdk(stream);
        stream_question(agent, &parts, StreamRequest { question, protocol, previews: true }).await
    };
    let response = response.await;
    reader.into_reply(response)
}

/// `GET /ai/chat/{chat}/stream`: streams the active run of a chat from its beginning, or returns 204. The place of a
/// response in place of the chat streams that response again.
pub(crate) async fn resume_ai_chat<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    Path(chat): Path<String>,
    UrlQuery(AiStreamQuery { start_index }): UrlQuery<AiStreamQuery>,
    parts: Parts,
) -> Result<Response, ApiError> {
    let agent = agent.refresh().await;
    let is_repeat = start_index >= FIRST_CHUNKS;
    let (run, from, message) = match AiPlace::parse(&chat) {
        Some(AiPlace { run, record, is_known }) => {
            let from = if record == 0 { ReplayStart::Start } else { ReplayStart::Record(record) };
            // The transport has the message already, and goes on with its id.
            let message = if is_known { AiMessage::Known(None) } else { AiMessage::New };
            (Some(run), from, message)
        }
        None => {
            let name: SessionName = parse_id("chat", &session_name(&chat))?;
            let access = require_access(&agent, &caller, name, Permission::Read).await?;
            let active = agent.ports.store().load_session(&access.session).await?.active;
            (active, ReplayStart::Start, AiMessage::New)
        }
    };
    let Some(run) = run else { return Ok(StatusCode::NO_CONTENT.into_response()) };
    let key = RunKey::new(caller.tenant.clone(), run);
    let run = require_own_run(&agent, &caller, LoadedRun::load(&agent.ports, &key).await?).await?;
    let stream = AiStream { reconnects: AiPlace::parse(&chat).is_some(), is_repeat, message };
    let response = stream_run(&agent, &parts, subscription(&run, stream), run, from).await;
    response.map(|mut response| {
        if start_index < 0 {
            response.headers_mut().insert(TAIL_INDEX, HeaderValue::from_static("0"));
        }
        response
    })
}

/// Submits the responses of a message, and streams the rest of its run.
async fn continue_answer<P: AgentPorts>(
    agent: &SharedAgent<P>,
    caller: Caller,
    parts: &Parts,
    message: AiMessageRequest,
    Approvals { run, responses, path }: Approvals,
) -> Result<Response, ApiError> {
    let key = RunKey::new(caller.tenant.clone(), run);
    let run = LoadedRun::load(&agent.ports, &key).await?;
    let mut run = require_own_run(agent, &caller, run).await?;
    let place = message.metadata.as_ref().and_then(|metadata| metadata.get("record")?.as_u64());
    let first = match place {
        Some(record) => record.saturating_add(1),
        None => run.read_next_number(&agent.ports).await?,
    };
    for AiApproval { id, approved, reason } in responses {
        let approved = approved.unwrap_or(false);
        let digest = sha256_hex(format!("{id} {approved} {reason:?}").as_bytes());
        let request: HumanRequestId = HumanRequestId::new(&id)
            .map_err(|_| ApiError::from(ErrorCode::RequestNotFound).with_field(path.clone()))?;
        let response = ResponseRecord {
            request,
            // A repeated request has the same responses.
            id: format!("ai.{}", digest.get(..32).unwrap_or_default()),
            by: Some(caller.user.clone()),
            answer: match reason {
                _ if approved => HumanResponse::Confirm,
                None => HumanResponse::Skip,
                Some(text) => HumanResponse::Say { text },
            },
            comment: String::new(),
            digest: None,
            via: None,
        };
        match submit_record(agent, &mut run, response, ResponseCapability::Everything).await {
            // The stream shows the response that was first.
            Err(error) if error.failure.code == ErrorCode::RequestResolved => {}
            Err(error) => return Err(error.with_field(path.clone())),
            Ok(_) => {}
        }
    }
    let message = AiMessage::Known(Some(message.id));
    let stream = AiStream { reconnects: true, is_repeat: false, message };
    let subscription = subscription(&run, stream);
    stream_run(agent, parts, subscription, run, ReplayStart::Record(first)).await
}

fn subscription(run: &LoadedRun, stream: AiStream) -> RunSubscription {
    RunSubscription {
        session: run.meta().session_key(&run.key().tenant),
        session_name: run.meta().session_name(),
        key: run.key().clone(),
        request: run.meta().request.clone(),
        protocol: StreamProtocol::AiSdk(stream),
        previews: true,
        viewer: AccessLevel::Asker,
    }
}

/// The responses in the last message of a chat.
struct Approvals {
    run: RunId,
    responses: Vec<AiApproval>,
    /// The path of the parts, in errors.
    path: String,
}

impl Approvals {
    fn read(message: &AiMessageRequest, path: &str) -> Result<Self, ApiError> {
        let name = message.metadata.as_ref().and_then(|metadata| metadata.get("run")?.as_str());
        let id = message.id.split(':').next().unwrap_or_default();
        let run = RunId::new(name.unwrap_or(id)).map_err(|_| {
            let problem = "must name the run, as in the answer of Djinn";
            ApiError::invalid_field(format!("{path}.metadata.run"), problem)
        })?;
        let mut responses = Vec::new();
        for (at, part) in message.parts.iter().enumerate() {
            let is_response = part.pointer("/approval/approved").is_some_and(Value::is_boolean);
            // The state leaves no doubt that the user has just decided.
            if is_response && part["state"] == "approval-responded" {
                let AiPart { approval, .. } = read_part(part, &format!("{path}.parts[{at}]"))?;
                responses.extend(approval);
            }
        }
        let path = format!("{path}.parts");
        if responses.is_empty() {
            let problem =
                "must have a response to an approval, because the last message is the assistant's";
            return Err(ApiError::invalid_field(path, problem));
        }
        Ok(Self { run, responses, path })
    }
}

fn read_part(part: &Value, path: &str) -> Result<AiPart, ApiError> {
    serde_json::from_value(part.clone())
        .map_err(|error| ApiError::invalid_field(path.to_owned(), &error.to_string()))
}

/// Returns the session of a chat. A name that no session can have is replaced by its hash.
fn session_name(chat: &str) -> String {
    let hash = || format!("chat-{}", sha256_hex(chat.as_bytes()).get(..32).unwrap_or_default());
    if SessionName::try_from(chat.to_owned()).is_ok() { chat.to_owned() } else { hash() }
}

/// Returns the id of the request: a repeat joins its run, and another answer to the same question is another run.
fn request_id(
    session: &str,
    question: &AiMessageRequest,
    request: &AiChatRequest,
) -> Result<RequestId, ApiError> {
    let is_again = request.trigger.as_deref() == Some(REGENERATE);
    let replaced = request.message_id.as_deref().filter(|_| is_again).unwrap_or_default();
    let whole = Value::from(vec![session, &question.id, replaced]).to_string();
    let hash = sha256_hex(whole.as_bytes());
    let text = format!("ai-{}", hash.get(..32).unwrap_or_default());
    RequestId::new(text).map_err(|_| ErrorCode::Internal.into())
}

/// Returns the question in the last message.
fn read_question(
    message: &AiMessageRequest,
    request: AiChatRequest,
    session: String,
    path: &str,
) -> Result<RunRequest, ApiError> {
    let mut texts = Vec::new();
    let mut files = Vec::new();
    for (at, part) in message.parts.iter().enumerate() {
        let path = format!("{path}.parts[{at}]");
        let AiPart { kind, text, url, filename, .. } = read_part(part, &path)?;
        let missing = |name: &str| ApiError::invalid_field(format!("{path}.{name}"), "is missing");
        match kind.as_str() {
            "text" => texts.push(text.ok_or_else(|| missing("text"))?),
            "file" => {
                let uri = url.ok_or_else(|| missing("url"))?;
                if !uri.starts_with("data:") {
                    let problem =
                        "must be a `data:` URI, because no address in a message is fetched";
                    return Err(ApiError::invalid_field(format!("{path}.url"), problem));
                }
                files.push(AttachmentRequest { uri, media_type: None, name: filename });
            }
            // Facts of the client's own.
            data if data.starts_with("data-") => {}
            _ => {
                let problem = "must be `text` or `file`";
                return Err(ApiError::invalid_field(format!("{path}.type"), problem));
            }
        }
    }
    let question = texts.join("\n");
    Ok(RunRequest {
        question: Some(question).filter(|question| !is_blank(question)),
        session_id: Some(session),
        attachments: Some(files),
        request_id: None,
        mode: request.mode,
        arguments: None,
        output_style: request.output_style,
        base_prompt: request.base_prompt,
        review: None,
        human_requests: request.human_requests,
    })
}
