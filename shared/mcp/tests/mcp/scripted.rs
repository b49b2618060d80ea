//! A server that speaks MCP as it should, except where a test says otherwise.

use std::time::Duration;

use djinn_egress::{Egress, EgressLimits, EgressSettings};
use djinn_mcp::{McpCall, McpClient, McpEndpoint, McpError, McpResult, McpTransport};
use serde_json::{Map, Value, json};

use super::server::{Answer, Received, TestServer, respond};

/// The newest revision, without sessions.
pub(crate) const NEW: &str = "2026-07-28";

/// A revision with sessions.
pub(crate) const OLD: &str = "2025-11-25";

/// A message to the server.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) method: String,
    pub(crate) id: Value,
    pub(crate) params: Value,
    pub(crate) session: Option<String>,
    /// The number of earlier messages with this method.
    pub(crate) earlier: usize,
}

impl Message {
    fn read(received: &Received, earlier: &[Message]) -> Self {
        let body: Value = serde_json::from_slice(&received.body).unwrap_or_default();
        let method = match body["method"].as_str() {
            Some(method) => method.to_owned(),
            None => received.method.clone(),
        };
        Self {
            earlier: earlier.iter().filter(|message| message.method == method).count(),
            method,
            id: body["id"].clone(),
            params: body["params"].clone(),
            session: received.header("mcp-session-id").map(str::to_owned),
        }
    }

    /// The answer with this result, as JSON.
    pub(crate) fn result(&self, result: Value) -> Answer {
        json_answer(&self.result_message(result))
    }

    pub(crate) fn result_message(&self, result: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "result": result})
    }

    /// The answer with this error, as JSON.
    pub(crate) fn error(&self, code: i64, words: &str) -> Answer {
        let error = json!({"code": code, "message": words});
        json_answer(&json!({"jsonrpc": "2.0", "id": self.id, "error": error}))
    }
}

/// The behaviour of a server: its answer to a message, or `None` for the answer of a good server.
pub(crate) type Behaviour = fn(&Message) -> Option<Answer>;

/// A server, and a client of it.
pub(crate) struct ScriptedServer {
    pub(crate) server: TestServer,
    pub(crate) client: McpClient,
    pub(crate) endpoint: McpEndpoint,
}

impl ScriptedServer {
    /// Starts a server without sessions.
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        Self::start_with(behaviour, answer_new).await
    }

    /// Starts a server with sessions.
    pub(crate) async fn start_old(behaviour: Behaviour) -> Self {
        Self::start_with(behaviour, answer_old).await
    }

    async fn start_with(behaviour: Behaviour, good: fn(&Message) -> Answer) -> Self {
        let messages = std::sync::Mutex::new(Vec::new());
        let server = TestServer::start(move |received| {
            let mut messages = messages.lock().unwrap();
            let message = Message::read(received, &messages);
            messages.push(message.clone());
            behaviour(&message).unwrap_or_else(|| good(&message))
        })
        .await;
        let client = McpClient::new(local_egress(&[&server.origin]));
        let endpoint = endpoint(&server.url("/mcp"));
        Self { server, client, endpoint }
    }

    pub(crate) async fn call(&self, revision: &str) -> Result<McpResult, McpError> {
        self.client.call_tool(&self.endpoint, call("echo", revision)).await
    }

    /// The methods of all messages, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        let received = self.server.received();
        received.iter().map(|received| Message::read(received, &[]).method).collect()
    }

    /// The messages with this method.
    pub(crate) fn messages(&self, method: &str) -> Vec<Received> {
        let mut received = self.server.received();
        received.retain(|received| Message::read(received, &[]).method == method);
        received
    }
}

/// A client that may reach these servers of the test's.
pub(crate) fn local_egress(origins: &[&str]) -> Egress {
    let origins: Vec<_> = origins.iter().map(|&origin| origin.to_owned()).collect();
    let limits = EgressLimits {
        total_time: Duration::from_secs(60),
        body_bytes: 20_000_000,
        ..EgressLimits::default()
    };
    let settings = EgressSettings::new([].into(), &origins, true).unwrap().with_limits(limits);
    Egress::new(settings).unwrap()
}

pub(crate) fn endpoint(url: &str) -> McpEndpoint {
    McpEndpoint { url: url.to_owned(), headers: Vec::new(), timeout: Duration::from_secs(30) }
}

pub(crate) fn call(tool: &str, revision: &str) -> McpCall {
    McpCall {
        tool: tool.to_owned(),
        transport: McpTransport::StreamableHttp,
        arguments: Map::from_iter([("a".to_owned(), json!(1))]),
        revision: revision.to_owned(),
        idempotency_key: "key-1".to_owned(),
        traceparent: "00-1-2-01".to_owned(),
    }
}

/// Answers like a good server without sessions.
fn answer_new(message: &Message) -> Answer {
    match &*message.method {
        "server/discover" => message.result(json!({
            "resultType": "complete",
            "supportedVersions": [NEW],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
        })),
        _ => answer_request(message),
    }
}

/// Answers like a good server with sessions, called `s1`, `s2` and so on.
fn answer_old(message: &Message) -> Answer {
    match &*message.method {
        "server/discover" => respond("400 Bad Request", &[], b"no session"),
        "initialize" => {
            let result = json!({
                "protocolVersion": OLD,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            });
            let body = message.result_message(result).to_string();
            let session = format!("s{}", message.earlier + 1);
            let headers = [("content-type", "application/json"), ("mcp-session-id", &*session)];
            respond("200 OK", &headers, body.as_bytes())
        }
        "DELETE" => respond("200 OK", &[], b""),
        _ if message.session.is_none() => respond("400 Bad Request", &[], b"no session"),
        _ => answer_request(message),
    }
}

fn answer_request(message: &Message) -> Answer {
    match &*message.method {
        "tools/list" => message.result(json!({"tools": [tool("echo")]})),
        "tools/call" => message.result(text("hello")),
        // A notification, or an answer to a request of this server.
        _ => respond("202 Accepted", &[], b""),
    }
}

pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "description": "Echoes.", "inputSchema": {"type": "object"}})
}

/// The result of a call with one text.
pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(crate) fn json_answer(body: &Value) -> Answer {
    respond("200 OK", &[("content-type", "application/json")], body.to_string().as_bytes())
}

/// A stream with these messages, which then ends.
pub(crate) fn events(messages: &[Value]) -> Answer {
    let events: String = messages
        .iter()
        .map(|message| format!("event: message\r\ndata: {message}\r\n\r\n"))
        .collect();
    respond("200 OK", &[("content-type", "text/event-stream")], events.as_bytes())
}
