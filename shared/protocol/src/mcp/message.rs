//! The messages of clients, and the form of answers: JSON-RPC 2.0, in the revisions with and without an initialization.

use std::borrow::Cow;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::language::Language;
use serde_json::{Map, Value, json};

use crate::body::{ErrorBody, McpAnswerBody};

/// The revision whose requests carry their version, so that a server keeps nothing.
pub const MODERN_VERSION: &str = "2026-07-28";

/// The supported revisions with an initialization, the newest first.
pub const INITIALIZED_VERSIONS: [&str; 2] = ["2025-11-25", "2025-06-18"];

/// The field of a request's metadata with its revision.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The field of a result's metadata with the server's name.
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The notification that a client no longer waits for an answer.
const CANCELLED: &str = "notifications/cancelled";

/// The header with the revision.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
/// The header with the method of a request.
pub const METHOD_HEADER: &str = "mcp-method";
/// The header with the name of a called tool.
pub const NAME_HEADER: &str = "mcp-name";

/// A message of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum McpMessage {
    /// A request, which has an answer.
    Request(McpRequest),
    /// The client no longer waits for the answer to the request with this id.
    Cancelled(Value),
    /// Another notification or an answer, which has none.
    Silent,
}

/// A request of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct McpRequest {
    /// The id for the answer: a text or a whole number.
    pub id: Value,
    /// The name of the method.
    pub method: String,
    /// The parameters.
    pub params: Map<String, Value>,
    /// True for a request of [`MODERN_VERSION`].
    pub is_modern: bool,
}

/// The kind of an error, which the protocol numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpErrorKind {
    /// The body is not JSON.
    Parse,
    /// The body is no request.
    InvalidRequest,
    /// No such method.
    UnknownMethod,
    /// The parameters are invalid.
    InvalidParams,
    /// A header differs from the body.
    HeaderMismatch,
    /// The revision is not supported.
    UnsupportedVersion,
    /// Any other error.
    Other,
}

/// An error that is no result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct McpRefusal {
    /// The id of the request; null if the request has no valid id.
    pub id: Value,
    /// The kind of the error.
    pub kind: McpErrorKind,
    /// The HTTP status of the response.
    pub status: u16,
    /// The code and the detail.
    pub failure: Box<Failure>,
    /// The invalid field, or the invalid header.
    pub field: Option<&'static str>,
}

impl McpErrorKind {
    fn code(self) -> i32 {
        match self {
            Self::Parse => -32_700,
            Self::InvalidRequest => -32_600,
            Self::UnknownMethod => -32_601,
            Self::InvalidParams => -32_602,
            Self::HeaderMismatch => -32_020,
            Self::UnsupportedVersion => -32_022,
            Self::Other => -32_000,
        }
    }
}

impl McpRefusal {
    fn new(id: &Value, kind: McpErrorKind, field: &'static str, problem: &str) -> Self {
        let sentence = format!("`{field}` {problem}");
        let failure = Box::new(Failure::new(ErrorCode::InvalidField, sentence));
        Self { id: id.clone(), kind, status: 400, failure, field: Some(field) }
    }

    /// Returns the error for a body that is no message.
    fn no_message(body: &Value) -> Self {
        let problem = if body.is_array() {
            "it must be one message, because the protocol has no batches"
        } else {
            "it must be an object"
        };
        let failure = Box::new(Failure::new(ErrorCode::InvalidJson, problem));
        let kind = McpErrorKind::InvalidRequest;
        Self { id: Value::Null, kind, status: 400, failure, field: None }
    }

    /// Returns the error for a method that does not exist. Older clients take the status 404 for a lost session.
    #[must_use]
    pub fn unknown_method(request: &McpRequest) -> Self {
        let problem =
            "must be `tools/list`, `tools/call`, `server/discover`, `initialize` or `ping`";
        let error = Self::new(&request.id, McpErrorKind::UnknownMethod, "method", problem);
        Self { status: if request.is_modern { 404 } else { 200 }, ..error }
    }

    /// Returns the error for an invalid parameter. Clients show the sentence of a successful response.
    #[must_use]
    pub fn invalid_parameter(id: &Value, field: &'static str, problem: &str) -> Self {
        Self { status: 200, ..Self::new(id, McpErrorKind::InvalidParams, field, problem) }
    }

    /// Returns the body of the response.
    #[must_use]
    pub fn body(&self, language: Language) -> Value {
        let body = ErrorBody::new(&self.failure, self.field.map(Cow::Borrowed), language);
        error_body(&self.id, self.kind, &body)
    }
}

/// Returns the body of an error response. The data of an unsupported revision names the supported revisions.
#[must_use]
pub fn error_body(id: &Value, kind: McpErrorKind, error: &ErrorBody) -> Value {
    let mut data = json!(error);
    if let (McpErrorKind::UnsupportedVersion, Some(fields)) = (kind, data.as_object_mut()) {
        fields.insert("supported".to_owned(), json!(list_versions()));
    }
    let error = json!({"code": kind.code(), "message": error.message, "data": data});
    let error = error.as_object().cloned();
    json!(McpAnswerBody { jsonrpc: "2.0", id: id.clone(), result: None, error })
}

/// Returns the supported revisions, the newest first.
fn list_versions() -> Vec<&'static str> {
    [MODERN_VERSION].into_iter().chain(INITIALIZED_VERSIONS).collect()
}

/// The headers of a request that repeat parts of its body.
#[derive(Debug, Clone, Copy, Default)]
pub struct McpHeaders<'a> {
    /// [`VERSION_HEADER`].
    pub version: Option<&'a str>,
    /// [`METHOD_HEADER`].
    pub method: Option<&'a str>,
    /// [`NAME_HEADER`].
    pub name: Option<&'a str>,
}

impl McpMessage {
    /// Reads a message.
    ///
    /// # Errors
    /// Returns [`McpRefusal`] for a body that is no message, for an unsupported revision, and for headers that differ from
    /// the body.
    pub fn read(body: Value, headers: McpHeaders<'_>) -> Result<Self, McpRefusal> {
        use McpErrorKind::InvalidRequest;
        let Value::Object(mut body) = body else { return Err(McpRefusal::no_message(&body)) };
        let id = body.remove("id");
        let valid_id = id.clone().filter(is_id);
        let shown_id = valid_id.clone().unwrap_or(Value::Null);
        let refuse =
            |field, problem| Err(McpRefusal::new(&shown_id, InvalidRequest, field, problem));
        if body.get("jsonrpc").is_none_or(|version| version != "2.0") {
            return refuse("jsonrpc", "must be \"2.0\"");
        }
        let method = match body.remove("method") {
            None if body.contains_key("result") || body.contains_key("error") => {
                return Ok(Self::Silent);
            }
            Some(Value::String(method)) => method,
            _ => return refuse("method", "must be a string"),
        };
        let params = match body.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return refuse("params", "must be an object"),
        };
        let id = match (id, valid_id) {
            (None, _) => return Ok(Self::notification(&method, &params)),
            (Some(_), Some(id)) => id,
            (Some(_), None) => return refuse("id", "must be a string or a whole number"),
        };
        let request = McpRequest { id, method, params, is_modern: false };
        request.check_version(headers).map(Self::Request)
    }

    fn notification(method: &str, params: &Map<String, Value>) -> Self {
        let request = params.get("requestId").filter(|id| method == CANCELLED && is_id(id));
        request.cloned().map_or(Self::Silent, Self::Cancelled)
    }
}

/// Returns true for a value that can be the id of a request.
fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

impl McpRequest {
    /// Determines the revision. The headers must repeat what the body says.
    fn check_version(self, headers: McpHeaders<'_>) -> Result<Self, McpRefusal> {
        use McpErrorKind::{HeaderMismatch, InvalidParams, UnsupportedVersion};
        let named = self.params.get("_meta").and_then(|meta| meta.get(VERSION_KEY));
        let refuse = |kind, field, problem| Err(McpRefusal::new(&self.id, kind, field, problem));
        let Some(named) = named else {
            // The initialization settles the revision, whatever the header says.
            let supported = |version| INITIALIZED_VERSIONS.contains(&version);
            return match headers.version {
                _ if self.method == "initialize" => Ok(self),
                None => Ok(self),
                Some(MODERN_VERSION) => {
                    refuse(InvalidParams, "params._meta", "must name the protocol's version")
                }
                Some(version) if supported(version) => Ok(self),
                Some(_) => {
                    refuse(UnsupportedVersion, VERSION_HEADER, "must be a supported version")
                }
            };
        };
        if named != MODERN_VERSION {
            return refuse(UnsupportedVersion, "params._meta", "must name a supported version");
        }
        let name = self.params.get("name").filter(|_| self.method == "tools/call");
        let expected = [
            (VERSION_HEADER, headers.version, Some(MODERN_VERSION)),
            (METHOD_HEADER, headers.method, Some(self.method.as_str())),
            (NAME_HEADER, headers.name, name.and_then(Value::as_str).or(headers.name)),
        ];
        for (header, found, expected) in expected {
            if found != expected {
                return refuse(HeaderMismatch, header, "must repeat what the body says");
            }
        }
        Ok(Self { is_modern: true, ..self })
    }

    /// Returns the token with which the client asks for notifications of progress.
    #[must_use]
    pub fn progress_token(&self) -> Option<Value> {
        let token = self.params.get("_meta")?.get("progressToken")?;
        (token.is_string() || token.is_number()).then(|| token.clone())
    }

    /// Returns the body of the response with this result.
    #[must_use]
    pub fn result_body(&self, result: Value) -> Value {
        result_body(&self.id, self.is_modern, result)
    }
}

/// Returns the body of the response with this result.
pub(super) fn result_body(id: &Value, is_modern: bool, mut result: Value) -> Value {
    if let (true, Some(fields)) = (is_modern, result.as_object_mut()) {
        fields.insert("resultType".to_owned(), json!("complete"));
    }
    let result = result.as_object().cloned();
    json!(McpAnswerBody { jsonrpc: "2.0", id: id.clone(), result, error: None })
}

/// Returns the description of the server for `server/discover`. Clients may keep it this long.
#[must_use]
pub fn discovery(instructions: &str, version: &str, ttl_ms: u64) -> Value {
    json!({
        "supportedVersions": list_versions(), "capabilities": {"tools": {}}, "instructions": instructions,
        "ttlMs": ttl_ms, "cacheScope": "private", "_meta": {SERVER_KEY: server_info(version)},
    })
}

/// Returns the description of the server for `initialize`, in the client's revision if supported.
#[must_use]
pub fn initialization(request: &McpRequest, instructions: &str, version: &str) -> Value {
    let wanted = request.params.get("protocolVersion").and_then(Value::as_str);
    let supported = INITIALIZED_VERSIONS.into_iter().find(|version| Some(*version) == wanted);
    let [newest, ..] = INITIALIZED_VERSIONS;
    json!({
        "protocolVersion": supported.unwrap_or(newest), "capabilities": {"tools": {}},
        "serverInfo": server_info(version), "instructions": instructions,
    })
}

fn server_info(version: &str) -> Value {
    json!({"name": "djinn", "title": "Djinn", "version": version})
}

/// Returns the result of a tool that failed: a sentence for the model, and the error for programs.
#[must_use]
pub fn failed_call(error: &ErrorBody) -> Value {
    json!({
        "content": [{"type": "text", "text": error.message}], "isError": true, "_meta": {"djinn/error": error},
    })
}
