//! Any bytes as an answer: an error or a result, and no panic.

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::scripted::{call, endpoint, local_egress};
use super::server::{TestServer, respond};

/// Pieces of messages and of streams, and any bytes.
fn arbitrary_body() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "{\"jsonrpc\":\"2.0\",",
        "\"id\":0,",
        "\"id\":1,",
        "\"result\":",
        "\"error\":",
        "{",
        "}",
        "[",
        "\"content\":[]",
        "\"tools\":[]",
        "\"code\":1,\"message\":\"a\"",
        "data: ",
        "event: message\n",
        "id: 1\n",
        "retry: 0\n",
        ": x\n",
        "\n\n",
        "\r\n",
        "null",
        "1e999",
        "\"\\ud800\"",
    ]);
    let piece = prop_oneof![
        8 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_ends_its_call(body in arbitrary_body(), is_stream: bool, status in 200_u16..206) {
        let answer = move |received: &super::server::Received| {
            let message: Value = serde_json::from_slice(&received.body).unwrap();
            if message["method"] == "server/discover" {
                let result = json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {}, "ttlMs": 0, "cacheScope": "private",
                });
                let message = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                return super::scripted::json_answer(&message);
            }
            let media_type = if is_stream { "text/event-stream" } else { "application/json" };
            respond(&format!("{status} Any"), &[("content-type", media_type)], &body)
        };
        Runtime::new().unwrap().block_on(async {
            let server = TestServer::start(answer).await;
            let client = djinn_mcp::McpClient::new(local_egress(&[&server.origin]));
            let endpoint = endpoint(&server.url("/mcp"));
            let result = client.call_tool(&endpoint, call("echo", "2026-07-28")).await;
            // Only an answer to this request with content is a result.
            if let Ok(result) = result {
                assert!(result.files.is_empty());
            }
        });
    }
}
