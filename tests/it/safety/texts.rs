//! All texts that people tell and models write pass the deny list and the deployment's checker, wherever
//! they come in or go out; a refusal names the field.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::world::{
    Answer, Frame, Options, Protocol, Question, World, employees, planner, summary, task,
};

/// What nobody may say here: to the deny list a phrase, to the checker of these tests too.
const DENIED: &str = "make a bomb";

/// The gate that refuses a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    DenyList,
    Checker,
}

/// What a checker was asked.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<Value>>>);

impl Asked {
    /// The texts of each question, with their fields.
    fn batches(&self) -> Vec<Vec<(String, String)>> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let pair = |one: &Value| (text(&one["field"]), text(&one["text"]));
        let asked = self.0.lock().unwrap();
        asked
            .iter()
            .map(|all| all["texts"].as_array().unwrap().iter().map(pair).collect())
            .collect()
    }

    fn has(&self, field: &str, words: &str) -> bool {
        self.batches().iter().flatten().any(|(of, text)| of == field && text == words)
    }
}

async fn decide(State(asked): State<Asked>, Json(body): Json<Value>) -> Json<Value> {
    asked.0.lock().unwrap().push(body.clone());
    let all = body["text"].as_str().unwrap();
    let words = all.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    Json(match () {
        () if words.contains(DENIED) => {
            json!({"verdict": "refuse", "reason": "Not here."})
        }
        () if all.contains("swap") => {
            let texts = body["texts"].as_array().unwrap().iter();
            let texts = texts.map(|one| one["text"].as_str().unwrap().replace("swap", "plain"));
            json!({"verdict": "replace", "texts": texts.collect::<Vec<_>>()})
        }
        () => json!({"verdict": "allow"}),
    })
}

async fn checker() -> (String, Asked) {
    let asked = Asked::default();
    let router = Router::new().route("/", post(decide)).with_state(asked.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}/"), asked)
}

async fn world(by: By, human_requests: &str) -> (World, Asked) {
    let (url, asked) = checker().await;
    let world = World::start_with(|options: &mut Options, _| {
        options.vars.push(match by {
            By::DenyList => ("DJINN_SAFETY__DENY_LIST", json!([DENIED]).to_string()),
            By::Checker => ("DJINN_SAFETY__CONTENT_CHECKER", url),
        });
        options.vars.push(("DJINN_PEOPLE__REQUESTS", human_requests.to_owned()));
    });
    (world.await, asked)
}

const EACH: [By; 2] = [By::DenyList, By::Checker];

#[track_caller]
fn refused(answer: &Answer, field: &str) {
    assert_eq!(answer.status, 422, "{field}: {}", answer.text);
    let told = answer.json();
    assert_eq!((&told["code"], &told["field"]), (&json!("content_refused"), &json!(field)));
    assert!(!answer.text.to_lowercase().contains("bomb"), "{}", answer.text);
}

fn sent(frames: &[Frame]) -> String {
    frames.iter().map(|frame| frame.json().to_string()).collect()
}

#[tokio::test]
async fn a_questions_own_instructions_are_looked_at_with_it() {
    for by in EACH {
        let (world, asked) = world(by, "{}").await;
        for (path, question, prompt) in
            [("/runs", "question", "base_prompt"), ("/AutoAgent", "query", "basePrompt")]
        {
            let body = json!({question: "How?", prompt: "You MAKE  a bomb."});
            let answer = world.post(path, &body).await;
            match by {
                By::DenyList => refused(&answer, prompt),
                // It said no to both of them.
                By::Checker => assert_eq!(answer.json()["code"], "content_refused"),
            }
            let alone = json!({question: "Make a bomb", prompt: "Be brief."});
            let answer = world.post(path, &alone).await;
            assert_eq!(answer.status, 422, "{}", answer.text);
        }
        assert!(world.model.requests().is_empty());
        if by == By::Checker {
            let both = [("question", "How?"), ("base_prompt", "You MAKE  a bomb.")];
            let both = both.map(|(field, text)| (field.to_owned(), text.to_owned()));
            assert_eq!(asked.batches()[0], both, "one question for all");
        }
    }
}

#[tokio::test]
async fn a_checker_may_replace_every_text_of_a_question() {
    let (world, _) = world(By::Checker, "{}").await;
    world.model.on("How plain?").reply("Very swap.");
    let body = json!({"question": "How swap?", "base_prompt": "Be swap.", "request_id": "r1"});
    let stream = world.ask_with(world.request(Method::POST, "/runs").json(&body)).await;
    let frames = stream.rest().await;
    assert_eq!(frames.last().unwrap().json()["answer"], "Very plain.");
    let sees = &world.model.requests()[0];
    assert!(sees.system().contains("Be plain."), "{}", sees.system());
    assert!(!format!("{}{}", sees.system(), sees.text()).contains("swap"));
    // A repeat is the same run, whatever it was made of.
    let again = world.ask_with(world.request(Method::POST, "/runs").json(&body)).await;
    assert_eq!(again.rest().await.last().unwrap().json()["answer"], "Very plain.");
    assert_eq!(world.model.requests().len(), 1);
}

#[tokio::test]
async fn a_message_to_a_run_is_looked_at_before_the_run_hears_it() {
    for by in EACH {
        let (world, asked) = world(by, "{}").await;
        let rule = world.model.on("What of gold?").reply("Gold is dear.");
        let gate = rule.gate(1);
        rule.then().reply("And silver cheap.");
        let stream = world.ask(Protocol::Native, &Question::of("What of gold?", "s1")).await;
        let path = format!("/runs/{}/messages", stream.run());
        gate.wait_until_reached().await;
        refused(&world.post(&path, &json!({"text": "And make a bomb."})).await, "text");
        let taken = world.post(&path, &json!({"text": "And silver?"})).await;
        assert_eq!(taken.status, 200, "{}", taken.text);
        gate.open();
        let frames = stream.rest().await;
        assert!(!sent(&frames).contains("bomb"), "{frames:?}");
        assert!(!world.model.requests().iter().any(|request| request.text().contains("bomb")));
        assert!(by == By::DenyList || asked.has("text", "And silver?"));
    }
}

/// A plan whose only step waits for a person.
async fn waiting(by: By) -> (World, Asked, String) {
    let (world, asked) = world(by, r#"{"confirm_steps": ["look"], "timeout": 0}"#).await;
    let plan = json!({"command": "create", "title": "Metals", "steps": ["look at gold"]});
    let rule = planner(&world.model).say("I plan.").call("planning", plan);
    rule.then().call("planning", json!({"command": "finish"}));
    employees(&world.model).reply("{}").always();
    task(&world.model, "look at gold").reply("It is dear.");
    summary(&world.model).reply("Gold is dear.");
    let stream = world.ask(Protocol::Native, &Question::of("What of gold?", "s1").deep()).await;
    let run = stream.run();
    let frames = stream.rest().await;
    assert!(frames.iter().any(|frame| frame.event() == "human.requested"), "{frames:#?}");
    (world, asked, run)
}

#[tokio::test]
async fn a_changed_plan_is_looked_at_before_it_is_one() {
    for by in EACH {
        let (world, asked, run) = waiting(by).await;
        let patch = async |body: Value| {
            let request = world.request(Method::PATCH, &format!("/runs/{run}/plan"));
            Answer::of(request.json(&body).send().await.unwrap()).await
        };
        let fields = [
            ("title", json!({"title": "How to make a bomb", "steps": []})),
            ("steps", json!({"steps": [{"id": "s1", "details": "make a bomb"}]})),
            ("steps", json!({"steps": [{"details": "x", "stage": "Make  a BOMB"}]})),
        ];
        for (field, mut body) in fields {
            body["version"] = json!(1);
            if field == "title" {
                body["steps"] = json!([{"id": "s1", "details": "look at gold"}]);
            }
            let answer = patch(body).await;
            match by {
                By::DenyList => refused(&answer, field),
                By::Checker => assert_eq!(answer.json()["code"], "content_refused"),
            }
        }
        let shown = world.get(&format!("/runs/{run}")).await.json();
        assert_eq!(
            (&shown["plan_version"], &shown["plan"]["title"]),
            (&json!(1), &json!("Metals"))
        );
        if by == By::Checker {
            assert!(asked.has("steps", "make a bomb") && asked.has("title", "How to make a bomb"));
        }
    }
}

#[tokio::test]
async fn answers_and_their_comments_are_looked_at_and_may_be_given_again() {
    for by in EACH {
        let (world, asked, run) = waiting(by).await;
        let give = async |body: Value| world.respond(&run, "steps.s1", &body).await;
        refused(&give(json!({"response": "No: make a bomb."})).await, "response");
        refused(&give(json!({"response": "confirm", "comment": "Make a bomb!"})).await, "comment");
        let parameters = json!({"details": "make a bomb"});
        let changed = json!({"response": "modify", "parameters": parameters});
        refused(&give(changed).await, "parameters");
        let taken = give(json!({"response": "confirm", "comment": "Please."})).await;
        assert_eq!(taken.status, 200, "{}", taken.text);
        let audit = world.get(&format!("/runs/{run}/audit")).await.text;
        assert!(audit.contains("Please.") && !audit.contains("bomb"), "{audit}");
        assert!(by == By::DenyList || asked.has("comment", "Please."));
    }
}

#[tokio::test]
async fn titles_and_what_files_are_called_are_looked_at() {
    for by in EACH {
        let (world, asked) = world(by, "{}").await;
        world.model.on("What of gold?").reply("Gold is dear.");
        world.ending(&Question::of("What of gold?", "s1")).await;
        let title = world.post("/sessions/s1/title", &json!({"title": "Make a\nbomb"})).await;
        refused(&title, "title");
        for route in ["upload_file", "upload_url"] {
            let path = format!("/v1/file_tool/{route}");
            let file = json!({"requestId": "s1", "content": "x", "fileSize": 1,
                "fileName": "make a bomb.md", "description": ""});
            refused(&world.post(&path, &file).await, "fileName");
            let file = json!({"requestId": "s1", "content": "x", "fileSize": 1,
                "fileName": "a.md", "description": "How to make a bomb"});
            let answer = world.post(&path, &file).await;
            match by {
                By::DenyList => refused(&answer, "description"),
                By::Checker => assert_eq!(answer.json()["code"], "content_refused"),
            }
        }
        let form = "--b\r\nContent-Disposition: form-data; name=\"requestId\"\r\n\r\ns1\r\n--b\r\n\
            Content-Disposition: form-data; name=\"file\"; filename=\"make a bomb.md\"\r\n\r\nx\r\n--b--\r\n";
        let request = world.request(Method::POST, "/v1/file_tool/upload_file_data");
        let request = request.header("content-type", "multipart/form-data; boundary=b").body(form);
        refused(&Answer::of(request.send().await.unwrap()).await, "file");
        let list = json!({"requestId": "s1"});
        let files = world.post("/v1/file_tool/get_file_list", &list).await.json();
        assert_eq!(files["totalSize"], 0, "{files}");
        let session = world.get("/sessions/s1").await.json();
        assert_eq!(session["title"], "What of gold?");
        assert!(by == By::DenyList || asked.has("title", "Make a bomb"));
    }
}

#[tokio::test]
async fn a_file_that_may_not_be_written_is_not_and_its_model_is_told_why() {
    for by in EACH {
        let (world, asked) = world(by, "{}").await;
        let write = |name: &str, description: &str, content: &str| {
            json!({"command": "upload", "filename": name, "description": description,
                "content": content})
        };
        let calls = [
            write("a.md", "", "First you make a bomb, then"),
            write("b.md", "how to make a bomb", "x"),
            write("make a bomb.md", "", "x"),
        ];
        let rule = world.model.on("Write").say("I write.").calls(calls.map(|it| ("file_tool", it)));
        let rule = rule.then().say("Otherwise.").call("file_tool", write("c.md", "", "fine"));
        rule.then().reply("It is in c.md.").always();
        let frames = world.told(&Question::of("Write it down.", "s1")).await;
        let ending = frames.last().unwrap().json();
        assert_eq!(ending["status"], "finished", "{ending}");
        assert!(!sent(&frames).contains("bomb"), "{frames:?}");
        let outcomes: Vec<Value> = frames
            .iter()
            .filter(|frame| frame.event() == "call.completed")
            .map(|frame| frame.json()["result"]["status"].clone())
            .collect();
        assert_eq!(outcomes, ["failed", "failed", "failed", "done"]);
        let list = json!({"requestId": "s1"});
        let files = world.post("/v1/file_tool/get_file_list", &list).await.json();
        assert_eq!(
            (&files["totalSize"], &files["results"][0]["fileName"]),
            (&json!(1), &json!("c.md"))
        );
        let told = world.model.requests()[1].text().to_owned();
        assert!(told.contains("what may not be said or written here"), "{told}");
        assert!(!told.contains("bomb"), "{told}");
        if by == By::Checker {
            assert!(told.contains("(Not here.)"), "{told}");
            assert!(asked.has("arguments", "First you make a bomb, then"));
        }
    }
}

#[tokio::test]
async fn a_plan_that_may_not_be_shown_is_not_made_and_the_planner_makes_another() {
    for by in EACH {
        let (world, asked) = world(by, "{}").await;
        let plan =
            |title: &str, step: &str| json!({"command": "create", "title": title, "steps": [step]});
        planner(&world.model)
            .say("So.")
            .call("planning", plan("Make a bomb", "look at gold"))
            .then()
            .say("Or so.")
            .call("planning", plan("Metals", "make a bomb"))
            .then()
            .say("Then so.")
            .call("planning", plan("Metals", "look at gold"))
            .then()
            .call("planning", json!({"command": "finish"}));
        employees(&world.model).reply("{}").always();
        task(&world.model, "look at gold").reply("It is dear.");
        summary(&world.model).reply("Gold is dear.");
        let frames = world.told(&Question::of("What of gold?", "s1").deep()).await;
        assert_eq!(frames.last().unwrap().json()["answer"], "Gold is dear.");
        assert!(!sent(&frames).to_lowercase().contains("bomb"), "{frames:?}");
        let plan = frames.iter().find(|frame| frame.event() == "plan.changed").unwrap().json();
        assert_eq!(plan["plan"]["title"], "Metals");
        assert!(by == By::DenyList || asked.has("arguments", "Make a bomb"));
    }
}

#[tokio::test]
async fn what_a_stopped_reply_said_is_kept_only_if_it_may_be() {
    let (world, asked) = world(By::Checker, "{}").await;
    let rule = world.model.on("How?").reply("First you make a bomb. And then more of it.");
    let gate = rule.delta_chars(22).gate(2);
    let mut stream = world.ask(Protocol::Native, &Question::of("How?", "s1")).await;
    stream.until(|frame| frame.received().is_some_and(|f| f.data.contains("First"))).await;
    gate.wait_until_reached().await;
    world.stop(&stream.run()).await;
    stream.rest().await;
    let frames = world.told(&Question::of("How?", "s1")).await;
    assert_eq!(frames.last().unwrap().json()["status"], "stopped");
    assert!(!sent(&frames).contains("bomb"), "{frames:?}");
    assert!(asked.has("text", "First you make a bomb."), "{:?}", asked.batches());
}

/// Every word that is marked, `mk-…`, of what somebody was sent.
fn marks(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| word.starts_with("mk-")).map(str::to_owned).collect()
}

/// The run's frames once it has asked so often, or has ended.
async fn followed(world: &World, run: &str, asked: usize) -> Vec<Frame> {
    loop {
        let frames = world.come_back(run, None).await.rest().await;
        let asks = frames.iter().filter(|frame| frame.event() == "human.requested").count();
        let has_ended = frames.last().is_some_and(|frame| frame.event() == "run.ended");
        if asks >= asked || has_ended {
            return frames;
        }
    }
}

/// Whatever a viewer is sent that a person told or a model wrote, the checker has seen: a new entry, or a
/// new member of one, that shows more fails here.
#[tokio::test]
async fn nothing_is_shown_that_the_checker_has_not_seen() {
    let human_requests = r#"{"clarify": true, "confirm_steps": ["mk-step"], "timeout": 0}"#;
    let (world, asked) = world(By::Checker, human_requests).await;
    let plan = json!({"command": "create", "title": "mk-title", "steps": ["mk-stage: mk-step"]});
    planner(&world.model)
        .reason("mk-thought")
        .say("mk-words")
        .call("ask_user", json!({"questions": ["mk-question"]}))
        .then()
        .say("mk-plans")
        .call("planning", plan)
        .then()
        .say("mk-finish")
        .call("planning", json!({"command": "finish"}));
    employees(&world.model).reply(r#"{"file_tool": "mk-employee"}"#).always();
    let write = json!({"command": "upload", "filename": "mk-file.md", "description": "mk-about",
        "content": "mk-content"});
    let rule = world.model.on_request(|request| {
        !request.offers_tool("planning") && !request.text().contains("# The record")
    });
    rule.reason("mk-mind")
        .say("mk-says")
        .call("file_tool", write)
        .then()
        .reply("mk-report")
        .always();
    summary(&world.model).reply("mk-answer$$$mk-file.md");
    let question = Question::of("mk-asked", "s1").deep();
    let stream = world.ask(Protocol::Native, &question).await;
    let run = stream.run();
    stream.rest().await;
    for (nth, (id, answer)) in [("t1.c1", "mk-reply"), ("steps.s1", "confirm")].iter().enumerate() {
        followed(&world, &run, nth + 1).await;
        let given = json!({"response": answer, "comment": "mk-comment"});
        let given = world.respond(&run, id, &given).await;
        assert_eq!(given.status, 200, "{}", given.text);
    }
    let frames = followed(&world, &run, usize::MAX).await;
    let shown = marks(&sent(&frames));
    let known: BTreeSet<String> =
        asked.batches().iter().flatten().flat_map(|(_, text)| marks(text)).collect();
    let unseen: Vec<_> = shown.difference(&known).collect();
    assert!(unseen.is_empty(), "{unseen:?}");
    for mark in [
        "asked", "title", "words", "thought", "question", "reply", "comment", "answer", "report",
        "file", "about", "content",
    ] {
        assert!(shown.contains(&format!("mk-{mark}")), "{mark} in {shown:?}");
    }
}
