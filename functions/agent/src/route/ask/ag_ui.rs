//! `POST /agui`, for CopilotKit and other clients of AG-UI.

use axum::extract::State;
use axum::http::request::Parts;
use djinn_core::error_code::ErrorCode;
use djinn_core::human::ResponseRecord;
use djinn_core::id::{RequestId, RunId, SessionName, sha256_hex};
use djinn_protocol::ag_ui::{AgUiOptions, InterruptId};
use djinn_protocol::request::{
    AgUiContext, AgUiMessage, AgUiPart, AgUiRequest, AgUiResume, AgUiResumeStatus, AgUiSource,
    AttachmentRequest, RunRequest,
};
use djinn_runtime::port::RunKey;
use djinn_runtime::serve::{AccessLevel, LoadedRun, ResponseCapability, list_requests};
use serde_json::Value;

use super::question_members::{FieldNames, QuestionMembers};
use super::{QuestionReader, QuestionReply, is_blank};
use crate::access::require_own_run;
use crate::agent::{AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::body::JsonMembers;
use crate::fields::parse_fields;
use crate::identity::Caller;
use crate::response_parser::read_response;
use crate::route::requests::{ResponseDraft, skip_record, submit_record};
use crate::run_stream::{
    ReplayStart, RunSubscription, StreamProtocol, StreamRequest, stream_question, stream_run,
};

/// The name of the messages in errors.
const MESSAGES: &str = "messages";

/// The field with the client's tools.
const TOOLS: &str = "tools";

/// `POST /agui`: answers a question, joins the run of a repeated request, or takes the responses to interrupts and
/// streams the rest of their run.
pub(crate) async fn serve_ag_ui<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    members: JsonMembers,
) -> QuestionReply {
    let agent = &agent.refresh().await;
    let mut reader = QuestionReader::new(agent, caller, &parts, FieldNames::AgUi);
    let response = async {
        let (request, unknown) = members.parse_request::<AgUiRequest>();
        let mut request = request?;
        let name = to_allowed_name::<RequestId>(&request.run_id);
        reader.facts.request = Some(RequestId::new(name).map_err(|_| ErrorCode::Internal)?);
        let responses = Responses::read(request.resume.take().unwrap_or_default())?;
        let options = AgUiOptions {
            thread: request.thread_id.clone(),
            request: request.run_id.clone(),
            messages: std::mem::take(&mut request.messages),
            state: std::mem::take(&mut request.state),
            is_join: true,
            is_resume: false,
        };
        if let Some(responses) = responses {
            let caller = reader.caller.clone();
            let mut run = responses.find_run(agent, &caller, &options.thread).await?;
            if responses.concern(agent, &mut run, &options.messages).await? {
                let first = responses.submit_all(agent, &caller, &mut run).await?;
                let options = AgUiOptions { is_resume: true, ..options };
                let subscription = subscribe(&run, options);
                let from = ReplayStart::Record(first);
                return stream_run(agent, &parts, subscription, run, from).await;
            }
        }
        let fields = read_question(request, &options)?;
        let mut question = reader.read_question(fields, &unknown).await?;
        question.capability = ResponseCapability::Everything;
        let protocol = StreamProtocol::AgUi(options);
        stream_question(agent, &parts, StreamRequest { question, protocol, previews: true }).await
    };
    let response = response.await;
    reader.into_reply(response)
}

fn subscribe(run: &LoadedRun, options: AgUiOptions) -> RunSubscription {
    RunSubscription {
        session: run.meta().session_key(&run.key().tenant),
        session_name: run.meta().session_name(),
        key: run.key().clone(),
        request: run.meta().request.clone(),
        protocol: StreamProtocol::AgUi(options),
        previews: true,
        viewer: AccessLevel::Asker,
    }
}

/// The responses to interrupts of one run.
struct Responses {
    run: RunId,
    /// The newest record that the client had received at the pause.
    record: u64,
    entries: Vec<(InterruptId, AgUiResume)>,
}

impl Responses {
    /// Reads the responses; `None` without any.
    fn read(resume: Vec<AgUiResume>) -> Result<Option<Self>, ApiError> {
        let mut entries: Vec<(InterruptId, AgUiResume)> = Vec::new();
        for (at, entry) in resume.into_iter().enumerate() {
            let id = InterruptId::parse(&entry.interrupt_id).ok_or_else(|| not_found(at))?;
            if entries.first().is_some_and(|(first, _)| first.run != id.run) {
                let field = format!("resume[{at}].interruptId");
                let problem = "must belong to the same run as the first interrupt";
                return Err(ApiError::invalid_field(field, problem));
            }
            if entry.status == AgUiResumeStatus::Resolved && entry.payload.is_none() {
                return Err(ApiError::invalid_field(format!("resume[{at}].payload"), "is missing"));
            }
            entries.push((id, entry));
        }
        let record = entries.iter().map(|(id, _)| id.record).max();
        let run = entries.first().map(|(id, _)| id.run.clone());
        Ok(run.zip(record).map(|(run, record)| Self { run, record, entries }))
    }

    /// Loads the run, which must be the caller's own, in this thread, and have come as far as the interrupts.
    async fn find_run<P: AgentPorts>(
        &self,
        agent: &SharedAgent<P>,
        caller: &Caller,
        thread: &str,
    ) -> Result<LoadedRun, ApiError> {
        let key = RunKey::new(caller.tenant.clone(), self.run.clone());
        let run = LoadedRun::find(&agent.ports, &key).await?.ok_or_else(|| not_found(0))?;
        let mut run = require_own_run(agent, caller, run).await.map_err(|error| {
            let is_hidden = error.failure.code == ErrorCode::RunNotFound;
            if is_hidden { not_found(0) } else { error }
        })?;
        let is_here = run.meta().session_name().as_str() == to_allowed_name::<SessionName>(thread);
        if !is_here || self.record >= run.read_next_number(&agent.ports).await? {
            return Err(not_found(0));
        }
        Ok(run)
    }

    /// Returns false if the run no longer waits for the responses, and the messages end with a question after the run.
    /// Clients keep sending the responses after a run that failed.
    async fn concern<P: AgentPorts>(
        &self,
        agent: &SharedAgent<P>,
        run: &mut LoadedRun,
        messages: &[Value],
    ) -> Result<bool, ApiError> {
        let of_run = format!("{}:", self.run);
        let is_of_run = |message: &Value| {
            message.get("id").and_then(Value::as_str).is_some_and(|id| id.starts_with(&of_run))
        };
        let has_question =
            messages.last().is_some_and(is_of_user) && messages.iter().any(is_of_run);
        if !has_question {
            return Ok(true);
        }
        let open = list_requests(&agent.ports, run).await?;
        let is_open =
            |id: &InterruptId| open.iter().any(|request| request.is_addressed_by(&id.request));
        if self.entries.iter().any(|(id, _)| is_open(id)) {
            let problem = "must not end with a new question while `resume` responds to a run";
            return Err(ApiError::invalid_field(MESSAGES, problem));
        }
        Ok(false)
    }

    /// Submits the responses, and returns the first record that the client has not received.
    async fn submit_all<P: AgentPorts>(
        self,
        agent: &SharedAgent<P>,
        caller: &Caller,
        run: &mut LoadedRun,
    ) -> Result<u64, ApiError> {
        for (at, (id, entry)) in self.entries.into_iter().enumerate() {
            let record = to_record(agent, caller, run, id, entry).await;
            let record = record.map_err(|error| name_field(error, at))?;
            match submit_record(agent, run, record, ResponseCapability::Everything).await {
                // The stream shows the response that was first.
                Err(error) if error.failure.code == ErrorCode::RequestResolved => {}
                Err(error) => return Err(name_field(error, at)),
                Ok(_) => {}
            }
        }
        Ok(self.record.saturating_add(1))
    }
}

/// Returns the record of a response. A repeated request has the same responses.
async fn to_record<P: AgentPorts>(
    agent: &SharedAgent<P>,
    caller: &Caller,
    run: &mut LoadedRun,
    id: InterruptId,
    entry: AgUiResume,
) -> Result<ResponseRecord, ApiError> {
    let digest = sha256_hex(format!("{} {:?}", id.to_text(), entry.payload).as_bytes());
    let record = match entry.payload.filter(|_| entry.status == AgUiResumeStatus::Resolved) {
        None => skip_record(id.request, caller),
        Some(payload) => {
            let language = agent.settings.run.language;
            let text = read_response(&payload.answer, payload.arguments, language);
            let comment = payload.comment;
            let draft = ResponseDraft { request: id.request, comment, digest: None };
            draft.complete(agent, run, caller, &text).await?
        }
    };
    Ok(ResponseRecord { id: format!("agui.{}", digest.get(..32).unwrap_or_default()), ..record })
}

/// Names the invalid field of a response as the client does.
fn name_field(error: ApiError, at: usize) -> ApiError {
    let name = match error.field() {
        Some("response") => "payload.answer",
        Some("parameters") => "payload.arguments",
        Some("comment") => "payload.comment",
        Some(_) => return error,
        None => "interruptId",
    };
    error.with_field(format!("resume[{at}].{name}"))
}

/// Returns the error for an interrupt that does not exist for the caller.
fn not_found(at: usize) -> ApiError {
    ApiError::from(ErrorCode::RequestNotFound).with_field(format!("resume[{at}].interruptId"))
}

/// Returns a name of the client, or its hash if ours cannot be so.
fn to_allowed_name<T: TryFrom<String>>(name: &str) -> String {
    if T::try_from(name.to_owned()).is_ok() {
        return name.to_owned();
    }
    format!("agui-{}", sha256_hex(name.as_bytes()).get(..32).unwrap_or_default())
}

fn is_of_user(message: &Value) -> bool {
    message.get("role").is_some_and(|role| role == "user")
}

/// Returns the question, which is the last message of the user.
fn read_question(request: AgUiRequest, options: &AgUiOptions) -> Result<QuestionMembers, ApiError> {
    let Some(at) = options.messages.iter().rposition(is_of_user) else {
        return Err(ApiError::invalid_field(MESSAGES, "must have a message of the user"));
    };
    let path = format!("{MESSAGES}[{at}]");
    let message = options.messages.get(at).cloned().unwrap_or_default();
    let AgUiMessage { content, .. } = read_part(message, &path)?;
    let (question, files) = read_content(content, &format!("{path}.content"))?;
    let settings = request.forwarded_props.and_then(|props| props.djinn).unwrap_or_default();
    let instructions = describe_context(&request.context.unwrap_or_default());
    let mut members = QuestionMembers::of_run(RunRequest {
        question: Some(question).filter(|question| !is_blank(question)),
        session_id: Some(to_allowed_name::<SessionName>(&options.thread)),
        attachments: Some(files),
        request_id: None,
        mode: settings.mode,
        arguments: None,
        output_style: settings.output_style,
        base_prompt: Some(instructions).filter(|text| !text.is_empty()),
        review: None,
        human_requests: settings.human_requests,
    });
    let has_tools = request.tools.is_some_and(|tools| !tools.is_empty());
    members.unused.extend(has_tools.then_some(TOOLS));
    Ok(members)
}

fn describe_context(context: &[AgUiContext]) -> String {
    let lines = context.iter().map(|AgUiContext { description, value }| {
        let separator = if description.is_empty() { "" } else { ": " };
        format!("{description}{separator}{value}")
    });
    lines.collect::<Vec<_>>().join("\n\n")
}

/// Returns the text and the files of a message.
fn read_content(content: Value, path: &str) -> Result<(String, Vec<AttachmentRequest>), ApiError> {
    let parts = match content {
        Value::String(text) => return Ok((text, Vec::new())),
        Value::Array(parts) => parts,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(ApiError::invalid_field(
                path.to_owned(),
                "must be a text or a list of parts",
            ));
        }
    };
    let mut texts = Vec::new();
    let mut files = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let path = format!("{path}[{at}]");
        let part: AgUiPart = read_part(part, &path)?;
        let missing = |name: &str| ApiError::invalid_field(format!("{path}.{name}"), "is missing");
        match part.kind.as_str() {
            "text" => texts.push(part.text.ok_or_else(|| missing("text"))?),
            "image" | "audio" | "video" | "document" => {
                let source = part.source.ok_or_else(|| missing("source"))?;
                files.push(read_source(source, &path)?);
            }
            "binary" => {
                let data = part.data.ok_or_else(|| not_fetched(format!("{path}.data")))?;
                let media_type = part.mime_type.unwrap_or_default();
                let uri = format!("data:{media_type};base64,{data}");
                files.push(AttachmentRequest { uri, media_type: None, name: part.filename });
            }
            _ => {
                let problem = "must be `text`, `image`, `audio`, `video`, `document` or `binary`";
                return Err(ApiError::invalid_field(format!("{path}.type"), problem));
            }
        }
    }
    Ok((texts.join("\n"), files))
}

fn read_source(source: AgUiSource, path: &str) -> Result<AttachmentRequest, ApiError> {
    let AgUiSource { kind, value, mime_type } = source;
    let uri = match kind.as_str() {
        "data" => format!("data:{};base64,{value}", mime_type.unwrap_or_default()),
        "url" if value.starts_with("data:") => value,
        _ => return Err(not_fetched(format!("{path}.source"))),
    };
    Ok(AttachmentRequest { uri, media_type: None, name: None })
}

fn not_fetched(field: String) -> ApiError {
    let problem = "must have the bytes themselves, because no address in a message is fetched";
    ApiError::invalid_field(field, problem)
}

/// Reads an object at this path.
fn read_part<T: serde::de::DeserializeOwned>(part: Value, path: &str) -> Result<T, ApiError> {
    let Value::Object(fields) = part else {
        return Err(ApiError::invalid_field(path.to_owned(), "must be an object"));
    };
    parse_fields(fields).0.map_err(|error| {
        let field = error.field().map_or_else(|| path.to_owned(), |name| format!("{path}.{name}"));
        ApiError::invalid_field(field, "is missing or has another type")
    })
}
