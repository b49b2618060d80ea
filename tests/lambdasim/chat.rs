//! A chat of the AI SDK whose function dies in mid-sentence.

use std::time::Duration;

use reqwest::Response;
use serde_json::{Value, json};

use crate::host::{Host, Options};
use crate::story::Story;

/// The chunks of a stream.
#[derive(Default)]
struct Chunks(Vec<Value>);

impl Chunks {
    /// Reads until a chunk of this type, or to the end.
    async fn read_until(&mut self, response: &mut Response, kind: &str) {
        let mut text = String::new();
        while self.find(kind).is_none()
            && let Ok(Some(piece)) = response.chunk().await
        {
            text.push_str(std::str::from_utf8(&piece).unwrap());
            while let Some((frame, rest)) = text.split_once("\n\n") {
                let data = frame.lines().find_map(|line| line.strip_prefix("data:"));
                self.0.extend(data.and_then(|data| serde_json::from_str(data).ok()));
                text = rest.to_owned();
            }
        }
    }

    async fn read(response: reqwest::Result<Response>) -> Self {
        let mut chunks = Self::default();
        chunks.read_until(&mut response.unwrap().error_for_status().unwrap(), "finish").await;
        chunks
    }

    fn find(&self, kind: &str) -> Option<&Value> {
        self.0.iter().find(|chunk| chunk["type"] == kind)
    }

    /// The text that the client shows at the end.
    fn text(&self) -> String {
        let valid = self.0.rsplit(|chunk| chunk["type"] == "reset-step").next().unwrap();
        let deltas = valid.iter().filter(|chunk| chunk["type"] == "text-delta");
        deltas.map(|chunk| chunk["delta"].as_str().unwrap()).collect()
    }
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_chat_survives_the_death_of_its_function_in_mid_sentence_and_approves_a_call() {
    let story = Story::parts(1, Duration::from_millis(200));
    let requests = ("DJINN_PEOPLE__REQUESTS", json!({"enabled": true, "timeout": 0}).to_string());
    let options = Options { model_timeout_s: 15, variables: vec![requests], ..Options::default() };
    let host = Host::start("chat", options, story).await;
    let http = reqwest::Client::builder().tcp_nodelay(true).build().unwrap();
    let url = format!("{}/ai/chat", host.url);
    let parts = json!([{"type": "text", "text": "What is to be done?"}]);
    let question = json!({"id": "m1", "role": "user", "parts": parts});
    let chat = |messages: Value| json!({"id": "c1", "messages": messages});

    let asked = http.post(&url).json(&chat(json!([question]))).send().await;
    let (mut response, mut before) = (asked.unwrap(), Chunks::default());
    before.read_until(&mut response, "text-delta").await;
    let is_in_text = before.find("text-delta").is_some() && before.find("text-end").is_none();
    assert!(is_in_text, "{:?}", before.0);
    let [driver] = &host.invocations("agent")[..] else { panic!("one agent") };
    host.lambda.kill(driver.pid);
    before.read_until(&mut response, "finish").await;
    assert!(before.find("finish").is_none(), "{:?}", before.0);

    // The page is loaded again.
    let shown = Chunks::read(http.get(format!("{url}/c1/stream")).send().await).await;
    assert_eq!(shown.text(), "I write part-1.md.");
    let approval = shown.find("tool-approval-request").unwrap();
    let call = shown.find("tool-input-available").unwrap();
    let part = json!({
        "type": "dynamic-tool", "toolName": call["toolName"], "toolCallId": call["toolCallId"],
        "input": call["input"], "state": "approval-responded",
        "approval": {"id": approval["approvalId"], "approved": true},
    });
    let answer = json!({
        "id": shown.find("start").unwrap()["messageId"], "role": "assistant", "parts": [part],
        "metadata": shown.find("finish").unwrap()["messageMetadata"],
    });
    let rest = http.post(&url).json(&chat(json!([question, answer]))).send().await;
    let rest = Chunks::read(rest).await;
    assert!(rest.text().ends_with("There are 1 parts, from part-1.md on."), "{:?}", rest.0);
    assert_eq!(rest.find("finish").unwrap()["messageMetadata"]["status"], "finished");
    assert_eq!(rest.find("data-file").unwrap()["data"]["name"], "part-1.md");
    assert!(host.asked("t1") >= 2, "the dead function's call was repeated");
    assert_eq!(host.asked("t2"), 1);
}
