//! Questions: `POST /AutoAgent`, the endpoint of JoyAgent's UI, and `POST /runs`.

use axum::extract::State;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{RequestId, RunId, SessionName};
use djinn_core::settings::{Mode, OutputStyle};
use djinn_protocol::body::AcceptedBody;
use djinn_protocol::joyagent::{PLAN_SOLVE, REACT};
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::clock::Clock;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{Permission, start_background};
use djinn_runtime::texts::{QUESTION, check_bounds};
use djinn_runtime::world::Ports;
use serde_json::Value;

use crate::access::require_access;
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::answer_parser;
use crate::api_error::{ApiError, IGNORED, REQUEST_ID, RUN_ID, add_id_headers};
use crate::fields::BodyFields;
use crate::human_settings_change::HumanSettingsChange;
use crate::identity::Caller;
use crate::query::{NoParameters, UrlQuery};
use crate::reply::{JsonReply, ignored_header};
use crate::run_stream::{StreamProtocol, StreamRequest, stream_question};

/// How one endpoint names the members of a question.
struct MemberNames {
    question: &'static str,
    session: &'static str,
    request: &'static str,
    style: &'static str,
    /// Whether its clients cannot change: what has no effect is named, and not refused.
    lenient: bool,
    base_prompt: &'static str,
    feedback: &'static str,
    /// The members that say how the question is worked on and answered.
    options: &'static [&'static str],
    /// Whether its events have a place for digital employees.
    employees: bool,
}

/// The members of `POST /AutoAgent`.
const AUTO_AGENT: MemberNames = MemberNames { options: &["agentType", "isStream"], ..JOYAGENT };

/// The members of JoyAgent's UI.
const QUERY_AGENT: MemberNames = MemberNames { options: &["deepThink"], ..JOYAGENT };

const JOYAGENT: MemberNames = MemberNames {
    question: "query",
    session: "sessionId",
    request: "requestId",
    style: "outputStyle",
    lenient: true,
    base_prompt: "basePrompt",
    feedback: "humanFeedback",
    options: &[],
    employees: true,
};

const NATIVE: MemberNames = MemberNames {
    question: "question",
    session: "session_id",
    request: "request_id",
    style: "output_style",
    lenient: false,
    base_prompt: "base_prompt",
    feedback: "human_feedback",
    options: &["mode"],
    employees: false,
};

impl MemberNames {
    /// A refusal with the member of the request as this endpoint names it. A question may be an answer.
    fn rename_member(&self, refusal: ApiError) -> ApiError {
        match refusal.field() {
            Some(QUESTION | "feedback" | "parameters") => refusal.with_member_name(self.question),
            Some("base_prompt") => refusal.with_member_name(self.base_prompt),
            Some(_) | None => refusal,
        }
    }

    /// All members that have an effect.
    fn known(&self) -> Vec<&'static str> {
        let Self { question, session, request, style, base_prompt, feedback, .. } = self;
        let mut known = vec![*question, session, request, style, base_prompt, feedback];
        known.extend(self.options);
        known
    }

    /// The members of a question that have no effect.
    ///
    /// # Errors
    /// `invalid_field` about the first of them, where clients can change.
    fn ignored(&self, fields: &BodyFields) -> Result<Vec<String>, ApiError> {
        let known = self.known();
        if !self.lenient {
            fields.require_known(&known)?;
        }
        let mut ignored = fields.ignored_names(&known);
        if read_style(fields, self)?.is_none() && fields.text(self.style)?.is_some() {
            ignored.push(self.style.to_owned());
        }
        Ok(ignored)
    }
}

/// `POST /AutoAgent` answers with a stream of JoyAgent's raw events, or refuses in JSON.
pub(crate) async fn auto_agent<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    fields: BodyFields,
) -> QuestionReply {
    let mut ids = QuestionIds::default();
    let answer = ids.auto_agent(&agent, caller, &parts, &fields).await;
    QuestionReply { answer: answer.map_err(|refusal| AUTO_AGENT.rename_member(refusal)), ids }
}

/// `POST /web/api/v1/gpt/queryAgentStreamIncr` answers with a stream of the events that
/// JoyAgent's UI reads; a refusal is such an event too.
pub(crate) async fn query_agent<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    fields: BodyFields,
) -> QuestionReply {
    let mut ids = QuestionIds::default();
    let answer = ids.query_agent(&agent, caller, &parts, &fields).await;
    QuestionReply { answer: answer.map_err(|refusal| QUERY_AGENT.rename_member(refusal)), ids }
}

/// `POST /runs`: a stream for those who accept one, else 202 and the run's id.
pub(crate) async fn start_run<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    _: UrlQuery<NoParameters>,
    fields: BodyFields,
) -> QuestionReply {
    let mut ids = QuestionIds::default();
    let answer = ids.start_run(&agent, caller, &parts, &fields).await;
    QuestionReply { answer: answer.map_err(|refusal| NATIVE.rename_member(refusal)), ids }
}

/// What came of a question, and what is known of it.
pub(crate) struct QuestionReply {
    answer: Result<Response, ApiError>,
    ids: QuestionIds,
}

impl IntoResponse for QuestionReply {
    fn into_response(self) -> Response {
        self.ids.add_headers(self.answer.into_response())
    }
}

/// What is known of a question while it is read: its answer names it, whatever comes of it.
#[derive(Default)]
struct QuestionIds {
    run: Option<RunId>,
    request: Option<RequestId>,
    /// The members that have no effect.
    ignored: Vec<String>,
}

impl QuestionIds {
    async fn auto_agent<P: AgentPorts>(
        &mut self,
        agent: &SharedAgent<P>,
        caller: Caller,
        parts: &Parts,
        fields: &BodyFields,
    ) -> Result<Response, ApiError> {
        let mut question = self.read_question(agent, fields, caller, &AUTO_AGENT).await?;
        set_mode(agent, fields, &mut question, parse_agent_type(fields)?, AUTO_AGENT.feedback)?;
        let previews = fields.flag("isStream")?.unwrap_or(false);
        let ask = StreamRequest { question, protocol: StreamProtocol::JoyAgent, previews };
        stream_question(agent, parts, ask).await
    }

    async fn query_agent<P: AgentPorts>(
        &mut self,
        agent: &SharedAgent<P>,
        caller: Caller,
        parts: &Parts,
        fields: &BodyFields,
    ) -> Result<Response, ApiError> {
        let mut question = self.read_question(agent, fields, caller, &QUERY_AGENT).await?;
        let mode = match fields.number("deepThink")?.unwrap_or_default() {
            0 => Mode::React,
            _ => Mode::PlanSolve,
        };
        set_mode(agent, fields, &mut question, mode, QUERY_AGENT.feedback)?;
        let ask = StreamRequest { question, protocol: StreamProtocol::JoyAgentUi, previews: true };
        stream_question(agent, parts, ask).await
    }

    async fn start_run<P: AgentPorts>(
        &mut self,
        agent: &SharedAgent<P>,
        caller: Caller,
        parts: &Parts,
        fields: &BodyFields,
    ) -> Result<Response, ApiError> {
        let mut question = self.read_question(agent, fields, caller, &NATIVE).await?;
        set_mode(agent, fields, &mut question, parse_mode(fields)?, NATIVE.feedback)?;
        if accepts_stream(&parts.headers) {
            let ask = StreamRequest { question, protocol: StreamProtocol::Native, previews: true };
            return stream_question(agent, parts, ask).await;
        }
        let session = question.session_name();
        let key = start_background(&agent.ports, question).await?;
        self.run = Some(key.run.clone());
        // An invocation may come never; nobody but the alarm would bring this run another.
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

    /// Reads the question itself, which is the same everywhere but for its names.
    async fn read_question<P: Ports>(
        &mut self,
        agent: &Agent<P>,
        fields: &BodyFields,
        caller: Caller,
        names: &MemberNames,
    ) -> Result<UserQuestion, ApiError> {
        let request: RequestId = match fields.id(names.request)? {
            Some(request) => request,
            None => new_request_id(agent)?,
        };
        self.request = Some(request.clone());
        let session: SessionName = match fields.id(names.session)? {
            Some(session) => session,
            // Without a session the question is one of its own.
            None => crate::fields::parse_id(names.session, request.as_str())?,
        };
        let text = fields.text(names.question)?.unwrap_or_default();
        if is_blank(text) {
            let missing = Failure::new(ErrorCode::QueryMissing, names.question);
            return Err(missing.with_field(names.question).into());
        }
        let output_style = read_style(fields, names)?;
        let ignored = names.ignored(fields)?;
        self.ignored.clone_from(&ignored);
        let own = fields.text(names.base_prompt)?.unwrap_or_default();
        let mut settings = agent.settings.run.clone();
        settings.plan.employees |= names.employees && agent.settings.joyagent_employees;
        let access = require_access(agent, &caller, session, Permission::Write).await?;
        let mut question = UserQuestion {
            tenant: caller.tenant,
            user: caller.user,
            session: access.session.session,
            shared: access.shared,
            request,
            text: text.to_owned(),
            parsed_response: None,
            output_style,
            ignored,
            deployment_prompt: agent.settings.base_prompt.clone(),
            base_prompt: own.to_owned(),
            settings,
        };
        check_bounds(&mut question)?;
        let language = question.settings.language;
        question.parsed_response =
            Some(answer_parser::parse_answer(&question.text, None, language).parsed);
        self.run = Some(question.run_key().run);
        Ok(question)
    }

    /// Names what is known of the question in an answer that does not name it yet.
    fn add_headers(&self, mut response: Response) -> Response {
        let unnamed = |header| !response.headers().contains_key(header);
        let run = self.run.as_ref().filter(|_| unnamed(RUN_ID));
        let request = self.request.as_ref().filter(|_| unnamed(REQUEST_ID));
        add_id_headers(response.headers_mut(), run, request);
        let ignored = ignored_header(&self.ignored).map(|names| (IGNORED, names));
        response.headers_mut().extend(ignored);
        response
    }
}

/// The style that a question asks for, if it is one of ours.
fn read_style(fields: &BodyFields, names: &MemberNames) -> Result<Option<OutputStyle>, ApiError> {
    let Some(word) = fields.text(names.style)? else { return Ok(None) };
    match OutputStyle::parse(word) {
        None if !names.lenient => {
            Err(ApiError::from(ErrorCode::UnknownStyle).with_field(names.style))
        }
        style => Ok(style),
    }
}

/// Decides how the question is worked on, and when people are asked: as the deployment says for that
/// kind of agent, or more often if the request wants it.
fn set_mode<P: Ports>(
    agent: &Agent<P>,
    fields: &BodyFields,
    question: &mut UserQuestion,
    mode: Mode,
    field: &'static str,
) -> Result<(), ApiError> {
    let feedback = agent.settings.feedback_for(mode);
    question.settings.mode = mode;
    question.settings.human = match fields.object(field)? {
        None => feedback,
        Some(change) => {
            let wrong = |problem: String| {
                let sentence = format!("`{field}`: {problem}");
                ApiError::from(Failure::new(ErrorCode::InvalidField, sentence)).with_field(field)
            };
            let change: HumanSettingsChange = serde_json::from_value(Value::Object(change))
                .map_err(|error| wrong(error.to_string()))?;
            match change.find_problem() {
                Some(problem) => return Err(wrong(problem.to_owned())),
                None => change.tighten_settings(feedback),
            }
        }
    };
    Ok(())
}

/// JoyAgent's number of an agent.
fn parse_agent_type(fields: &BodyFields) -> Result<Mode, ApiError> {
    const FIELD: &str = "agentType";
    let wanted = fields.number(FIELD)?.unwrap_or(i64::from(REACT));
    if wanted == i64::from(REACT) {
        Ok(Mode::React)
    } else if wanted == i64::from(PLAN_SOLVE) {
        Ok(Mode::PlanSolve)
    } else {
        let there_are = format!("there are {PLAN_SOLVE} (Plan-Solve) and {REACT} (ReAct)");
        Err(ApiError::from(Failure::new(ErrorCode::UnknownAgent, there_are)).with_field(FIELD))
    }
}

fn parse_mode(fields: &BodyFields) -> Result<Mode, ApiError> {
    const FIELD: &str = "mode";
    match fields.text(FIELD)? {
        None | Some("react") => Ok(Mode::React),
        Some("plan_solve") => Ok(Mode::PlanSolve),
        Some(_) => {
            let there_are = "there are `react` and `plan_solve`";
            Err(ApiError::from(Failure::new(ErrorCode::UnknownAgent, there_are)).with_field(FIELD))
        }
    }
}

fn new_request_id<P: Ports>(agent: &Agent<P>) -> Result<RequestId, ApiError> {
    let text = format!("req-{}-{:08x}", agent.ports.clock().now_ms(), fastrand::u32(..));
    RequestId::new(text).map_err(|_| ErrorCode::Internal.into())
}

fn accepts_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accept.into_iter().any(|value| value.contains("text/event-stream"))
}

/// Whether a text shows nothing.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c))
}

/// Characters that show nothing: zero-width ones, joiners, tags.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        || c.is_control()
}
