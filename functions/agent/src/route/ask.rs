//! Questions: `POST /AutoAgent`, the endpoint of JoyAgent's UI, and `POST /runs`.

pub(crate) mod ag_ui;
pub(crate) mod ai_sdk;
mod attachments;
pub(crate) mod chat_completions;
pub(crate) mod data_question;
pub(crate) mod mcp;
mod question_members;
pub(crate) mod responses_api;
mod session_file;

use axum::extract::State;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{RequestId, RunId, SessionName};
use djinn_core::input::RunSpec;
use djinn_core::language::Language;
use djinn_core::settings::OutputStyle;
use djinn_protocol::body::AcceptedBody;
use djinn_protocol::request::{
    HumanSettingsRequest, JoyAgentRequest, NoParameters, ReviewRequest, RunRequest,
};
use djinn_runtime::port::clock::Clock;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{LoadedRun, Permission, ResponseCapability};
use djinn_runtime::texts::{ATTACHMENTS, QUESTION, check_bounds};
use djinn_runtime::world::Ports;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::attachments::ReadFiles;
use self::question_members::{FieldNames, QuestionMembers};
use crate::access::require_access;
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::{ApiError, IGNORED, REQUEST_ID, RUN_ID, add_id_headers};
use crate::body::{JsonMembers, parse_id};
use crate::detached_run::start_detached;
use crate::human_settings_change::HumanSettingsChange;
use crate::identity::Caller;
use crate::mode_choice::{
    DefaultMode, ModeChoice, QuestionArguments, find_misnamed_settings, list_modes,
};
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ignored_header};
use crate::response_parser;
use crate::review_choice::{describe_review, set_review};
use crate::run_stream::{StreamProtocol, StreamRequest, stream_question};
use crate::unknown::UnknownMembers;
use crate::workflow_choice::{WORKFLOW, check_missing};

/// `POST /AutoAgent`: streams JoyAgent's raw events, or returns an error in JSON.
pub(crate) async fn auto_agent<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    members: JsonMembers,
) -> QuestionReply {
    stream_joyagent(&agent, caller, &parts, members, StreamProtocol::JoyAgent).await
}

/// `POST /web/api/v1/gpt/queryAgentStreamIncr`: streams the events of JoyAgent's UI. An error is also such an
/// event.
pub(crate) async fn query_agent<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    members: JsonMembers,
) -> QuestionReply {
    stream_joyagent(&agent, caller, &parts, members, StreamProtocol::JoyAgentUi).await
}

async fn stream_joyagent<P: AgentPorts>(
    agent: &SharedAgent<P>,
    caller: Caller,
    parts: &Parts,
    members: JsonMembers,
    protocol: StreamProtocol,
) -> QuestionReply {
    let agent = &agent.refresh().await;
    let mut reader = QuestionReader::new(agent, caller, parts, FieldNames::JoyAgent);
    let response = async {
        let (request, unknown) = reader.parse_request::<JoyAgentRequest>(members)?;
        let is_page = protocol == StreamProtocol::JoyAgentUi;
        let previews = is_page || request.is_stream.unwrap_or(false);
        let fields = if is_page {
            QuestionMembers::of_page(request)
        } else {
            QuestionMembers::of_joyagent(request)
        };
        let mut question = reader.read_question(fields, &unknown).await?;
        question.capability = ResponseCapability::Everything;
        stream_question(agent, parts, StreamRequest { question, protocol, previews }).await
    };
    let response = response.await;
    reader.into_reply(response)
}

/// `POST /runs`: returns a stream if the client accepts streams, else 202 with the run's id.
pub(crate) async fn start_run<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    _: UrlQuery<NoParameters>,
    members: JsonMembers,
) -> QuestionReply {
    let agent = agent.refresh().await;
    let mut reader = QuestionReader::new(&agent, caller, &parts, FieldNames::Native);
    let response = async {
        let (request, unknown) = reader.parse_request::<RunRequest>(members)?;
        let fields = QuestionMembers::of_run(request);
        let mut question = reader.read_question(fields, &unknown).await?;
        question.capability = ResponseCapability::Everything;
        if accepts_stream(&parts.headers) {
            let ask = StreamRequest { question, protocol: StreamProtocol::Native, previews: true };
            return stream_question(&agent, &parts, ask).await;
        }
        let session = question.spec.session_name().to_string();
        let request = question.spec.request.to_string();
        let run = start_without_client(&agent, question, &mut reader.facts).await?.to_string();
        let reply = JsonReply::json(&AcceptedBody { run, session, request: Some(request) })?;
        Ok(reply.with_status(StatusCode::ACCEPTED).into_response())
    };
    let response = response.await;
    reader.into_reply(response)
}

/// Starts the question's run without a client. Returns the run, which is another run for a `continue`.
async fn start_without_client<P: AgentPorts>(
    agent: &SharedAgent<P>,
    question: UserQuestion,
    facts: &mut QuestionFacts,
) -> Result<RunId, ApiError> {
    let key = start_detached(agent, question).await?;
    facts.run = Some(key.run.clone());
    Ok(key.run)
}

/// The response to a question, with the facts about the question.
pub(crate) struct QuestionReply {
    response: Result<Response, ApiError>,
    facts: QuestionFacts,
}

impl IntoResponse for QuestionReply {
    fn into_response(self) -> Response {
        self.facts.add_headers(self.response.into_response())
    }
}

/// The facts about a question as far as it was read, returned with any response.
#[derive(Default)]
struct QuestionFacts {
    run: Option<RunId>,
    request: Option<RequestId>,
    /// The fields without effect.
    ignored: Vec<String>,
    /// The language of the question's text.
    language: Option<Language>,
}

impl QuestionFacts {
    /// Adds the question's ids to a response without them.
    fn add_headers(&self, mut response: Response) -> Response {
        let is_missing = |header| !response.headers().contains_key(header);
        let run = self.run.as_ref().filter(|_| is_missing(RUN_ID));
        let request = self.request.as_ref().filter(|_| is_missing(REQUEST_ID));
        add_id_headers(response.headers_mut(), run, request);
        let ignored_names = ignored_header(&self.ignored).map(|names| (IGNORED, names));
        response.headers_mut().extend(ignored_names);
        response
    }
}

/// Reads a question, and collects the facts about it.
struct QuestionReader<'a, P: AgentPorts> {
    agent: &'a Agent<P>,
    caller: Caller,
    parts: &'a Parts,
    names: FieldNames,
    facts: QuestionFacts,
}

impl<'a, P: AgentPorts> QuestionReader<'a, P> {
    fn new(agent: &'a Agent<P>, caller: Caller, parts: &'a Parts, names: FieldNames) -> Self {
        Self { agent, caller, parts, names, facts: QuestionFacts::default() }
    }

    /// Parses a request, the id first: errors include the id, regardless of other errors.
    fn parse_request<T: DeserializeOwned>(
        &mut self,
        members: JsonMembers,
    ) -> Result<(T, UnknownMembers), ApiError> {
        let name = self.names.translate("request_id");
        self.facts.request = Some(match members.peek_text(name) {
            Some(request) => parse_id(name, request)?,
            None => new_request_id(self.agent)?,
        });
        let (request, unknown) = members.parse_request();
        Ok((request?, unknown))
    }

    /// Reads the question, which differs between endpoints only in field names. Its text responds to no human
    /// request unless the endpoint grants a capability.
    async fn read_question(
        &mut self,
        fields: QuestionMembers,
        unknown: &UnknownMembers,
    ) -> Result<UserQuestion, ApiError> {
        let Self { agent, caller, parts, names, facts } = self;
        let mut fields = fields;
        let arguments = QuestionArguments::take(&mut fields.request, is_blank)?;
        facts.language = fields.request.question.as_deref().and_then(Language::of_text);
        let request = facts.request.clone().ok_or(ErrorCode::Internal)?;
        // Without a session, the question starts a new session.
        let session = fields.request.session_id.as_deref().unwrap_or(request.as_str());
        let session: SessionName = parse_id(names.translate("session_id"), session)?;
        let text = fields.request.question.ok_or_else(|| {
            let name = names.translate(QUESTION);
            ApiError::from(Failure::new(ErrorCode::QueryMissing, name).with_field(name))
        })?;
        let is_joyagent = *names == FieldNames::JoyAgent;
        let is_lenient = !matches!(names, FieldNames::Native | FieldNames::Mcp);
        let style = fields.request.output_style;
        let output_style = style.as_deref().and_then(OutputStyle::parse);
        let style_name = names.translate("output_style");
        let is_unknown_style = style.is_some() && output_style.is_none();
        if !is_lenient {
            if is_unknown_style {
                return Err(ApiError::from(ErrorCode::UnknownStyle).with_field(style_name));
            }
            unknown.require_none()?;
        }
        facts.ignored = unknown.header_names();
        facts.ignored.extend(is_unknown_style.then(|| style_name.to_owned()));
        let mut settings = agent.settings.run.clone();
        settings.language = facts.language.unwrap_or(settings.language);
        settings.plan.employees |= is_joyagent && agent.settings.joyagent_employees;
        let access = require_access(agent, caller, session, Permission::Write).await?;
        let read_files = ReadFiles::read(agent, parts, caller, &access, fields.files).await?;
        let unused = read_files.ignored.into_iter().chain(fields.unused).map(str::to_owned);
        facts.ignored.splice(0..0, unused);
        let Caller { tenant, user } = caller.clone();
        let session = access.session.session;
        let spec = RunSpec::new(tenant, user, session, request, text, settings);
        let mut question = UserQuestion {
            spec: RunSpec {
                shared: access.shared,
                output_style,
                ignored: facts.ignored.clone(),
                base_prompt: agent.settings.base_prompt.clone(),
                ..spec
            },
            client_prompt: fields.request.base_prompt.take().unwrap_or_default(),
            history: None,
            choice: Value::Null,
            attachments: read_files.attachments,
            parsed_response: None,
            capability: ResponseCapability::default(),
        };
        question.spec.arguments.clone_from(arguments.as_map());
        check_bounds(&mut question)?;
        if question.is_continue() && !question.attachments.is_empty() {
            let problem = "are not allowed with a request that only continues a run; send them with a question";
            return Err(ApiError::invalid_field(names.translate(ATTACHMENTS), problem));
        }
        let language = question.spec.settings.language;
        question.parsed_response =
            Some(response_parser::read_response(&question.spec.question, None, language).parsed);
        facts.run = Some(question.run_key().run);
        let chosen = ChosenMode {
            choice: fields.mode,
            arguments,
            review: fields.request.review,
            human_requests: fields.request.human_requests,
            names: *names,
        };
        question.choice = chosen.describe(agent, language);
        // The files may have changed since the first request; its run exists all the same.
        if let Err(error) = chosen.apply_to(agent, &mut question)
            && !is_repeat(agent, &question).await?
        {
            return Err(error);
        }
        Ok(question)
    }

    /// Returns the response, or an error in the language of the question with the client's field names.
    fn into_reply(self, response: Result<Response, ApiError>) -> QuestionReply {
        let Self { names, facts, .. } = self;
        let localize = |error| names.rename_field(error).with_language(facts.language);
        QuestionReply { response: response.map_err(localize), facts }
    }
}

/// The mode of a question with its arguments and settings, as the client sent them.
struct ChosenMode {
    choice: ModeChoice,
    arguments: QuestionArguments,
    review: Option<ReviewRequest>,
    human_requests: Option<HumanSettingsRequest>,
    names: FieldNames,
}

impl ChosenMode {
    /// Returns the part that a repeated request must share. The default mode is the same in every protocol,
    /// named or not.
    fn describe<P: Ports>(&self, agent: &Agent<P>, language: Language) -> Value {
        let modes = list_modes(agent, language);
        let default_mode = DefaultMode::find(&agent.settings.run.mode, &modes).name;
        let mode = self.choice.find_name(&modes, default_mode);
        let review = self.review.as_ref().map(describe_review);
        json!([mode.filter(|name| name != default_mode), self.arguments.as_map(), review])
    }

    /// Sets the mode of a question, and the settings of human requests.
    fn apply_to<P: Ports>(
        self,
        agent: &Agent<P>,
        question: &mut UserQuestion,
    ) -> Result<(), ApiError> {
        let Self { choice, arguments, review, human_requests, names } = self;
        let has_arguments = names == FieldNames::Native;
        let modes = list_modes(agent, question.spec.settings.language);
        let default_mode = DefaultMode::find(&agent.settings.run.mode, &modes);
        question.spec.warnings.extend(default_mode.problem);
        let named = agent.settings.human_requests.keys();
        question.spec.warnings.extend(find_misnamed_settings(named, &modes));
        let mode = choice.find(&modes, default_mode.name)?;
        arguments.set_mode(mode, &modes, question, has_arguments)?;
        set_review(agent, &mut question.spec, review)?;
        set_human_settings(agent, question, human_requests, names.translate("human_requests"))?;
        check_missing(question, has_arguments)
    }
}

/// Returns true if the question repeats the request of an existing run.
async fn is_repeat<P: Ports>(agent: &Agent<P>, question: &UserQuestion) -> Result<bool, ApiError> {
    let run = LoadedRun::find(&agent.ports, &question.run_key()).await?;
    Ok(run.is_some_and(|run| run.is_repeated_by(question)))
}

/// Sets the settings of human requests: the deployment's settings for the question's mode, with the request's
/// additions. `field` is the request's field with the change.
fn set_human_settings<P: Ports>(
    agent: &Agent<P>,
    question: &mut UserQuestion,
    change: Option<HumanSettingsRequest>,
    field: &'static str,
) -> Result<(), ApiError> {
    let mode = question.spec.settings.mode.as_str();
    // Settings for all workflows apply to a workflow without its own.
    let all = question.spec.workflow().map_or(mode, |_| WORKFLOW);
    let settings = agent.settings.human_settings(mode, all);
    question.spec.settings.human = match change.map(HumanSettingsChange::from) {
        None => settings,
        Some(change) => match change.find_problem() {
            Some(problem) => {
                let sentence = format!("`{field}`: {problem}");
                let wrong = Failure::new(ErrorCode::InvalidField, sentence);
                return Err(ApiError::from(wrong).with_field(field));
            }
            None => change.tighten_settings(settings),
        },
    };
    Ok(())
}

fn new_request_id<P: Ports>(agent: &Agent<P>) -> Result<RequestId, ApiError> {
    let text = format!("req-{}-{:08x}", agent.ports.clock().now_ms(), fastrand::u32(..));
    RequestId::new(text).map_err(|_| ErrorCode::Internal.into())
}

fn accepts_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accept.into_iter().any(|value| value.contains("text/event-stream"))
}

/// Returns true if a text shows nothing.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c))
}

/// Returns true for invisible characters: zero-width characters, joiners, tags.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        || c.is_control()
}
