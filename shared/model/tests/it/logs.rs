//! What is logged: names and counts, and nothing that was said.

use std::io::Write;
use std::sync::{Arc, Mutex};

use djinn_core::conversation::Reasoning;
use djinn_core::id::CallId;
use djinn_runtime::port::model::{Message, PastCall, ToolResultMessage};
use serde_json::json;
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::server::{Script, Server};
use crate::world::{KEY, ask, model, models, request};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Everything that is logged at INFO and above while these answers are given.
async fn log_of(answers: &[(&str, Script)]) -> String {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::INFO)
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    // While there is only one dispatcher, tracing asks the thread that meets a place first whether
    // anybody listens there: other tests' threads would answer for ours.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(subscriber);
    let (server, address) = Server::start().await;
    for (provider, script) in answers {
        server.on("run_1/t2/1", script.clone());
        let mut request = request("run_1/t2/1");
        request.messages.extend([
            Message::Assistant {
                text: "SAID".to_owned(),
                reasoning: Some(Reasoning {
                    text: "THOUGHT".to_owned(),
                    signature: Some("SIGNED".to_owned()),
                    original: None,
                }),
                calls: vec![PastCall {
                    id: CallId::new("t1.c1").unwrap(),
                    tool: "web_fetch".to_owned(),
                    arguments: json!({"url": "ARGUED"}).as_object().unwrap().clone(),
                }],
            },
            Message::ToolResults(vec![ToolResultMessage {
                id: CallId::new("t1.c1").unwrap(),
                tool: "web_fetch".to_owned(),
                text: "RESULTED".to_owned(),
            }]),
        ]);
        let _ = ask(&models(model(provider, address)), &request).await;
    }
    let bytes = log.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn a_span_names_and_counts() {
    let body = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"REPLIED\"},\"finish_reason\":\"stop\"}],",
        "\"usage\":{\"prompt_tokens\":31,\"completion_tokens\":7}}\n\ndata: [DONE]\n\n"
    );
    let log = log_of(&[("openai", Script::ok(vec![body.as_bytes().to_vec()]))]).await;
    for field in [
        "gen_ai.chat{",
        "call=run_1/t2/1",
        "role=\"react\"",
        "gen_ai.operation.name=\"chat\"",
        "gen_ai.provider.name=\"openai\"",
        "gen_ai.request.model=test-model",
        "gen_ai.request.max_tokens=16384",
        "gen_ai.usage.input_tokens=31",
        "gen_ai.usage.output_tokens=7",
        "gen_ai.response.finish_reasons=\"stop\"",
    ] {
        assert!(log.contains(field), "{field} is not in {log}");
    }
}

#[tokio::test]
async fn a_failed_call_names_its_code() {
    let log = log_of(&[("openai", Script::status(401, "{}"))]).await;
    assert!(log.contains("error.type=\"model_key_refused\""), "{log}");
}

/// genai logs frames and error bodies at WARN and ERROR.
#[tokio::test]
async fn nothing_that_was_said_is_logged() {
    let quoting =
        json!({"error": {"message": format!("REPLIED {KEY} xylophone-marmalade-42")}}).to_string();
    let chunks = |frames: &[&str]| {
        Script::ok(frames.iter().map(|frame| format!("{frame}\n\n").into_bytes()).collect())
    };
    let log = log_of(&[
        ("openai", Script::status(400, &quoting)),
        ("anthropic", Script::status(400, &quoting)),
        ("ollama", Script::status(400, &quoting)),
        ("gemini", Script::status(400, &quoting)),
        ("openai", chunks(&["data: {\"choices\":[{\"delta\":{}}]}", "data: REPLIED", "data: {\"REPLIED"])),
        ("openai", chunks(&["data: {\"error\":{\"message\":\"REPLIED\"}}"])),
        ("anthropic", chunks(&["event: odd\ndata: {\"type\":\"REPLIED\"}", "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"REPLIED\"}}"])),
        ("anthropic", chunks(&["event: content_block_start\ndata: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"REPLIED\"}}"])),
        ("gemini", chunks(&["data: {\"REPLIED"])),
        ("openai_resp", chunks(&["data: {\"type\":\"REPLIED"])),
    ])
    .await;
    for said in [
        "REPLIED",
        "SAID",
        "THOUGHT",
        "SIGNED",
        "ARGUED",
        "RESULTED",
        "xylophone",
        "sk-test",
        "What does it cost",
    ] {
        assert!(!log.contains(said), "{said} is in {log}");
    }
    assert_eq!(log.lines().count(), 10, "one span a call: {log}");
}
