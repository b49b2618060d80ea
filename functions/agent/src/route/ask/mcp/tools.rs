//! The calls of the MCP server's tools.

use std::time::Duration;

use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::{HumanRequest, HumanResponse, ResponseChannel, ResponseRecord};
use djinn_core::id::RunId;
use djinn_core::input::UserMessage;
use djinn_core::status::RunStatus;
use djinn_protocol::mcp::{
    DEFAULT_WAIT_S, MAX_WAIT_S, McpOutcome, McpRequest, McpServerCall, McpServerTool,
};
use djinn_protocol::request::{
    McpAskArguments, McpLookArguments, McpSayArguments, McpStopArguments, RunRequest, WholeNumber,
};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::serve::{
    AccessLevel, LoadedRun, ResponseCapability, list_requests, request_stop, send_message,
    submit_response,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{failed_response, json_response};
use crate::access::require_own_run;
use crate::agent::{AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::fields::parse_fields;
use crate::identity::Caller;
use crate::mcp_words::describe_state;
use crate::route::ask::question_members::{FieldNames, QuestionMembers};
use crate::route::ask::{QuestionReader, QuestionReply, accepts_stream, is_blank, new_request_id};
use crate::route::requests::new_response_id;
use crate::run_stream::{
    ReplayStart, RunSubscription, StreamProtocol, StreamRequest, stream_question, stream_run,
};
use crate::unknown::UnknownMembers;

/// The requests that a model may respond to.
const CAPABILITY: ResponseCapability = ResponseCapability::Questions;

/// A call of a tool.
pub(super) struct ToolCall<'a, P> {
    pub(super) agent: &'a SharedAgent<P>,
    pub(super) caller: Caller,
    pub(super) parts: &'a Parts,
    pub(super) request: &'a McpRequest,
}

impl<P: AgentPorts> ToolCall<'_, P> {
    /// Calls the tool. An error is the result of the tool.
    pub(super) async fn run(self, tool: McpServerTool, arguments: Map<String, Value>) -> Response {
        let agent = self.agent;
        let request = self.request;
        let result = match tool {
            McpServerTool::Ask => return self.ask(arguments).await,
            McpServerTool::Look => self.look(arguments).await,
            McpServerTool::Say => self.say(arguments).await,
            McpServerTool::Stop => self.stop(arguments).await,
        };
        result.unwrap_or_else(|error| failed_response(agent, request, &error))
    }

    async fn ask(self, arguments: Map<String, Value>) -> Response {
        let Self { agent, caller, parts, request } = self;
        let mut reader = QuestionReader::new(agent, caller, parts, FieldNames::Mcp);
        let response = async {
            reader.facts.request = Some(new_request_id(agent)?);
            let arguments: McpAskArguments = parse_arguments(arguments)?;
            let protocol = stream_protocol(agent, parts, request, arguments.wait_s)?;
            let McpAskArguments { question, mode, session, .. } = arguments;
            let fields = QuestionMembers::of_run(RunRequest {
                question: question.filter(|question| !is_blank(question)),
                session_id: session,
                attachments: None,
                request_id: None,
                mode,
                arguments: None,
                output_style: None,
                base_prompt: None,
                review: None,
                human_requests: None,
            });
            // A question is no response: without a capability, it cannot become one.
            let question = reader.read_question(fields, &UnknownMembers::default()).await?;
            let ask = StreamRequest { question, protocol, previews: false };
            stream_question(agent, parts, ask).await
        };
        let response = response.await;
        let QuestionReply { response, facts } = reader.into_reply(response);
        facts.add_headers(response.unwrap_or_else(|error| failed_response(agent, request, &error)))
    }

    async fn look(self, arguments: Map<String, Value>) -> Result<Response, ApiError> {
        let McpLookArguments { run, wait_s } = parse_arguments(arguments)?;
        let run = self.find_run(&run).await?;
        let subscription = RunSubscription {
            session: run.meta().session_key(&run.key().tenant),
            session_name: run.meta().session_name(),
            key: run.key().clone(),
            request: run.meta().request.clone(),
            protocol: stream_protocol(self.agent, self.parts, self.request, wait_s)?,
            previews: false,
            viewer: AccessLevel::Asker,
        };
        stream_run(self.agent, self.parts, subscription, run, ReplayStart::Start).await
    }

    /// Answers the questions of a run. Without questions, the text is a message to a run at work.
    async fn say(self, arguments: Map<String, Value>) -> Result<Response, ApiError> {
        let McpSayArguments { run, text } = parse_arguments(arguments)?;
        if is_blank(&text) {
            return Err(ApiError::invalid_field("text", "must not be empty"));
        }
        let mut run = self.find_run(&run).await?;
        let ports = self.agent.ports.refresh().await;
        let requests = list_requests(&ports, &mut run).await?;
        let questions: Vec<&HumanRequest> =
            requests.iter().filter(|request| CAPABILITY.allows(&request.subject)).collect();
        if questions.is_empty() {
            if !requests.is_empty() && run.meta().status == RunStatus::Paused {
                return Err(Failure::session_busy(&run.key().run).into());
            }
            let message = UserMessage { id: new_response_id(), by: self.caller.user.clone(), text };
            send_message(&ports, &mut run, message, CAPABILITY).await?;
            return Ok(self.answer(&run, RunStatus::Running));
        }
        for question in questions {
            let response = ResponseRecord {
                request: question.id.clone(),
                id: new_response_id(),
                by: Some(self.caller.user.clone()),
                // No word of a model is a command.
                answer: HumanResponse::Say { text: text.clone() },
                comment: String::new(),
                digest: Some(question.digest.clone()),
                via: Some(ResponseChannel::Mcp),
            };
            submit_response(&ports, &mut run, response, CAPABILITY).await?;
        }
        Ok(self.answer(&run, RunStatus::Running))
    }

    async fn stop(self, arguments: Map<String, Value>) -> Result<Response, ApiError> {
        let McpStopArguments { run } = parse_arguments(arguments)?;
        let mut run = self.find_run(&run).await?;
        let status = request_stop(&self.agent.ports, &mut run, self.caller.user.clone()).await?;
        let status = if status.has_ended() { status } else { RunStatus::Stopped };
        Ok(self.answer(&run, status))
    }

    /// Returns the caller's own run with this id. Another label is no run.
    async fn find_run(&self, label: &str) -> Result<LoadedRun, ApiError> {
        let run = RunId::new(label).map_err(|_| ErrorCode::RunNotFound)?;
        let key = RunKey::new(self.caller.tenant.clone(), run);
        let run = LoadedRun::load(&self.agent.ports, &key).await?;
        require_own_run(self.agent, &self.caller, run).await
    }

    fn answer(&self, run: &LoadedRun, status: RunStatus) -> Response {
        let language = self.agent.settings.run.language;
        let session = run.meta().session_name().to_string();
        let outcome = McpOutcome::new(run.key().run.to_string(), session, status);
        let result = outcome.to_result(&describe_state(self.agent), language);
        json_response(StatusCode::OK, &self.request.result_body(result))
    }
}

fn parse_arguments<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ApiError> {
    let (parsed, unknown) = parse_fields(arguments);
    unknown.require_none()?;
    parsed
}

/// Returns the protocol of a call whose result is the state of a run.
fn stream_protocol<P: AgentPorts>(
    agent: &SharedAgent<P>,
    parts: &Parts,
    request: &McpRequest,
    wait_s: Option<WholeNumber>,
) -> Result<StreamProtocol, ApiError> {
    let wait_s = match wait_s.map(|WholeNumber(seconds)| u64::try_from(seconds)) {
        None => DEFAULT_WAIT_S,
        Some(Ok(seconds)) if seconds <= MAX_WAIT_S => seconds,
        Some(_) => {
            let problem = format!("must be 0 to {MAX_WAIT_S}");
            return Err(ApiError::invalid_field("wait_s", &problem));
        }
    };
    let call = McpServerCall {
        id: request.id.clone(),
        progress_token: request.progress_token(),
        is_modern: request.is_modern,
        is_stream: accepts_stream(&parts.headers),
        called_at_ms: agent.ports.clock().now_ms(),
    };
    Ok(StreamProtocol::Mcp(call, Duration::from_secs(wait_s)))
}
