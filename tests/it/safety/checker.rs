//! A checker of the deployment's own, over HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::world::{Protocol, Question, World, always_hands_over};

type Decide = fn(&Value) -> Response;

/// What it was asked, each with the `Authorization` it came with.
#[derive(Clone)]
struct Asked(Arc<Mutex<Vec<(Value, String)>>>, Decide);

impl Asked {
    fn all(&self) -> Vec<(Value, String)> {
        self.0.lock().unwrap().clone()
    }

    fn texts(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        self.all()
            .iter()
            .map(|(asked, _)| (text(&asked["direction"]), text(&asked["text"])))
            .collect()
    }
}

async fn decide(State(asked): State<Asked>, headers: HeaderMap, body: Json<Value>) -> Response {
    assert_eq!(headers.get("accept-encoding"), None, "no answer is decompressed");
    let key = headers.get("authorization").map_or("", |key| key.to_str().unwrap()).to_owned();
    asked.0.lock().unwrap().push((body.0.clone(), key));
    if body.0["text"] == "Be slow." {
        // Longer than any test waits.
        tokio::time::sleep(Duration::from_secs(600)).await;
    }
    asked.1(&body.0)
}

async fn checker(decide_by: Decide) -> (String, Asked) {
    let asked = Asked(Arc::default(), decide_by);
    let router = Router::new().route("/check", post(decide)).with_state(asked.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}/check"), asked)
}

async fn world(url: &str, vars: &[(&'static str, &str)]) -> World {
    World::start_with(|options, _| {
        options.vars.push(("DJINN_SAFETY__CONTENT_CHECKER", url.to_owned()));
        options.vars.push(("DJINN_SAFETY__CONTENT_CHECKER_KEY", "env:CHECKER".to_owned()));
        options.vars.push(("CHECKER", "checker-key-1".to_owned()));
        options.vars.extend(vars.iter().map(|(name, value)| (*name, (*value).to_owned())));
    })
    .await
}

fn by_words(asked: &Value) -> Response {
    let verdict = match asked["text"].as_str().unwrap() {
        "Ask badly." | "A bad answer." => json!({"verdict": "refuse", "reason": "It is bad."}),
        "Ask otherwise." => json!({"verdict": "replace", "text": "Ask well."}),
        "A long answer." => json!({"verdict": "replace", "text": "An answer."}),
        _ => json!({"verdict": "allow"}),
    };
    Json(verdict).into_response()
}

#[tokio::test]
async fn it_is_asked_once_about_the_question_and_once_about_the_answer() {
    let (url, asked) = checker(by_words).await;
    let world = world(&url, &[]).await;
    world.model.on("Tell me").reply("Well.");
    let question = Question::of("Tell me.", "s1");
    let run = world.told(&question).await;
    assert_eq!(run.last().unwrap().json()["answer"], "Well.");
    // A repeat joins, and nobody is asked again.
    world.told(&question).await;
    let texts = [("in", "Tell me."), ("out", "Well.")];
    if !always_hands_over() {
        assert_eq!(asked.texts(), texts.map(|(way, text)| (way.to_owned(), text.to_owned())));
    }
    for (body, key) in asked.all() {
        assert_eq!(key, "Bearer checker-key-1");
        assert_eq!((&body["session"], &body["tenant"]), (&json!("s1"), &json!("local")));
        assert!(body["run"].as_str().unwrap().starts_with("run_") && body["user"].is_string());
    }
}

#[tokio::test]
async fn what_it_refuses_is_not_asked_and_not_answered() {
    let (url, _) = checker(by_words).await;
    let world = world(&url, &[]).await;
    let answer = world.post("/runs", &json!({"question": "Ask badly.", "request_id": "r0"})).await;
    assert_eq!(answer.status, 422);
    assert_eq!(
        (&answer.json()["code"], &answer.json()["detail"]),
        (&json!("content_refused"), &json!("It is bad."))
    );
    assert!(world.model.requests().is_empty());
    for (nth, protocol) in Protocol::ALL.into_iter().enumerate() {
        world.model.on("Tell me").reply("A bad answer.");
        let question = Question::of("Tell me.", "s1").request(&format!("r{}", nth + 1));
        let frames = world.ask(protocol, &question).await.rest().await;
        let last = frames.last().unwrap();
        assert!(last.is_final());
        assert!(!last.json().to_string().contains("bad answer"), "{frames:?}");
        if protocol == Protocol::Native {
            let ending = last.json();
            let failure = &ending["failure"];
            assert_eq!(
                (&failure["code"], &failure["detail"]),
                (&json!("content_refused"), &json!("It is bad."))
            );
            let resets = frames.iter().filter(|frame| frame.event() == "message.reset");
            assert_eq!(resets.count(), 1, "what was streamed is void");
        }
        let again = world.told(&question).await;
        assert!(!again.iter().any(|frame| frame.json().to_string().contains("bad answer")));
    }
}

#[tokio::test]
async fn what_it_puts_in_the_place_of_a_text_is_asked_and_answered() {
    let (url, _) = checker(by_words).await;
    let world = world(&url, &[]).await;
    world.model.on("Ask well.").reply("A long answer.");
    let question = Question::of("Ask otherwise.", "s1");
    let frames = world.told(&question).await;
    assert_eq!(frames.last().unwrap().json()["answer"], "An answer.");
    let completed = frames.iter().find(|frame| frame.event() == "message.completed").unwrap();
    assert_eq!(completed.json()["text"], "An answer.");
    assert!(!world.model.requests()[0].text().contains("Ask otherwise."));
    // The same request is the same run.
    assert_eq!(world.told(&question).await.last().unwrap().json()["answer"], "An answer.");
}

fn broken(asked: &Value) -> Response {
    match asked["text"].as_str().unwrap() {
        "Answer 500." => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "Answer 401." => StatusCode::UNAUTHORIZED.into_response(),
        "Redirect." => (StatusCode::FOUND, [("location", "/check")]).into_response(),
        "Say nothing." => "".into_response(),
        "Say garbage." => "<html>".into_response(),
        "Decide otherwise." => Json(json!({"verdict": "perhaps"})).into_response(),
        "Replace by nothing." => Json(json!({"verdict": "replace", "text": " "})).into_response(),
        "Replace by much." => {
            Json(json!({"verdict": "replace", "text": "x".repeat(70_000)})).into_response()
        }
        "Say much." => "x".repeat(1_000_000).into_response(),
        _ => Json(json!({"verdict": "allow"})).into_response(),
    }
}

const BROKEN: [(&str, &str); 10] = [
    ("Answer 500.", "HTTP 500"),
    ("Answer 401.", "HTTP 401"),
    ("Redirect.", "HTTP 302"),
    ("Say nothing.", "cannot be read"),
    ("Say garbage.", "cannot be read"),
    ("Decide otherwise.", "cannot be read"),
    ("Replace by nothing.", "by nothing"),
    ("Replace by much.", "too long"),
    ("Say much.", "too long"),
    ("Be slow.", "more than 200 ms"),
];

#[tokio::test]
async fn without_a_verdict_nothing_passes() {
    let (url, _) = checker(broken).await;
    let world = world(&url, &[("DJINN_SAFETY__CONTENT_CHECKER_TIMEOUT_MS", "200")]).await;
    for (nth, (text, says)) in BROKEN.into_iter().enumerate() {
        let answer = world.post("/runs", &json!({"question": text})).await;
        assert_eq!(answer.status, 503, "{text}: {}", answer.text);
        let refusal = answer.json();
        assert_eq!(
            (&refusal["code"], &refusal["retryable"]),
            (&json!("content_unchecked"), &json!(true))
        );
        let sentence = refusal["message"].as_str().unwrap();
        assert!(sentence.contains(says) && !sentence.contains("checker-key"), "{sentence}");
        assert!(world.model.requests().len() == nth, "{text}");

        world.model.on("Tell me").reply(text);
        let question = Question::of("Tell me.", "s1").request(&format!("r{nth}"));
        let ending = world.ending(&question).await;
        assert_eq!(ending["failure"]["code"], "content_unchecked", "{ending}");
        assert_eq!((&ending["status"], &ending["answer"]), (&json!("failed"), &json!("")));
    }
}

#[tokio::test]
async fn a_deployment_may_let_pass_what_has_no_verdict() {
    let (url, _) = checker(broken).await;
    let vars = [
        ("DJINN_SAFETY__CONTENT_CHECKER_TIMEOUT_MS", "200"),
        ("DJINN_SAFETY__CONTENT_CHECKER_FAILS", "open"),
    ];
    let world = world(&url, &vars).await;
    for (nth, (text, _)) in BROKEN.into_iter().enumerate() {
        world.model.on(text).reply(text);
        let question = Question::of(text, "s1").request(&format!("r{nth}"));
        assert_eq!(world.ending(&question).await["answer"], text);
    }
}

#[tokio::test]
async fn a_checker_that_cannot_be_reached_gives_no_verdict() {
    let world = world("http://127.0.0.1:1/check", &[]).await;
    let answer = world.post("/runs", &json!({"question": "Tell me."})).await;
    assert_eq!((answer.status, &answer.json()["code"]), (503, &json!("content_unchecked")));
}
