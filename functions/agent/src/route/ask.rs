//! Questions: `POST /AutoAgent`, the endpoint of JoyAgent's UI, and `POST /runs`.

mod attachments;
mod member_names;
mod session_file;

use axum::extract::State;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{RequestId, RunId, SessionName};
use djinn_core::language::Language;
use djinn_core::settings::Mode;
use djinn_protocol::body::AcceptedBody;
use djinn_protocol::mode_support::{ModeRequest, find_mode};
use djinn_protocol::request::{
    HumanSettingsRequest, JoyAgentRequest, PageRequest, RunRequest, WholeNumber,
};
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::clock::Clock;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{Permission, start_background};
use djinn_runtime::texts::check_bounds;
use djinn_runtime::world::Ports;
use serde::de::DeserializeOwned;

use self::attachments::{ReadFiles, joyagent_files, own_files};
use self::member_names::{
    JOYAGENT, MemberNames, NATIVE, QuestionMembers, parse_agent_type, parse_mode,
};
use crate::access::require_access;
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::answer_parser;
use crate::api_error::{ApiError, IGNORED, REQUEST_ID, RUN_ID, add_id_headers};
use crate::body::{JsonMembers, parse_id};
use crate::human_settings_change::HumanSettingsChange;
use crate::identity::Caller;
use crate::query::{NoParameters, UrlQuery};
use crate::reply::{JsonReply, ignored_header};
use crate::run_stream::{StreamProtocol, StreamRequest, stream_question};
use crate::unknown::UnknownMembers;

/// `POST /AutoAgent`: streams JoyAgent's raw events, or returns an error in JSON.
pub(crate) async fn auto_agent<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    members: JsonMembers,
) -> QuestionReply {
    let mut ids = QuestionIds::default();
    let answer = ids.auto_agent(&agent, caller, &parts, members).await;
    ids.into_reply(answer, &JOYAGENT)
}

/// `POST /web/api/v1/gpt/queryAgentStreamIncr`: streams the events of JoyAgent's UI. An error is also such an
/// event.
pub(crate) async fn query_agent<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    members: JsonMembers,
) -> QuestionReply {
    let mut ids = QuestionIds::default();
    let answer = ids.query_agent(&agent, caller, &parts, members).await;
    ids.into_reply(answer, &JOYAGENT)
}

/// `POST /runs`: returns a stream if the client accepts streams, else 202 with the run's id.
pub(crate) async fn start_run<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    _: UrlQuery<NoParameters>,
    members: JsonMembers,
) -> QuestionReply {
    let mut ids = QuestionIds::default();
    let answer = ids.start_run(&agent, caller, &parts, members).await;
    ids.into_reply(answer, &NATIVE)
}

/// The result of a question, with the ids.
pub(crate) struct QuestionReply {
    answer: Result<Response, ApiError>,
    ids: QuestionIds,
}

impl IntoResponse for QuestionReply {
    fn into_response(self) -> Response {
        self.ids.add_headers(self.answer.into_response())
    }
}

/// The ids of a question in parsing, returned with any result.
#[derive(Default)]
struct QuestionIds {
    run: Option<RunId>,
    request: Option<RequestId>,
    /// The fields without effect.
    ignored: Vec<String>,
    /// The language of the question's text.
    language: Option<Language>,
}

/// The caller, and the request's fields without effect.
struct Asked<'a> {
    caller: Caller,
    parts: &'a Parts,
    unknown: UnknownMembers,
    /// A field of the request's type without any used content.
    unread: Option<&'static str>,
}

impl QuestionIds {
    async fn auto_agent<P: AgentPorts>(
        &mut self,
        agent: &SharedAgent<P>,
        caller: Caller,
        parts: &Parts,
        members: JsonMembers,
    ) -> Result<Response, ApiError> {
        let (request, unknown) = self.read_members(agent, members, &JOYAGENT)?;
        let JoyAgentRequest { query, session_id, output_style, base_prompt, .. } = request;
        let (files, unread) = joyagent_files(request.files, request.attachments, request.messages);
        let content = QuestionMembers {
            text: query,
            session: session_id,
            style: output_style,
            base_prompt,
            files,
        };
        let context = Asked { caller, parts, unknown, unread };
        let mut question = self.read_question(agent, content, context, &JOYAGENT).await?;
        let mode = parse_agent_type(request.agent_type)?;
        set_mode(agent, &mut question, mode, request.human_feedback, JOYAGENT.human_requests)?;
        let previews = request.is_stream.unwrap_or(false);
        let ask = StreamRequest { question, protocol: StreamProtocol::JoyAgent, previews };
        stream_question(agent, parts, ask).await
    }

    async fn query_agent<P: AgentPorts>(
        &mut self,
        agent: &SharedAgent<P>,
        caller: Caller,
        parts: &Parts,
        members: JsonMembers,
    ) -> Result<Response, ApiError> {
        let (request, unknown) = self.read_members(agent, members, &JOYAGENT)?;
        let PageRequest { query, session_id, output_style, base_prompt, .. } = request;
        let (files, unread) = joyagent_files(request.files, request.attachments, request.messages);
        let content = QuestionMembers {
            text: query,
            session: session_id,
            style: output_style,
            base_prompt,
            files,
        };
        let context = Asked { caller, parts, unknown, unread };
        let mut question = self.read_question(agent, content, context, &JOYAGENT).await?;
        let deep = request.deep_think.is_some_and(|WholeNumber(deep)| deep != 0);
        let mode = find_mode(ModeRequest::DeepThink(deep)).unwrap_or_default();
        set_mode(agent, &mut question, mode, request.human_feedback, JOYAGENT.human_requests)?;
        let ask = StreamRequest { question, protocol: StreamProtocol::JoyAgentUi, previews: true };
        stream_question(agent, parts, ask).await
    }

    async fn start_run<P: AgentPorts>(
        &mut self,
        agent: &SharedAgent<P>,
        caller: Caller,
        parts: &Parts,
        members: JsonMembers,
    ) -> Result<Response, ApiError> {
        let (request, unknown) = self.read_members(agent, members, &NATIVE)?;
        let RunRequest { question, session_id, output_style, base_prompt, .. } = request;
        let files = own_files(request.attachments);
        let content = QuestionMembers {
            text: question,
            session: session_id,
            style: output_style,
            base_prompt,
            files,
        };
        let context = Asked { caller, parts, unknown, unread: None };
        let mut question = self.read_question(agent, content, context, &NATIVE).await?;
        let mode = parse_mode(request.mode.as_deref())?;
        set_mode(agent, &mut question, mode, request.human_requests, NATIVE.human_requests)?;
        if accepts_stream(&parts.headers) {
            let ask = StreamRequest { question, protocol: StreamProtocol::Native, previews: true };
            return stream_question(agent, parts, ask).await;
        }
        let session = question.session_name();
        let key = start_background(&agent.ports, question).await?;
        self.run = Some(key.run.clone());
        // An invocation may get lost, and then only the alarm would start this run.
        if let Err(error) = agent.ports.alarms().set_alarm(&key).await {
            tracing::warn!(%error, run_id = %key.run, "alarm not made: its driver tries again");
        }
        if let Err(error) = agent.ports.invoker().kick_run(&key, 0).await {
            tracing::error!(%error, run_id = %key.run, "run not kicked");
            return Err(ErrorCode::StoreUnavailable.into());
        }
        let reply = JsonReply::json(&AcceptedBody {
            run: key.run.to_string(),
            session: session.to_string(),
            request: self.request.as_ref().map(ToString::to_string),
        })?;
        Ok(reply.with_status(StatusCode::ACCEPTED).into_response())
    }

    /// Parses a request, the id first: errors include the id, regardless of other errors.
    fn read_members<P: Ports, T: DeserializeOwned>(
        &mut self,
        agent: &Agent<P>,
        members: JsonMembers,
        names: &MemberNames,
    ) -> Result<(T, UnknownMembers), ApiError> {
        self.request = Some(match members.peek_text(names.request) {
            Some(request) => parse_id(names.request, request)?,
            None => new_request_id(agent)?,
        });
        let (request, unknown) = members.parse_request();
        Ok((request?, unknown))
    }

    /// Parses the question, which differs between endpoints only in field names.
    async fn read_question<P: Ports>(
        &mut self,
        agent: &Agent<P>,
        content: QuestionMembers,
        Asked { caller, parts, unknown, unread }: Asked<'_>,
        names: &MemberNames,
    ) -> Result<UserQuestion, ApiError> {
        self.language = content.text.as_deref().and_then(Language::of_text);
        let request = self.request.clone().ok_or(ErrorCode::Internal)?;
        // Without a session, the question starts a new session.
        let session = content.session.as_deref().unwrap_or(request.as_str());
        let session: SessionName = parse_id(names.session, session)?;
        let text = content.text.filter(|text| !is_blank(text)).ok_or_else(|| {
            let missing = Failure::new(ErrorCode::QueryMissing, names.question);
            ApiError::from(missing.with_field(names.question))
        })?;
        let output_style = names.parse_style(content.style.as_deref())?;
        let is_unknown_style = content.style.is_some() && output_style.is_none();
        self.ignored = names.ignored(&unknown, is_unknown_style)?;
        let mut settings = agent.settings.run.clone();
        settings.language = self.language.unwrap_or(settings.language);
        settings.plan.employees |= names.employees && agent.settings.joyagent_employees;
        let access = require_access(agent, &caller, session, Permission::Write).await?;
        let read_files = ReadFiles::read(agent, parts, &caller, &access, content.files).await?;
        let unread = read_files.ignored.into_iter().chain(unread).map(str::to_owned);
        self.ignored.splice(0..0, unread);
        let mut question = UserQuestion {
            tenant: caller.tenant,
            user: caller.user,
            session: access.session.session,
            shared: access.shared,
            request,
            text,
            attachments: read_files.attachments,
            parsed_response: None,
            output_style,
            ignored: self.ignored.clone(),
            deployment_prompt: agent.settings.base_prompt.clone(),
            base_prompt: content.base_prompt.unwrap_or_default(),
            settings,
        };
        check_bounds(&mut question)?;
        if question.is_continue() && !question.attachments.is_empty() {
            let problem = "are not allowed with a request that only continues a run; send them with a question";
            return Err(ApiError::invalid_field(names.attachments, problem));
        }
        let language = question.settings.language;
        question.parsed_response =
            Some(answer_parser::parse_answer(&question.text, None, language).parsed);
        self.run = Some(question.run_key().run);
        Ok(question)
    }

    /// Returns the response, or an error in the language of the question with the client's field names.
    fn into_reply(self, answer: Result<Response, ApiError>, names: &MemberNames) -> QuestionReply {
        let language = self.language;
        let localize = |refusal| names.rename_member(refusal).with_language(language);
        QuestionReply { answer: answer.map_err(localize), ids: self }
    }

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

/// Sets the mode and the settings of human requests: the deployment's settings for this mode, with the
/// request's additions. `field` is the request's field with the change.
fn set_mode<P: Ports>(
    agent: &Agent<P>,
    question: &mut UserQuestion,
    mode: Mode,
    change: Option<HumanSettingsRequest>,
    field: &'static str,
) -> Result<(), ApiError> {
    let settings = agent.settings.human_settings(mode);
    question.settings.mode = mode;
    question.settings.human = match change.map(HumanSettingsChange::from) {
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
