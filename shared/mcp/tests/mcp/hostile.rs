//! Servers that misbehave: an error for the call, or a rejected tool, and never a wait without end.

use djinn_mcp::{MAX_PAGES, MAX_TOOLS, McpErrorCode};
use serde_json::{Value, json};

use super::scripted::{
    Behaviour, Message, NEW, OLD, ScriptedServer, events, json_answer, text, tool,
};
use super::server::{Answer, head, redirect, respond};

/// The end of a call.
#[derive(Debug, PartialEq)]
enum End {
    Text(&'static str),
    /// An error, and whether the server may have done the call.
    Error(McpErrorCode, bool),
}

use End::{Error, Text};
use McpErrorCode::{Protocol, Rejected, Status, TooLarge, Unreachable, Unsupported};

/// Answers a call, and nothing else, in another way.
macro_rules! on_call {
    ($answer:expr) => {
        |message| {
            (message.method == "tools/call").then(|| ($answer as fn(&Message) -> Answer)(message))
        }
    };
}

/// Answers each method of this name in another way.
macro_rules! on {
    ($method:literal, $answer:expr) => {
        |message| (message.method == $method).then(|| ($answer as fn(&Message) -> Answer)(message))
    };
}

/// The behaviours of servers without sessions.
const CALLS: &[(&str, Behaviour, End)] = &[
    ("a good server", |_| None, Text("hello")),
    ("an answer in a stream", on_call!(|m| events(&[m.result_message(text("a"))])), Text("a")),
    (
        "notifications before the answer",
        on_call!(|m| events(&[progress(), progress(), m.result_message(text("a"))])),
        Text("a"),
    ),
    (
        "a second, other answer",
        on_call!(|m| events(&[m.result_message(text("a")), m.result_message(text("b"))])),
        Text("a"),
    ),
    (
        "a request to us before the answer",
        on_call!(|m| events(&[sampling(), m.result_message(text("a"))])),
        Text("a"),
    ),
    ("only a request to us", on_call!(|_| events(&[sampling()])), Error(Protocol, true)),
    (
        "a request to us as the answer",
        on_call!(|_| json_answer(&sampling())),
        Error(Protocol, true),
    ),
    ("a notification as the answer", on_call!(|_| json_answer(&progress())), Error(Protocol, true)),
    ("an answer with a foreign id", on_call!(|_| json_answer(&foreign())), Error(Protocol, true)),
    (
        "an answer with a foreign id, in a stream",
        on_call!(|_| events(&[foreign()])),
        Error(Protocol, true),
    ),
    (
        "a late answer before the answer",
        on_call!(|m| events(&[foreign(), m.result_message(text("a"))])),
        Error(Protocol, true),
    ),
    ("a stream that ends without an answer", on_call!(|_| events(&[])), Error(Protocol, true)),
    (
        "a stream that breaks within the answer",
        on_call!(|_| respond("200 OK", EVENTS, b"data: {\"jsonrpc\"")),
        Error(Protocol, true),
    ),
    (
        "a stream that wants to be resumed in a month",
        on_call!(|_| respond("200 OK", EVENTS, b"id: 1\nretry: 2592000000\ndata: \n\n")),
        Error(Protocol, true),
    ),
    (
        "events that are no JSON",
        on_call!(|_| respond("200 OK", EVENTS, b"data: {\n\ndata: \xff\n\n")),
        Error(Protocol, true),
    ),
    (
        "an event without end",
        on_call!(|_| Answer::Endless(head("200 OK", EVENTS), b"data: xxxxxxxx".to_vec())),
        Error(TooLarge, true),
    ),
    (
        "comments without end",
        on_call!(|_| Answer::Endless(head("200 OK", EVENTS), b": x\n\n".repeat(1000))),
        Error(TooLarge, true),
    ),
    (
        "a body without end",
        on_call!(|_| Answer::Endless(head("200 OK", JSON), vec![b'['; 1000])),
        Error(TooLarge, true),
    ),
    (
        "a compressed body",
        on_call!(|_| {
            let headers = [JSON[0], ("content-encoding", "gzip")];
            respond("200 OK", &headers, &zipped_zeros())
        }),
        Error(Protocol, true),
    ),
    (
        "a body that breaks off",
        on_call!(|_| {
            let headers = [JSON[0], ("content-length", "100")];
            let mut bytes = head("200 OK", &headers);
            bytes.extend(b"{\"jsonrpc\":");
            Answer::Bytes(bytes)
        }),
        Error(Protocol, true),
    ),
    ("no body", on_call!(|_| respond("200 OK", JSON, b"")), Error(Protocol, true)),
    (
        "half a message",
        on_call!(|_| respond("200 OK", JSON, b"{\"jsonrpc\"")),
        Error(Protocol, true),
    ),
    (
        "deeply nested JSON",
        on_call!(|_| respond("200 OK", JSON, &vec![b'['; 100_000])),
        Error(Protocol, true),
    ),
    (
        "a batch of answers",
        on_call!(|m| json_answer(&json!([m.result_message(text("a"))]))),
        Error(Protocol, true),
    ),
    (
        "HTML as a success",
        on_call!(|_| respond("200 OK", &[("content-type", "text/html")], b"<p>Log in")),
        Error(Protocol, true),
    ),
    ("no media type", on_call!(|_| respond("200 OK", &[], b"{}")), Error(Protocol, true)),
    ("no answer at all", on_call!(|_| respond("202 Accepted", &[], b"")), Error(Protocol, true)),
    (
        "a result and an error",
        on_call!(|m| json_answer(&result_and_error(m))),
        Error(Protocol, true),
    ),
    ("a result of a wrong type", on_call!(|m| m.result(json!("done"))), Error(Protocol, true)),
    ("an empty result", on_call!(|m| m.result(json!({}))), Error(Protocol, true)),
    (
        "content of a wrong type",
        on_call!(|m| m.result(json!({"content": "a"}))),
        Error(Protocol, true),
    ),
    (
        "an item of a wrong type",
        on_call!(|m| m.result(json!({"content": [{"type": "text", "text": 1}]}))),
        Error(Protocol, true),
    ),
    (
        "a broken image",
        on_call!(|m| {
            m.result(json!({"content": [{"type": "image", "data": "!", "mimeType": "image/png"}]}))
        }),
        Error(Protocol, true),
    ),
    (
        "a structured result beside the same text",
        on_call!(|m| {
            let content = json!([{"type": "text", "text": "{\"a\":1}"}]);
            m.result(json!({"content": content, "structuredContent": {"a": 1}}))
        }),
        Text("{\"a\":1}"),
    ),
    (
        "a request for a user's input",
        on_call!(|m| {
            m.result(
                json!({"resultType": "input_required", "inputRequests": {}, "requestState": "s"}),
            )
        }),
        Error(Unsupported, true),
    ),
    ("an error of JSON-RPC", on_call!(|m| m.error(-32603, "no ink")), Error(Rejected, false)),
    (
        "an unknown tool",
        on_call!(|m| m.error(-32602, "Unknown tool: echo")),
        Error(McpErrorCode::UnknownTool, false),
    ),
    ("a rejected key", on_call!(|_| respond("401 No", &[], b"")), Error(Status, false)),
    (
        "a rejected key with an error of JSON-RPC",
        on_call!(|m| {
            let error =
                json!({"jsonrpc": "2.0", "id": m.id, "error": {"code": 1, "message": "no"}});
            respond("403 No", JSON, error.to_string().as_bytes())
        }),
        Error(Status, false),
    ),
    ("too many requests", on_call!(|_| respond("429 No", &[], b"")), Error(Status, false)),
    ("a broken server", on_call!(|_| respond("500 No", &[], b"oops")), Error(Status, false)),
    (
        "a redirect",
        on_call!(|_| redirect("307 Elsewhere", "/other")),
        Error(McpErrorCode::Redirect, false),
    ),
    (
        "a broken server, which is not taken for an old one",
        on!("server/discover", |_| respond("500 No", &[], b"")),
        Error(Status, false),
    ),
    (
        "only unknown revisions",
        on!("server/discover", |m| {
            m.result(json!({
                "resultType": "complete", "supportedVersions": ["2099-01-01"], "capabilities": {},
                "ttlMs": 0, "cacheScope": "private",
            }))
        }),
        Error(Unreachable, false),
    ),
    (
        "a discovery of a wrong type",
        on!("server/discover", |m| m.result(json!([]))),
        Error(Unreachable, false),
    ),
    (
        "a web page instead of a server",
        |_| Some(respond("200 OK", &[("content-type", "text/html")], b"<p>Hi")),
        Error(Unreachable, false),
    ),
    ("a wrong path", |_| Some(respond("404 No", &[], b"")), Error(Status, false)),
];

const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

fn progress() -> Value {
    let params = json!({"progressToken": 0, "progress": 1});
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

fn sampling() -> Value {
    let params = json!({"messages": [], "maxTokens": 1});
    json!({"jsonrpc": "2.0", "id": 77, "method": "sampling/createMessage", "params": params})
}

fn foreign() -> Value {
    json!({"jsonrpc": "2.0", "id": 999, "result": text("foreign")})
}

fn result_and_error(message: &Message) -> Value {
    let mut body = message.result_message(text("a"));
    body["error"] = json!({"code": 1, "message": "b"});
    body
}

/// A hundred megabytes of zeros, compressed.
fn zipped_zeros() -> Vec<u8> {
    use std::io::Write;
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..100 {
        zip.write_all(&vec![0; 1_000_000]).unwrap();
    }
    zip.finish().unwrap()
}

#[tokio::test]
async fn every_misbehaviour_ends_its_call() {
    for (name, behaviour, expected) in CALLS {
        let scripted = ScriptedServer::start(*behaviour).await;
        let result = scripted.call(NEW).await;
        let end = match &result {
            Ok(result) => {
                let Text(text) = expected else { panic!("{name}: {result:?}") };
                assert_eq!(result.text, *text, "{name}");
                Text(text)
            }
            Err(error) => Error(error.code, error.may_be_done),
        };
        assert_eq!(end, *expected, "{name}: {result:?}");
        assert!(scripted.messages("tools/call").len() <= 1, "{name}");
        assert!(
            scripted.messages("initialize").len() <= usize::from(*name == "a wrong path"),
            "{name}"
        );
        println!("hostile server: {name}: {}", describe(&result));
    }
    println!("{} behaviours of servers without sessions", CALLS.len());
}

fn describe(result: &Result<djinn_mcp::McpResult, djinn_mcp::McpError>) -> String {
    result.as_ref().map_or_else(ToString::to_string, |result| format!("{:?}", result.text))
}

#[tokio::test]
async fn a_request_to_us_is_answered_with_an_error() {
    let scripted = ScriptedServer::start_old(on_call!(|m| {
        events(&[sampling(), m.result_message(text("a"))])
    }))
    .await;
    assert_eq!(scripted.call(OLD).await.unwrap().text, "a");
    // The answer is sent beside the call.
    scripted.server.wait_for_requests(4).await;
    let received = scripted.server.received();
    let answer = received.iter().find_map(|received| {
        let body: Value = serde_json::from_slice(&received.body).ok()?;
        (body["id"] == 77).then_some(body)
    });
    assert_eq!(answer.unwrap()["error"]["code"], -32601);
}

/// A listing: its tools, or its error.
type Listing = (&'static str, Behaviour, Result<(usize, usize), McpErrorCode>);

const LISTINGS: &[Listing] = &[
    ("one tool", |_| None, Ok((1, 0))),
    ("no tools", on!("tools/list", |m| m.result(json!({"tools": []}))), Ok((0, 0))),
    (
        "three pages",
        on!("tools/list", |m| {
            let page = m.earlier;
            let mut result = json!({"tools": [tool(&format!("t{page}"))]});
            if page < 2 {
                result["nextCursor"] = json!(format!("c{page}"));
            }
            m.result(result)
        }),
        Ok((3, 0)),
    ),
    (
        "one mistyped tool among others",
        on!("tools/list", |m| {
            m.result(json!({"tools": [tool("a"), {"name": 5, "inputSchema": []}, tool("b"), null]}))
        }),
        Ok((2, 2)),
    ),
    (
        "a cursor that does not move",
        on!("tools/list", |m| m.result(json!({"tools": [], "nextCursor": "c"}))),
        Err(Protocol),
    ),
    (
        "a cursor of a wrong type",
        on!("tools/list", |m| m.result(json!({"tools": [], "nextCursor": 1}))),
        Err(Protocol),
    ),
    (
        "pages without end",
        on!("tools/list", |m| m.result(json!({"tools": [], "nextCursor": m.earlier.to_string()}))),
        Err(TooLarge),
    ),
    (
        "too many tools",
        on!("tools/list", |m| m.result(json!({"tools": vec![tool("t"); MAX_TOOLS + 1]}))),
        Err(TooLarge),
    ),
    ("tools of a wrong type", on!("tools/list", |m| m.result(json!({"tools": {}}))), Err(Protocol)),
    ("a listing without tools", on!("tools/list", |m| m.result(json!({}))), Err(Protocol)),
    ("no listing", on!("tools/list", |m| m.error(-32601, "Method not found")), Err(Rejected)),
];

#[tokio::test]
async fn every_misbehaviour_ends_its_listing() {
    for (name, behaviour, expected) in LISTINGS {
        let scripted = ScriptedServer::start(*behaviour).await;
        let listing = scripted.client.list_tools(&scripted.endpoint).await;
        assert!(scripted.messages("tools/list").len() <= MAX_PAGES, "{name}");
        match (&listing, expected) {
            (Ok(listing), Ok((good, rejected))) => {
                let valid = listing.tools.iter().filter(|tool| tool.is_ok()).count();
                assert_eq!((valid, listing.tools.len() - valid), (*good, *rejected), "{name}");
                assert_eq!(listing.revision, NEW, "{name}");
            }
            (Err(error), Err(code)) => assert_eq!(error.code, *code, "{name}: {error}"),
            _ => panic!("{name}: {listing:?}"),
        }
        println!("hostile listing: {name}");
    }
}

#[tokio::test]
async fn a_silent_server_ends_its_call_in_time() {
    let scripted =
        ScriptedServer::start(on_call!(|_| Answer::Silence(head("200 OK", EVENTS)))).await;
    let call = scripted.call(NEW);
    let pause = async {
        scripted.server.wait_for_requests(2).await;
        // The paused clock advances to the timeout at once.
        tokio::time::pause();
    };
    let (result, ()) = tokio::join!(call, pause);
    let error = result.unwrap_err();
    assert_eq!((error.code, error.may_be_done), (McpErrorCode::TooSlow, true));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let scripted = ScriptedServer::start(|_| None).await;
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let client = djinn_mcp::McpClient::new(super::scripted::local_egress(&[&origin]));
    let endpoint = super::scripted::endpoint(&origin);
    let result = client.call_tool(&endpoint, super::scripted::call("echo", NEW)).await;
    assert_eq!(result.unwrap_err().code, Unreachable);
    // A forbidden address receives nothing.
    let endpoint = super::scripted::endpoint("http://169.254.169.254/mcp");
    let result = client.call_tool(&endpoint, super::scripted::call("echo", NEW)).await;
    assert_eq!(result.unwrap_err().code, McpErrorCode::Address);
    assert!(scripted.methods().is_empty());
}

/// Answers a session other than the newest with 404, as a restarted server does.
fn restarted(message: &Message) -> Option<Answer> {
    let is_lost = message.method == "tools/call" && message.session.as_deref() == Some("s1");
    is_lost.then(|| respond("404 No", &[], b""))
}

#[tokio::test]
async fn a_lost_session_leads_to_one_new_session_and_one_repeat() {
    let scripted = ScriptedServer::start_old(restarted).await;
    assert_eq!(scripted.call(OLD).await.unwrap().text, "hello");
    let calls = scripted.messages("tools/call");
    let sessions: Vec<_> =
        calls.iter().map(|call| call.header("mcp-session-id").unwrap()).collect();
    assert_eq!(sessions, ["s1", "s2"]);
    // The new session serves the next call.
    assert_eq!(scripted.call(OLD).await.unwrap().text, "hello");
    assert_eq!(scripted.messages("initialize").len(), 2);
}

#[tokio::test]
async fn a_session_that_is_lost_again_is_an_error() {
    for status in ["404 No", "400 No"] {
        let behaviour: Behaviour = match status {
            "404 No" => on_call!(|_| respond("404 No", &[], b"")),
            _ => on_call!(|_| respond("400 No", &[], b"unknown Session")),
        };
        let scripted = ScriptedServer::start_old(behaviour).await;
        let error = scripted.call(OLD).await.unwrap_err();
        assert_eq!((error.code, error.status), (Status, Some(404)), "{status}");
        assert!(!error.may_be_done, "{status}");
        assert_eq!(scripted.messages("tools/call").len(), 2, "{status}");
    }
}
