//! Keys, and what goes along with a call.

use djinn_mcp::{McpCall, McpErrorCode, McpHeader, McpTransport};
use serde_json::{Value, json};

use super::scripted::{NEW, OLD, ScriptedServer, call, text};
use super::server::{Received, TestServer, page, redirect, respond};

const KEY: &str = "Bearer canary-key";

fn key_header(value: &str) -> McpHeader {
    McpHeader { name: "Authorization".to_owned(), value: value.to_owned(), is_key: true }
}

fn has_key(received: &Received) -> bool {
    received.header("authorization") == Some(KEY)
}

#[tokio::test]
async fn a_warm_server_receives_one_request_for_each_call() {
    let scripted = ScriptedServer::start(|_| None).await;
    for _ in 0..3 {
        assert_eq!(scripted.call(NEW).await.unwrap().text, "hello");
    }
    let call = "tools/call";
    assert_eq!(scripted.methods(), ["server/discover", call, call, call]);
}

#[tokio::test]
async fn a_session_is_kept_for_later_calls() {
    let scripted = ScriptedServer::start_old(|_| None).await;
    for _ in 0..2 {
        assert_eq!(scripted.call(OLD).await.unwrap().text, "hello");
    }
    // A server whose revision is known is not asked for newer ones.
    let methods = ["initialize", "notifications/initialized", "tools/call", "tools/call"];
    assert_eq!(scripted.methods(), methods);
}

#[tokio::test]
async fn a_listing_closes_its_session() {
    let scripted = ScriptedServer::start_old(|_| None).await;
    let listing = scripted.client.list_tools(&scripted.endpoint).await.unwrap();
    assert_eq!(listing.revision, OLD);
    let methods =
        ["server/discover", "initialize", "notifications/initialized", "tools/list", "DELETE"];
    assert_eq!(scripted.methods(), methods);
}

#[tokio::test]
async fn the_key_of_a_call_goes_along_and_no_id_of_a_user() {
    let scripted = ScriptedServer::start(|_| None).await;
    scripted.call(NEW).await.unwrap();
    let calls = scripted.messages("tools/call");
    let body: Value = serde_json::from_slice(&calls[0].body).unwrap();
    let meta = body["params"]["_meta"].as_object().unwrap();
    assert_eq!(meta["Idempotency-Key"], "key-1");
    assert_eq!(meta["traceparent"], "00-1-2-01");
    let client = &meta["io.modelcontextprotocol/clientInfo"];
    assert_eq!(client["name"], "djinn");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    assert_eq!(body["params"]["arguments"], json!({"a": 1}));
}

#[tokio::test]
async fn each_key_has_its_own_connection() {
    let mut scripted = ScriptedServer::start_old(|_| None).await;
    for key in ["Bearer one", "Bearer two", "Bearer one"] {
        scripted.endpoint.headers = vec![key_header(key)];
        scripted.call(OLD).await.unwrap();
    }
    let calls = scripted.messages("tools/call");
    let sent: Vec<_> = calls
        .iter()
        .map(|call| (call.header("authorization").unwrap(), call.header("mcp-session-id").unwrap()))
        .collect();
    assert_eq!(sent, [("Bearer one", "s1"), ("Bearer two", "s2"), ("Bearer one", "s1")]);
}

#[tokio::test]
async fn no_redirect_leads_a_key_elsewhere() {
    let other = TestServer::start(|_| page("stolen")).await;
    let target = other.url("/mcp");
    let server = TestServer::start(move |_| redirect("307 Elsewhere", &target)).await;
    let client =
        djinn_mcp::McpClient::new(super::scripted::local_egress(&[&server.origin, &other.origin]));
    let mut endpoint = super::scripted::endpoint(&server.url("/mcp"));
    endpoint.headers = vec![key_header(KEY)];
    let error = client.call_tool(&endpoint, call("echo", NEW)).await.unwrap_err();
    assert_eq!((error.code, error.status), (McpErrorCode::Redirect, Some(307)));
    assert!(server.received().iter().all(has_key));
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn a_key_is_in_no_error_and_no_debug_output() {
    let mut scripted = ScriptedServer::start(|message| {
        (message.method == "tools/call").then(|| message.error(1, "no"))
    })
    .await;
    scripted.endpoint.headers = vec![key_header(KEY)];
    let error = scripted.call(NEW).await.unwrap_err();
    assert!(scripted.messages("tools/call").iter().all(has_key));
    let shown = format!("{error} {error:?} {:?}", scripted.endpoint);
    assert!(!shown.contains("canary"), "{shown}");
    scripted.endpoint.headers = vec![key_header("Bearer canary\nkey")];
    let error = scripted.call(NEW).await.unwrap_err();
    assert_eq!(error.code, McpErrorCode::InvalidHeader);
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
}

#[tokio::test]
async fn calls_at_the_same_time_receive_their_own_answers() {
    let scripted = ScriptedServer::start(|message| {
        let name = message.params["name"].as_str().unwrap_or_default();
        (message.method == "tools/call").then(|| message.result(text(name)))
    })
    .await;
    let names: Vec<_> = (0..8).map(|number| format!("t{number}")).collect();
    let calls = names.iter().map(|name| async {
        scripted.client.call_tool(&scripted.endpoint, call(name, NEW)).await.unwrap().text
    });
    assert_eq!(futures::future::join_all(calls).await, names);
}

#[tokio::test]
async fn the_older_transport_posts_to_its_own_origin_only() {
    let other = TestServer::start(|_| page("stolen")).await;
    for (event, code) in [
        (
            format!("event: endpoint\ndata: {}/messages\n\n", other.origin),
            McpErrorCode::Unreachable,
        ),
        ("event: endpoint\ndata: //127.0.0.1:1/messages\n\n".to_owned(), McpErrorCode::Unreachable),
        (
            "event: endpoint\ndata: http://169.254.169.254/\n\n".to_owned(),
            McpErrorCode::Unreachable,
        ),
        ("event: message\ndata: {}\n\n".to_owned(), McpErrorCode::Unreachable),
        (String::new(), McpErrorCode::Unreachable),
        ("event: endpoint\ndata: /gone\n\n".to_owned(), McpErrorCode::Status),
    ] {
        let body = event.clone();
        let server = TestServer::start(move |received| match &*received.method {
            "GET" => respond("200 OK", &[("content-type", "text/event-stream")], body.as_bytes()),
            _ => respond("404 No", &[], b""),
        })
        .await;
        let egress = super::scripted::local_egress(&[&server.origin, &other.origin]);
        let client = djinn_mcp::McpClient::new(egress);
        let mut endpoint = super::scripted::endpoint(&server.url("/sse"));
        endpoint.headers = vec![key_header(KEY)];
        let call = McpCall { transport: McpTransport::Sse, ..call("echo", "2024-11-05") };
        let error = client.call_tool(&endpoint, call).await.unwrap_err();
        assert_eq!((error.code, error.may_be_done), (code, false), "{event:?}: {error}");
        assert!(other.received().is_empty(), "{event:?}");
    }
}
