//! Programs that speak Chat Completions: their requests, as their sources build them, and what their readers need.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::human_requests::APPROVAL;
use crate::world::{Answer, KEY, Options, World, models};

const PATH: &str = "/v1/chat/completions";

/// The smallest picture.
const PICTURE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The requests of a program.
struct Program {
    requests: Value,
    /// True if the program names the chat.
    has_session: bool,
}

/// The parts of a stream that a program reads.
#[derive(Debug, Default)]
struct ReadAnswer {
    content: String,
    reasoning: String,
    finish_reason: String,
    total_tokens: u64,
}

impl Program {
    fn all() -> [Self; 2] {
        let read = |text| serde_json::from_str::<Value>(text).unwrap();
        let open_webui = read(include_str!("chat_clients/open_webui.json"));
        let librechat = read(include_str!("chat_clients/librechat.json"));
        [
            Self { requests: open_webui, has_session: true },
            Self { requests: librechat, has_session: false },
        ]
    }

    async fn send(&self, world: &World, body: &Value) -> Response {
        let mut request = world.client.request(Method::POST, PATH);
        for (name, value) in self.requests["headers"].as_object().unwrap() {
            request = request.header(name, value.as_str().unwrap());
        }
        request.body(body.to_string()).send().await.unwrap()
    }

    /// Sends the request of this name, with the answer that the program has received before.
    async fn stream(&self, world: &World, name: &str, answer: &str) -> ReadAnswer {
        let body = filled(&self.requests[name], answer);
        read_stream(&Answer::of(self.send(world, &body).await).await)
    }

    /// Sends what the program asks of its own about the chat. Returns the texts.
    async fn ask_about_chat(&self, world: &World, answer: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for body in self.requests["about_the_chat"].as_array().unwrap() {
            let answer = Answer::of(self.send(world, &filled(body, answer)).await).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            let document = answer.json();
            let choices = document["choices"].as_array().unwrap();
            assert_eq!(choices.len(), 1, "{document}");
            texts.push(choices[0]["message"]["content"].as_str().unwrap().to_owned());
        }
        texts
    }
}

/// A body with these texts in the places for them.
fn filled(body: &Value, answer: &str) -> Value {
    let escaped = serde_json::to_string(answer).unwrap();
    let text = body.to_string().replace("{answer}", escaped.trim_matches('"'));
    serde_json::from_str(&text.replace("{picture}", PICTURE)).unwrap()
}

/// Reads a stream as the programs do: the first choice of each chunk, and a last chunk without choices.
fn read_stream(answer: &Answer) -> ReadAnswer {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.header("content-type").starts_with("text/event-stream"));
    let mut read = ReadAnswer::default();
    let lines = answer.text.lines().filter_map(|line| line.strip_prefix("data:"));
    for data in lines.map(str::trim).take_while(|data| *data != "[DONE]") {
        let chunk: Value = serde_json::from_str(data).unwrap();
        assert!(chunk["id"].is_string() && chunk["created"].is_u64() && chunk["model"].is_string());
        read.total_tokens += chunk["usage"]["total_tokens"].as_u64().unwrap_or_default();
        let Some(choice) = chunk["choices"].as_array().unwrap().first() else { continue };
        let text = |name: &str| choice["delta"][name].as_str().unwrap_or_default();
        read.content.push_str(text("content"));
        read.reasoning.push_str(text("reasoning_content"));
        read.finish_reason.push_str(choice["finish_reason"].as_str().unwrap_or_default());
    }
    assert!(answer.text.trim_end().ends_with("data:[DONE]"), "{}", answer.text);
    read
}

async fn turns(world: &World) -> Vec<Value> {
    let mut turns = Vec::new();
    for session in world.get("/sessions").await.json()["sessions"].as_array().unwrap() {
        let session = session["session"].as_str().unwrap();
        let shown = world.get(&format!("/sessions/{session}")).await.json();
        turns.extend(shown["turns"].as_array().unwrap().clone());
    }
    turns
}

#[tokio::test]
async fn questions_of_a_chat_know_each_other_and_requests_about_the_chat_are_no_turns() {
    for program in Program::all() {
        let world = World::start_with(|options: &mut Options, model| {
            let sees = models(model, &json!({"key": "env:OPENAI_API_KEY", "images": true}));
            options.vars.extend([("OPENAI_API_KEY", KEY.to_owned()), ("DJINN_MODELS", sees)]);
        })
        .await;
        world.model.on("title").reply(r#"{"title": "Metals"}"#).always();
        world.model.on("### Task:").reply("{}").always();
        world.model.on("picture").reply("A dot.");
        let rule = world.model.on("Which metal grew?").reason("Gold is up.").reply("Gold.");
        rule.usage(100, 20, 0).then().reply("Silver.");
        let first = program.stream(&world, "question", "").await;
        let found =
            (first.content.as_str(), first.reasoning.as_str(), first.finish_reason.as_str());
        assert_eq!(found, ("Gold.", "Gold is up.", "stop"));
        assert_eq!(first.total_tokens, 120);
        let texts = program.ask_about_chat(&world, &first.content).await;
        assert!(texts.contains(&r#"{"title": "Metals"}"#.to_owned()), "{texts:?}");
        let second = program.stream(&world, "second_question", &first.content).await;
        assert_eq!(second.content, "Silver.");
        let seen = world.model.last_request().unwrap().text().to_owned();
        assert!(seen.contains("Which metal grew?") && seen.contains("Gold."), "{seen}");
        assert!(!seen.contains("title"), "{seen}");
        assert_eq!(program.stream(&world, "picture", "").await.content, "A dot.");
        assert_eq!(world.model.last_request().unwrap().images().count(), 1);
        let questions = turns(&world).await.len();
        assert_eq!(questions, if program.has_session { 3 } else { 0 });
    }
}

#[tokio::test]
async fn requests_about_a_chat_that_waits_are_no_responses_and_the_next_message_is() {
    for program in Program::all() {
        let world = World::start_with(|options: &mut Options, _| {
            options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
        })
        .await;
        world.model.on("title").reply(r#"{"title": "Metals"}"#).always();
        world.model.on("### Task:").reply("{}").always();
        let note = json!({"command": "upload", "filename": "note.md", "content": "9"});
        let rule = world.model.on("Which metal grew?").say("I note it.").call("file_tool", note);
        rule.then().reply("Gold, as noted.");
        let paused = program.stream(&world, "question", "").await;
        let (_, run) = paused.content.rsplit_once("\n\n`").unwrap();
        let run = run.trim_end_matches('`');
        assert_eq!((paused.finish_reason.as_str(), run.starts_with("run_")), ("stop", true));
        program.ask_about_chat(&world, &paused.content).await;
        assert_eq!(world.open_requests(run).await.len(), 1);
        let mut next = filled(&program.requests["second_question"], &paused.content);
        let messages = next["messages"].as_array_mut().unwrap();
        messages.last_mut().unwrap()["content"] = json!("confirm");
        let answer = read_stream(&Answer::of(program.send(&world, &next).await).await);
        assert!(answer.content.starts_with("Gold, as noted."), "{answer:?}");
    }
}

#[tokio::test]
async fn a_stopped_stream_leaves_its_run_at_work_and_continue_shows_the_answer() {
    let [program, _] = Program::all();
    let world = World::start().await;
    let gate = world.model.on("Which metal grew?").reply("Gold.").gate(1);
    let mut stopped = program.send(&world, &program.requests["question"]).await;
    assert!(stopped.chunk().await.unwrap().is_some());
    gate.wait_until_reached().await;
    drop(stopped);
    let second = filled(&program.requests["second_question"], "");
    let refused = Answer::of(program.send(&world, &second).await).await;
    assert_eq!(refused.status, 409);
    let error = &refused.json()["error"];
    assert_eq!(error["code"], "session_busy");
    assert!(error["message"].as_str().unwrap().contains("continue"), "{error}");
    let mut next = second;
    next["messages"][3]["content"] = json!("continue");
    let (answer, ()) =
        tokio::join!(async { Answer::of(program.send(&world, &next).await).await }, async {
            gate.open();
        });
    assert_eq!(read_stream(&answer).content, "Gold.");
}
