//! The MCP server's messages and its calls, without a network.

use djinn_core::language::Language;
use djinn_core::status::RunStatus;
use djinn_protocol::connection::Connection;
use djinn_protocol::link::SessionLinks;
use djinn_protocol::mcp::{
    Mcp, McpErrorKind, McpHeaders, McpMessage, McpOutcome, McpServerCall, McpWords,
};
use serde_json::{Value, json};

use crate::projection::{Step, plan_steps, send, steps};
use crate::story::{self, run_id};

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

fn read(body: &Value, headers: McpHeaders<'_>) -> Result<McpMessage, McpErrorKind> {
    let message = McpMessage::read(body.clone(), headers);
    message.map_err(|error| error.kind)
}

#[test]
fn each_message_is_read_by_its_own_revision() {
    let legacy = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let params = json!({"_meta": {VERSION_KEY: "2026-07-28"}});
    let modern = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
    let headers = |version, method| McpHeaders { version, method, name: None };
    let is_modern = |read: Result<McpMessage, McpErrorKind>| match read {
        Ok(McpMessage::Request(request)) => Ok(request.is_modern),
        Ok(McpMessage::Silent | McpMessage::Cancelled(_)) => panic!("a request"),
        Err(kind) => Err(kind),
    };
    let (mismatch, unsupported) = (McpErrorKind::HeaderMismatch, McpErrorKind::UnsupportedVersion);
    for (body, headers, expected) in [
        (&legacy, headers(None, None), Ok(false)),
        (&legacy, headers(Some("2025-06-18"), None), Ok(false)),
        (&legacy, headers(Some("2025-11-25"), Some("tools/list")), Ok(false)),
        (&legacy, headers(Some("2020-01-01"), None), Err(unsupported)),
        (&legacy, headers(Some("2026-07-28"), None), Err(McpErrorKind::InvalidParams)),
        (&modern, headers(Some("2026-07-28"), Some("tools/list")), Ok(true)),
        (&modern, headers(None, Some("tools/list")), Err(mismatch)),
        (&modern, headers(Some("2026-07-28"), None), Err(mismatch)),
        (&modern, headers(Some("2026-07-28"), Some("tools/call")), Err(mismatch)),
    ] {
        assert_eq!(is_modern(read(body, headers)), expected, "{body} {headers:?}");
    }
    for silent in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}),
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}}),
    ] {
        assert_eq!(read(&silent, McpHeaders::default()), Ok(McpMessage::Silent), "{silent}");
    }
    for id in [json!(1), json!("1")] {
        let params = json!({"requestId": id, "reason": "Too slow."});
        let cancelled =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        assert_eq!(read(&cancelled, McpHeaders::default()), Ok(McpMessage::Cancelled(id)));
    }
    for no_message in [json!([legacy]), json!([]), json!("ping"), json!(7), Value::Null] {
        let error = McpMessage::read(no_message.clone(), McpHeaders::default()).unwrap_err();
        assert_eq!(error.kind, McpErrorKind::InvalidRequest, "{no_message}");
        let sentence = error.body(Language::En)["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(sentence.contains("batches"), no_message.is_array(), "{sentence}");
    }
}

fn connection(is_stream: bool, called_at_ms: i64) -> Connection {
    let links = SessionLinks::new("http://localhost:9000", story::asked("").session);
    let (id, progress_token) = (json!("a"), Some(json!("p")));
    let call = McpServerCall { id, progress_token, is_modern: true, is_stream, called_at_ms };
    let words = McpWords::new(|outcome, _| format!("({})", outcome.status.as_str()));
    let mcp = Mcp::new(call, run_id(), "s".to_owned(), links, words, Language::En);
    Connection::new(run_id(), Box::new(mcp), false)
}

/// The messages of a call that ends after these steps.
fn called(steps: &[Step], called_at_ms: i64) -> Vec<Value> {
    let mut connection = connection(true, called_at_ms);
    let mut sent: String = steps.iter().flat_map(|step| send(&mut connection, step)).collect();
    sent.extend(connection.hand_over(None, 0));
    let data = sent.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn call_ends_once_and_progress_only_grows() {
    for steps in [steps(), plan_steps()] {
        for end in 0..=steps.len() {
            let messages = called(&steps[..end], 0);
            let (result, notes) = messages.split_last().unwrap();
            assert_eq!(
                (&result["id"], &result["result"]["resultType"]),
                (&json!("a"), &json!("complete"))
            );
            let status = &result["result"]["structuredContent"]["status"];
            assert_eq!(end == steps.len(), status == "finished", "{end}: {status}");
            for (note, nth) in notes.iter().zip(1_u64..) {
                assert_eq!(note["method"], "notifications/progress");
                assert_eq!(
                    (&note["params"]["progressToken"], &note["params"]["progress"]),
                    (&json!("p"), &json!(nth))
                );
            }
        }
        assert!(called(&steps, 0).len() > 2);
        assert_eq!(called(&steps, i64::MAX).len(), 1, "work before the call is no progress");
    }
}

#[test]
fn document_is_json_whatever_precedes_it() {
    let mut connection = connection(false, 0);
    let mut sent = connection.greeting();
    sent.push_str(&connection.heartbeat());
    sent.extend(steps().iter().flat_map(|step| send(&mut connection, step)));
    let document: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(document["result"]["structuredContent"]["status"], "finished");
}

#[test]
fn sources_of_an_answer_are_beside_it_as_in_events() {
    let words = McpWords::new(|_, _| String::new());
    let state = |answer: &str| {
        let base = McpOutcome::new("run_1".to_owned(), "s".to_owned(), RunStatus::Finished);
        let outcome = McpOutcome { answer: Some(answer.to_owned()), ..base };
        outcome.to_result(&words, Language::En)["structuredContent"].clone()
    };
    let cited = state("Nine [1].\n\n## Sources\n- [1] [A page](https://a.test/b)");
    let source = json!({"n": 1, "title": "A page", "url": "https://a.test/b"});
    assert_eq!(cited["citations"], json!([source]));
    assert_eq!(state("Nine.").get("citations"), None);
}
