//! `POST /mcp`: Djinn as a server of the Model Context Protocol, without sessions of the protocol.
//!
//! The caller of a tool is a model. A model may answer the questions of runs, and decides nothing else.

mod tools;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::ErrorCode;
use djinn_core::language::Language;
use djinn_protocol::body::ProtectedResourceBody;
use djinn_protocol::mcp::{
    METHOD_HEADER, McpHeaders, McpMessage, McpRefusal, McpRequest, McpServerTool, NAME_HEADER,
    VERSION_HEADER, discovery, failed_call, initialization,
};
use djinn_runtime::prompt::{MCP_ASK, MCP_INSTRUCTIONS, MCP_LOOK, MCP_SAY, MCP_STOP};
use djinn_runtime::world::Ports;
use serde_json::{Map, Value, json};

use self::tools::ToolCall;
use super::chat_completions::needs_only_question;
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::body::AnyJson;
use crate::identity::{Auth, Caller};
use crate::mcp_waits::end_wait;
use crate::mcp_words::describe_busy;
use crate::mode_choice::list_modes;
use crate::origin::request_origin;
use crate::reply::{JsonReply, ReplyResult};

/// The time for which clients may keep the list of tools, milliseconds.
const LIST_TTL_MS: u64 = 60_000;

/// The version that the server names.
const SERVER_VERSION: &str = env!("CARGO_PKG_VERSION");

/// `POST /mcp`: answers a message of a client.
pub(crate) async fn serve_mcp<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    AnyJson(body): AnyJson,
) -> Response {
    let agent = &agent.refresh().await;
    let language = agent.settings.run.language;
    let refuse = |error: McpRefusal| {
        let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
        json_response(status, &error.body(language))
    };
    let request = match McpMessage::read(body, read_headers(&parts.headers)) {
        Ok(McpMessage::Request(request)) => request,
        Ok(McpMessage::Cancelled(request)) => {
            end_wait(&parts, &caller, &request);
            return StatusCode::ACCEPTED.into_response();
        }
        Ok(McpMessage::Silent) => return StatusCode::ACCEPTED.into_response(),
        Err(error) => return refuse(error),
    };
    let instructions = || agent.ports.prompts().render(language, MCP_INSTRUCTIONS, ());
    let result = match request.method.as_str() {
        "server/discover" => discovery(&instructions(), SERVER_VERSION, LIST_TTL_MS),
        "initialize" => initialization(&request, &instructions(), SERVER_VERSION),
        "ping" => json!({}),
        "tools/list" => list_tools(agent, language),
        "tools/call" => {
            return match read_call(&request) {
                Ok((tool, arguments)) => {
                    let call = ToolCall { agent, caller, parts: &parts, request: &request };
                    call.run(tool, arguments).await
                }
                Err(error) => refuse(error),
            };
        }
        _ => return refuse(McpRefusal::unknown_method(&request)),
    };
    json_response(StatusCode::OK, &request.result_body(result))
}

/// `GET /.well-known/oauth-protected-resource`: names the issuer of the accepted tokens, if the deployment accepts tokens.
pub(crate) async fn show_resource<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    parts: Parts,
) -> ReplyResult {
    let Auth::Jwt(tokens) = &agent.settings.auth else {
        return Err(ErrorCode::RouteNotFound.into());
    };
    let origin = request_origin(&parts, &agent.settings);
    JsonReply::json(&ProtectedResourceBody {
        resource: format!("{origin}/mcp"),
        authorization_servers: [&tokens.issuer],
        bearer_methods_supported: ["header"],
        resource_name: "Djinn",
    })
}

fn read_headers(headers: &HeaderMap) -> McpHeaders<'_> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    McpHeaders {
        version: text(VERSION_HEADER),
        method: text(METHOD_HEADER),
        name: text(NAME_HEADER),
    }
}

/// Returns the called tool and its arguments.
fn read_call(request: &McpRequest) -> Result<(McpServerTool, Map<String, Value>), McpRefusal> {
    let refuse = |field, problem| Err(McpRefusal::invalid_parameter(&request.id, field, problem));
    let tool = request.params.get("name").and_then(Value::as_str).and_then(McpServerTool::find);
    let Some(tool) = tool else {
        return refuse("params.name", "must be `ask`, `look`, `say` or `stop`");
    };
    match request.params.get("arguments") {
        None | Some(Value::Null) => Ok((tool, Map::new())),
        Some(Value::Object(arguments)) => Ok((tool, arguments.clone())),
        Some(_) => refuse("params.arguments", "must be an object"),
    }
}

fn list_tools<P: Ports>(agent: &Agent<P>, language: Language) -> Value {
    let modes = list_modes(agent, language);
    let modes = modes.into_iter().filter(needs_only_question).map(|mode| mode.name);
    let modes: Vec<String> = modes.collect();
    let tools = McpServerTool::ALL.map(|tool| {
        let fragment = match tool {
            McpServerTool::Ask => MCP_ASK,
            McpServerTool::Look => MCP_LOOK,
            McpServerTool::Say => MCP_SAY,
            McpServerTool::Stop => MCP_STOP,
        };
        let words = agent.ports.prompts().describe_tool(language, fragment);
        tool.definition(&words.description, &words.parameters, &modes)
    });
    json!({"tools": tools, "ttlMs": LIST_TTL_MS, "cacheScope": "private"})
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, kind, body.to_string()).into_response()
}

/// Returns the response of a tool that failed. Its sentence is for the model, which may correct its call.
fn failed_response<P: Ports>(agent: &Agent<P>, request: &McpRequest, error: &ApiError) -> Response {
    let language = error.language.unwrap_or(agent.settings.run.language);
    let mut body = error.body(language);
    if let (ErrorCode::SessionBusy, Some(run)) = (error.failure.code, &error.failure.run) {
        // The sentence of other protocols names `continue`, which no tool reads.
        body.message = describe_busy(agent.ports.prompts(), run, language);
    }
    let result = failed_call(&body);
    json_response(StatusCode::OK, &request.result_body(result))
}
