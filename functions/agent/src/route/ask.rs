//! Questions: `POST /AutoAgent`, the endpoint of JoyAgent's UI, and `POST /runs`.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_aws::AwsStore;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::HumanSettingsChange;
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
use crate::agent::{Agent, SharedAgent};
use crate::answer_parser;
use crate::api_error::{ApiError, REQUEST_ID, RUN_ID, add_id_headers};
use crate::fields::BodyFields;
use crate::identity::Caller;
use crate::run_stream::{StreamProtocol, StreamRequest, stream_question};

/// How one endpoint names the members of a question.
struct MemberNames {
    question: &'static str,
    session: &'static str,
    request: &'static str,
    style: &'static str,
    /// Whether its clients name styles of their own, which add nothing.
    own_styles: bool,
    base_prompt: &'static str,
    feedback: &'static str,
    /// Whether its events have a place for digital employees.
    employees: bool,
}

const JOYAGENT: MemberNames = MemberNames {
    question: "query",
    session: "sessionId",
    request: "requestId",
    style: "outputStyle",
    own_styles: true,
    base_prompt: "basePrompt",
    feedback: "humanFeedback",
    employees: true,
};

const NATIVE: MemberNames = MemberNames {
    question: "question",
    session: "session_id",
    request: "request_id",
    style: "output_style",
    own_styles: false,
    base_prompt: "base_prompt",
    feedback: "human_feedback",
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
}

/// `POST /AutoAgent` answers with a stream of JoyAgent's raw events, or refuses in JSON.
pub(crate) async fn auto_agent<P: Ports<Store = AwsStore>>(
    State(agent): State<SharedAgent<P>>,
    request: Request<Body>,
) -> Response {
    let mut asking = QuestionIds::default();
    let answer = asking.auto_agent(&agent, request).await;
    let answer = answer.map_err(|refusal| JOYAGENT.rename_member(refusal));
    asking.add_ids(
        answer.unwrap_or_else(|refusal| refusal.to_json_response(agent.settings.run.language)),
    )
}

/// `POST /web/api/v1/gpt/queryAgentStreamIncr` answers with a stream of the events that
/// JoyAgent's UI reads; a refusal is such an event too.
pub(crate) async fn query_agent<P: Ports<Store = AwsStore>>(
    State(agent): State<SharedAgent<P>>,
    request: Request<Body>,
) -> Response {
    let mut asking = QuestionIds::default();
    let answer = asking.query_agent(&agent, request).await;
    let answer = answer.map_err(|refusal| JOYAGENT.rename_member(refusal));
    asking.add_ids(answer.unwrap_or_else(|refusal| {
        let label = asking.request.as_ref().map_or("", RequestId::as_str);
        refusal.to_ui_event(label, agent.settings.run.language, agent.ports.clock().now_ms())
    }))
}

/// `POST /runs`: a stream for those who accept one, else 202 and the run's id.
pub(crate) async fn start_run<P: Ports<Store = AwsStore>>(
    State(agent): State<SharedAgent<P>>,
    request: Request<Body>,
) -> Response {
    let mut asking = QuestionIds::default();
    let answer = asking.start_run(&agent, request).await;
    let answer = answer.map_err(|refusal| NATIVE.rename_member(refusal));
    asking.add_ids(
        answer.unwrap_or_else(|refusal| refusal.to_json_response(agent.settings.run.language)),
    )
}

/// What is known of a question while it is read: its answer names it, whatever comes of it.
#[derive(Default)]
struct QuestionIds {
    run: Option<RunId>,
    request: Option<RequestId>,
}

impl QuestionIds {
    async fn auto_agent<P: Ports<Store = AwsStore>>(
        &mut self,
        agent: &SharedAgent<P>,
        request: Request<Body>,
    ) -> Result<Response, ApiError> {
        let (parts, fields, caller) = read_request(request).await?;
        let mut question = self.read_question(agent, &fields, caller, &JOYAGENT).await?;
        set_mode(agent, &fields, &mut question, parse_agent_type(&fields)?, JOYAGENT.feedback)?;
        let previews = fields.flag("isStream")?.unwrap_or(false);
        let ask = StreamRequest { question, protocol: StreamProtocol::JoyAgent, previews };
        stream_question(agent, &parts, ask).await
    }

    async fn query_agent<P: Ports<Store = AwsStore>>(
        &mut self,
        agent: &SharedAgent<P>,
        request: Request<Body>,
    ) -> Result<Response, ApiError> {
        let (parts, fields, caller) = read_request(request).await?;
        let mut question = self.read_question(agent, &fields, caller, &JOYAGENT).await?;
        let mode = match fields.number("deepThink")?.unwrap_or_default() {
            0 => Mode::React,
            _ => Mode::PlanSolve,
        };
        set_mode(agent, &fields, &mut question, mode, JOYAGENT.feedback)?;
        let ask = StreamRequest { question, protocol: StreamProtocol::JoyAgentUi, previews: true };
        stream_question(agent, &parts, ask).await
    }

    async fn start_run<P: Ports<Store = AwsStore>>(
        &mut self,
        agent: &SharedAgent<P>,
        request: Request<Body>,
    ) -> Result<Response, ApiError> {
        let (parts, fields, caller) = read_request(request).await?;
        let mut question = self.read_question(agent, &fields, caller, &NATIVE).await?;
        set_mode(agent, &fields, &mut question, parse_mode(&fields)?, NATIVE.feedback)?;
        if accepts_stream(&parts.headers) {
            let ask = StreamRequest { question, protocol: StreamProtocol::Native, previews: true };
            return stream_question(agent, &parts, ask).await;
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
        let body = AcceptedBody {
            run: key.run.to_string(),
            session: session.to_string(),
            request: self.request.as_ref().map(ToString::to_string),
        };
        Ok((StatusCode::ACCEPTED, axum::Json(body)).into_response())
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
    fn add_ids(&self, mut response: Response) -> Response {
        let unnamed = |header| !response.headers().contains_key(header);
        let run = self.run.as_ref().filter(|_| unnamed(RUN_ID));
        let request = self.request.as_ref().filter(|_| unnamed(REQUEST_ID));
        add_id_headers(response.headers_mut(), run, request);
        response
    }
}

async fn read_request(request: Request<Body>) -> Result<(Parts, BodyFields, Caller), ApiError> {
    let (parts, body) = request.into_parts();
    let caller = Caller::of(&parts.extensions)?;
    let fields = BodyFields::read_body(&parts.headers, body).await?;
    Ok((parts, fields, caller))
}

/// The style that a question asks for, if it is one of ours.
fn read_style(fields: &BodyFields, names: &MemberNames) -> Result<Option<OutputStyle>, ApiError> {
    let Some(word) = fields.text(names.style)? else { return Ok(None) };
    match OutputStyle::parse(word) {
        None if !names.own_styles => {
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
