//! `POST /v1/chat/completions` and `GET /v1/models`, for the clients of OpenAI's API.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use djinn_core::agent::{AgentSpec, TASK_ARGUMENT};
use djinn_core::conversation::Exchange;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{RequestId, RunId, SessionName, sha256_hex};
use djinn_protocol::body::{ChatModelBody, ChatModelListBody};
use djinn_protocol::chat_completions::{ChatForm, ChatOptions};
use djinn_protocol::request::{
    AttachmentRequest, ChatCompletionsRequest, ChatContent, ChatMessageRequest,
    ChatMetadataRequest, ChatPart, NoParameters, RunRequest, WholeNumber,
};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::catalog::Catalog as _;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{LoadedRun, ResponseCapability};
use djinn_runtime::texts::MAX_HISTORY_TEXT;
use djinn_runtime::world::Ports;
use serde_json::Value;

use super::question_members::{FieldNames, QuestionMembers};
use super::{QuestionReader, QuestionReply, is_blank};
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::body::JsonMembers;
use crate::identity::Caller;
use crate::mode_choice;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};
use crate::run_stream::{StreamProtocol, StreamRequest, stream_question};

/// The name of the default mode as a model, and the beginning of the names of other modes.
pub(super) const MODEL: &str = "djinn";

/// The header that names the session of a question.
const SESSION_HEADER: &str = "x-session-id";

/// The header with which Open WebUI names its chat, also in its own requests about the chat.
const OPEN_WEBUI_CHAT: &str = "x-openwebui-chat-id";

/// The beginning of Open WebUI's prompts for titles, tags and further questions of a chat.
const OPEN_WEBUI_TASK: &str = "### Task:";

/// The header in which OpenAI's SDKs count the repeats of a request.
const RETRY_COUNT: &str = "x-stainless-retry-count";

/// The runs among which the run of a repeated request is found, and their maximum age.
const RECENT_RUNS: usize = 20;
const RECENT_MS: i64 = 10 * 60 * 1_000;

/// Maximum bytes of a history that comes with a question.
const MAX_HISTORY_BYTES: usize = MAX_HISTORY_TEXT;

/// The name of the messages in errors.
const MESSAGES: &str = "messages";

/// `POST /v1/chat/completions`: answers in chunks or in one document.
pub(crate) async fn complete_chat<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    members: JsonMembers,
) -> QuestionReply {
    let agent = &agent.refresh().await;
    let mut reader = QuestionReader::new(agent, caller, &parts, FieldNames::ChatCompletions);
    let response = async {
        let request = name_request(agent, &reader.caller, &parts.headers, &members, "chat").await?;
        reader.facts.request = Some(request);
        let (request, unknown) = members.parse_request::<ChatCompletionsRequest>();
        let request = request?;
        check_choices(&request)?;
        let model = request.model.clone().unwrap_or_else(|| MODEL.to_owned());
        let usage = request.stream_options.and_then(|options| options.include_usage);
        let usage = usage.unwrap_or(false);
        let is_stream = request.stream.unwrap_or(false);
        let form = if is_stream { ChatForm::Stream { usage } } else { ChatForm::Document };
        let session = find_session(&request, &parts.headers);
        let mut chat = Chat::read(request.messages, MESSAGES)?;
        let is_listed = session.is_some();
        let session = match session {
            Some(_) => session,
            None => chat.find_earlier_session(agent, &reader.caller).await?,
        };
        let history = Some(std::mem::take(&mut chat.history)).filter(|_| session.is_none());
        let fields = QuestionMembers::of_run(chat.into_request(find_mode(agent, &model), session));
        let question = reader.read_question(fields, &unknown).await?;
        let mut question = UserQuestion { history, ..question };
        question.capability = ResponseCapability::Everything;
        question.spec.is_unlisted = !is_listed;
        let protocol = StreamProtocol::ChatCompletions(ChatOptions { model, form });
        stream_question(agent, &parts, StreamRequest { question, protocol, previews: is_stream })
            .await
    };
    let response = response.await;
    reader.into_reply(response)
}

/// `GET /v1/models`: lists the modes that need only a question, the default mode first.
pub(crate) async fn list_chat_models<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    _: Caller,
    _: UrlQuery<NoParameters>,
) -> ReplyResult {
    let agent = agent.refresh().await;
    let modes = mode_choice::list_modes(&agent, agent.settings.run.language);
    let names =
        modes.iter().filter(|mode| needs_only_question(mode)).map(|mode| model_name(&mode.name));
    let data = [MODEL.to_owned()].into_iter().chain(names).map(ChatModelBody::new).collect();
    JsonReply::json(&ChatModelListBody::new(data))
}

pub(super) fn model_name(mode: &str) -> String {
    format!("{MODEL}-{}", mode.replace('_', "-"))
}

pub(super) fn needs_only_question(mode: &AgentSpec) -> bool {
    let required = mode.parameters.get("required").and_then(Value::as_array);
    required.into_iter().flatten().all(|name| name == TASK_ARGUMENT)
}

/// Returns the mode with this name as a model, or else the name, which may be a mode's own. `None` is the default mode.
pub(super) fn find_mode<P: Ports>(agent: &Agent<P>, model: &str) -> Option<String> {
    if model == MODEL {
        return None;
    }
    let modes = mode_choice::list_modes(agent, agent.settings.run.language);
    let mode = modes.into_iter().find(|mode| model_name(&mode.name) == model);
    Some(mode.map_or_else(|| model.to_owned(), |mode| mode.name))
}

/// Returns the id of the request, which begins with `protocol` and a hash of the body. For a repeat, returns the id of
/// the newest recent run of this body, because a client repeats a request whose response it lost.
pub(super) async fn name_request<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    headers: &HeaderMap,
    members: &JsonMembers,
    protocol: &str,
) -> Result<RequestId, ApiError> {
    let hash = sha256_hex(members.to_text().as_bytes());
    let begin = format!("{protocol}-{}-", hash.get(..32).unwrap_or_default());
    let count = header_text(headers, RETRY_COUNT).and_then(|count| count.parse::<u32>().ok());
    let now_ms = agent.ports.clock().now_ms();
    if count.is_some_and(|count| count > 0) {
        let user = caller.user_key();
        let page = agent.ports.store().list_runs(&user, &[], None, RECENT_RUNS).await?;
        let is_same = |request: &RequestId| request.as_str().starts_with(&begin);
        let is_recent = |started_at_ms: i64| now_ms.saturating_sub(started_at_ms) <= RECENT_MS;
        let runs = page.items.into_iter();
        let mut same = runs.filter(|run| is_same(&run.request) && is_recent(run.started_at_ms));
        if let Some(run) = same.next() {
            return Ok(run.request);
        }
    }
    let text = format!("{begin}{now_ms:x}-{:08x}", fastrand::u32(..));
    RequestId::new(text).map_err(|_| ErrorCode::Internal.into())
}

fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(headers.get(name)?.as_bytes()).trim().to_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the session that the client names. A name that no session can have is replaced by its hash.
fn find_session(request: &ChatCompletionsRequest, headers: &HeaderMap) -> Option<String> {
    name_session(headers, request.metadata.as_ref(), is_about_chat(request)).map(to_session_name)
}

/// Returns the client's name of the session. A request about a chat ignores the header of Open WebUI.
pub(super) fn name_session(
    headers: &HeaderMap,
    metadata: Option<&ChatMetadataRequest>,
    is_about_chat: bool,
) -> Option<String> {
    let open_webui = || header_text(headers, OPEN_WEBUI_CHAT).filter(|_| !is_about_chat);
    let name = header_text(headers, SESSION_HEADER).or_else(open_webui);
    name.or_else(|| metadata?.session_id.clone())
}

/// Returns the name, or its hash if no session can have the name.
pub(super) fn to_session_name(name: String) -> String {
    let hash = || format!("chat-{}", sha256_hex(name.as_bytes()).get(..32).unwrap_or_default());
    if SessionName::try_from(name.clone()).is_ok() { name } else { hash() }
}

/// Returns true for a request of Open WebUI's own about a chat, as for its title. No user wrote the prompt, so it is
/// neither a turn of the chat nor a response to a human request.
fn is_about_chat(request: &ChatCompletionsRequest) -> bool {
    let [ChatMessageRequest { role, content: Some(ChatContent::Text(text)) }] =
        request.messages.as_slice()
    else {
        return false;
    };
    !request.stream.unwrap_or(false) && role == "user" && text.starts_with(OPEN_WEBUI_TASK)
}

/// Rejects a choice of tools that the agents do not leave to the client.
pub(super) fn check_tool_choice(choice: Option<&Value>) -> Result<(), ApiError> {
    let is_free = |choice: &Value| choice == "auto" || choice == "none" || choice.is_null();
    if choice.is_none_or(is_free) {
        return Ok(());
    }
    let problem = "must be `auto` or `none`: Djinn's agents choose among their own tools";
    Err(ApiError::invalid_field("tool_choice", problem))
}

/// Rejects the fields that ask for another answer than Djinn gives.
fn check_choices(request: &ChatCompletionsRequest) -> Result<(), ApiError> {
    if request.n.is_some_and(|WholeNumber(n)| n != 1) {
        return Err(ApiError::invalid_field("n", "must be 1: Djinn gives one answer"));
    }
    check_tool_choice(request.tool_choice.as_ref())?;
    if request.response_format.as_ref().is_some_and(|format| format.kind != "text") {
        let problem = "must be `text`; an agent whose file says `answer: json` returns JSON";
        return Err(ApiError::invalid_field("response_format.type", problem));
    }
    Ok(())
}

/// The messages of a chat, as a question with its history.
#[derive(Debug, Default)]
pub(super) struct Chat {
    pub(super) question: String,
    files: Vec<AttachmentRequest>,
    /// The texts of the system messages.
    pub(super) instructions: String,
    pub(super) history: Vec<Exchange>,
}

impl Chat {
    /// Reads the messages of this field.
    ///
    /// # Errors
    /// Returns `invalid_field` for an unknown role or part, and for a last message that is not the user's.
    pub(super) fn read(
        messages: Vec<ChatMessageRequest>,
        field: &'static str,
    ) -> Result<Self, ApiError> {
        let mut chat = Self::default();
        let mut instructions = Vec::new();
        let mut unanswered: Option<String> = None;
        let last = messages.len().saturating_sub(1);
        let mut has_question = false;
        for (at, message) in messages.into_iter().enumerate() {
            let path = format!("{field}[{at}]");
            let is_last = at == last;
            let (text, files) = read_content(message.content, &path)?;
            match message.role.as_str() {
                "system" | "developer" => instructions.push(text),
                "user" if is_last => {
                    has_question = true;
                    (chat.question, chat.files) = (text, files);
                }
                "user" => chat.add_exchange(unanswered.replace(text), ""),
                "assistant" if !text.is_empty() => {
                    let question = unanswered.take().unwrap_or_default();
                    chat.add_exchange(Some(question), &text);
                }
                "assistant" | "tool" | "function" => {}
                _ => {
                    let problem = "must be `user`, `assistant`, `system`, `developer` or `tool`";
                    return Err(ApiError::invalid_field(format!("{path}.role"), problem));
                }
            }
        }
        if !has_question {
            return Err(ApiError::invalid_field(field, "must end with a message of the user"));
        }
        chat.add_exchange(unanswered, "");
        chat.instructions = instructions.join("\n\n");
        Ok(chat)
    }

    /// Adds a question and its answer to the history, which keeps the newest. Anybody may have written the texts.
    fn add_exchange(&mut self, question: Option<String>, answer: &str) {
        let Some(question) = question else { return };
        let answer = answer.to_owned();
        self.history.push(Exchange { question, answer, tainted: true, ..Exchange::default() });
        let size = |exchange: &Exchange| exchange.question.len() + exchange.answer.len();
        let mut total: usize = self.history.iter().map(size).sum();
        let mut extra = 0;
        for exchange in &self.history {
            if total <= MAX_HISTORY_BYTES {
                break;
            }
            total -= size(exchange);
            extra += 1;
        }
        self.history.drain(..extra);
    }

    /// Returns the session of the run that the last answer names, if the run is the caller's own. Such a run waited for
    /// a response, or was still at work.
    async fn find_earlier_session<P: Ports>(
        &self,
        agent: &Agent<P>,
        caller: &Caller,
    ) -> Result<Option<String>, ApiError> {
        let earlier_run = self.history.last().and_then(|last| find_run_id(&last.answer));
        let Some(run) = earlier_run else { return Ok(None) };
        let key = RunKey::new(caller.tenant.clone(), run);
        let run = match LoadedRun::load(&agent.ports, &key).await {
            Ok(run) => run,
            Err(Failure { code: ErrorCode::RunNotFound, .. }) => return Ok(None),
            Err(failure) => return Err(failure.into()),
        };
        let meta = run.meta();
        let is_own = meta.user == caller.user && meta.shared.is_none();
        Ok(is_own.then(|| meta.session.to_string()))
    }

    pub(super) fn into_request(self, mode: Option<String>, session: Option<String>) -> RunRequest {
        let Self { question, files, instructions, .. } = self;
        RunRequest {
            question: Some(question).filter(|question| !is_blank(question)),
            session_id: session,
            attachments: Some(files),
            request_id: None,
            mode,
            arguments: None,
            output_style: None,
            base_prompt: Some(instructions).filter(|text| !text.is_empty()),
            review: None,
            human_requests: None,
        }
    }
}

/// Returns the run named at the end of an answer.
fn find_run_id(answer: &str) -> Option<RunId> {
    let (_, rest) = answer.rsplit_once("`run_")?;
    let (hex, _) = rest.split_once('`')?;
    RunId::new(format!("run_{hex}")).ok()
}

/// Returns the text and the files of a message.
fn read_content(
    content: Option<ChatContent>,
    path: &str,
) -> Result<(String, Vec<AttachmentRequest>), ApiError> {
    let parts = match content {
        None => return Ok((String::new(), Vec::new())),
        Some(ChatContent::Text(text)) => return Ok((text, Vec::new())),
        Some(ChatContent::Parts(parts)) => parts,
    };
    let mut texts = Vec::new();
    let mut files = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let path = format!("{path}.content[{at}]");
        let ChatPart { kind, text, image_url, file } = part;
        let missing = |name: &str| ApiError::invalid_field(format!("{path}.{name}"), "is missing");
        let (uri, name) = match kind.as_str() {
            "text" => {
                texts.push(text.ok_or_else(|| missing("text"))?);
                continue;
            }
            "image_url" => (image_url.ok_or_else(|| missing("image_url"))?.url, None),
            "file" => {
                let file = file.ok_or_else(|| missing("file"))?;
                (file.file_data.ok_or_else(|| missing("file.file_data"))?, file.filename)
            }
            _ => {
                let problem = "must be `text`, `image_url` or `file`";
                return Err(ApiError::invalid_field(format!("{path}.type"), problem));
            }
        };
        if !uri.starts_with("data:") {
            let problem = "must be a `data:` URI, because no address in a message is fetched";
            return Err(ApiError::invalid_field(format!("{path}.{kind}"), problem));
        }
        files.push(AttachmentRequest { uri, media_type: None, name });
    }
    Ok((texts.join("\n"), files))
}
