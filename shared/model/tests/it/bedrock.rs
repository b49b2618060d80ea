//! Bedrock, whose stream has a binary form and whose requests are signed.

use djinn_core::input::FinishReason;
use djinn_core::tool::{ArgumentProblem, ToolArguments};
use djinn_model::{ModelKey, ModelSettings};
use djinn_runtime::port::model::{ModelErrorKind, ModelRequest};
use serde_json::{Value, json};

use crate::server::{Script, Server};
use crate::world::{ask, model, models, request};

const CALL: &str = "run_1/t1/1";

/// A message of `application/vnd.amazon.eventstream`.
fn frame(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(name.len() as u8);
        head.extend(name.as_bytes());
        head.push(7);
        head.extend((value.len() as u16).to_be_bytes());
        head.extend(value.as_bytes());
    }
    let payload = payload.to_string();
    let total = 16 + head.len() + payload.len();
    let mut bytes = (total as u32).to_be_bytes().to_vec();
    bytes.extend((head.len() as u32).to_be_bytes());
    bytes.extend(crc32(&bytes).to_be_bytes());
    bytes.extend(head);
    bytes.extend(payload.as_bytes());
    bytes.extend(crc32(&bytes).to_be_bytes());
    bytes
}

fn event(kind: &str, payload: &Value) -> Vec<u8> {
    frame(&[(":message-type", "event"), (":event-type", kind)], payload)
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |mut crc, byte| {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
        crc
    })
}

fn turn(arguments: &str) -> Vec<Vec<u8>> {
    vec![
        event("messageStart", &json!({"role": "assistant"})),
        event(
            "contentBlockDelta",
            &json!({"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "hm"}}}),
        ),
        event(
            "contentBlockDelta",
            &json!({"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "sig"}}}),
        ),
        event("contentBlockStop", &json!({"contentBlockIndex": 0})),
        event("contentBlockDelta", &json!({"contentBlockIndex": 1, "delta": {"text": "I look."}})),
        event("contentBlockStop", &json!({"contentBlockIndex": 1})),
        event(
            "contentBlockStart",
            &json!({"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "web_fetch"}}}),
        ),
        event(
            "contentBlockDelta",
            &json!({"contentBlockIndex": 2, "delta": {"toolUse": {"input": arguments}}}),
        ),
        event("contentBlockStop", &json!({"contentBlockIndex": 2})),
        event("messageStop", &json!({"stopReason": "tool_use"})),
        event(
            "metadata",
            &json!({"usage": {"inputTokens": 9, "outputTokens": 8, "totalTokens": 17}}),
        ),
    ]
}

async fn play(
    chunks: Vec<Vec<u8>>,
) -> Result<djinn_core::input::Reply, djinn_runtime::port::model::ModelError> {
    let (server, address) = Server::start().await;
    server.on(CALL, Script::ok(chunks));
    ask(&models(model("bedrock_api", address)), &request(CALL)).await
}

#[tokio::test]
async fn a_turn_is_read() {
    let reply = play(turn("{\"url\": \"a\"}")).await.unwrap();
    assert_eq!(reply.text, "I look.");
    let reasoning = reply.reasoning.unwrap();
    assert_eq!(reasoning.text, "hm");
    assert_eq!(
        reasoning.signature.as_deref(),
        Some(
            r#"{"model_id":"bedrock_api/test-model","blocks":[{"signed":{"bytes":2,"signature":"sig"}}]}"#
        )
    );
    assert_eq!(reply.calls[0].tool, "web_fetch");
    assert_eq!(json!(reply.calls[0].arguments), json!({"parsed": {"url": "a"}}));
    assert_eq!(reply.finish, FinishReason::Done);
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (9, 8));
}

/// genai makes an empty object of arguments that it cannot read.
#[tokio::test]
async fn arguments_that_cannot_be_read_are_not_taken_for_none() {
    let reply = play(turn("{\"url\": oops}")).await.unwrap();
    assert!(matches!(
        &reply.calls[0].arguments,
        ToolArguments::Malformed { problem: ArgumentProblem::NotJson, .. }
    ));
}

#[tokio::test]
async fn a_stream_that_breaks_makes_no_reply() {
    let whole = turn("{}");
    for frames in 0..whole.len() - 2 {
        let error = play(whole[..frames].to_vec()).await.unwrap_err();
        assert!(error.kind.is_retryable(), "{frames} frames: {error}");
    }
    for (chunk, kind) in [
        (
            frame(
                &[(":message-type", "exception"), (":exception-type", "throttlingException")],
                &json!({"message": "Too many requests"}),
            ),
            ModelErrorKind::Overloaded,
        ),
        (
            b"this is no frame, but long enough to be taken for one".to_vec(),
            ModelErrorKind::BrokenOff,
        ),
    ] {
        let error = play(vec![whole[0].clone(), chunk]).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
    }
}

/// The credentials come from the environment, as on Lambda, so a process of its own makes the
/// call; on a single-threaded runtime, where genai alone would panic.
#[test]
fn a_call_with_the_functions_own_role_is_signed() {
    const CHILD: &str = "DJINN_BEDROCK_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let name = "bedrock::a_call_with_the_functions_own_role_is_signed";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(CHILD, "1")
            .env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
            .env("AWS_REGION", "eu-west-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (server, address) = Server::start().await;
        server.on(CALL, Script::ok(turn("{}")));
        let settings = ModelSettings {
            key: ModelKey::None,
            model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0".to_owned(),
            ..model("bedrock", address)
        };
        let request = ModelRequest { ..request(CALL) };
        let reply = ask(&models(settings), &request).await.unwrap();
        assert_eq!(reply.calls[0].tool, "web_fetch");
        let received = server.received(CALL);
        assert_eq!(
            received.path,
            "/v1/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"
        );
        let authorization = &received.headers["authorization"];
        assert!(authorization.contains("AKIDEXAMPLE/"), "{authorization}");
        assert!(authorization.contains("/eu-west-1/bedrock/aws4_request"), "{authorization}");
        assert_eq!(received.body["system"][0]["text"], request.system);
        assert_eq!(received.body["inferenceConfig"]["maxTokens"], 16384);
    });
}
