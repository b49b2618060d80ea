//! Reviews over HTTP: a reviewer judges the answer before the answer is final.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{add_agent, at, start};
use crate::human_requests::ending;
use crate::world::{Frame, Site, World, planner, summary, task};

const QUESTION: &str = "Which region grew, and by how much?";
const DRAFT: &str = "East grew.";
const ANSWER: &str = "East grew by 4 %.";

fn verdict(word: &str, problems: &[&str], missing: &[&str]) -> String {
    json!({"verdict": word, "problems": problems, "missing": missing}).to_string()
}

fn accept() -> String {
    verdict("accept", &[], &[])
}

fn revise() -> String {
    verdict("revise", &["The claim has no source."], &["The growth in percent."])
}

async fn ask(world: &World, more: &Value) -> (String, Vec<Frame>) {
    let mut body = json!({"question": QUESTION});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let request = world.request(reqwest::Method::POST, "/runs").json(&body);
    let stream = world.ask_with(request).await;
    (stream.run(), stream.rest().await)
}

fn of(frames: &[Frame], event: &str) -> Vec<Value> {
    frames.iter().filter(|frame| frame.event() == event).map(Frame::json).collect()
}

fn one_round() -> Value {
    json!({"review": {"agent": "reviewer", "rounds": 1}})
}

#[tokio::test]
async fn accepted_answer_is_final_at_once() {
    let world = World::start().await;
    at(&world.model, "").reply(ANSWER);
    at(&world.model, "review.1").reply(accept());
    let (run, frames) = ask(&world, &one_round()).await;
    let message = &of(&frames, "message.completed")[0];
    assert_eq!((&message["draft"], &message["answer"]), (&json!(true), &Value::Null));
    let review = &of(&frames, "review.completed")[0];
    assert_eq!(
        (
            &review["id"],
            &review["child"],
            &review["round"],
            &review["accepted"],
            &review["message"]
        ),
        (&json!("review.1.reviewed"), &json!("review.1"), &json!(1), &json!(true), &json!("t1"))
    );
    let end = frames.last().unwrap().json();
    assert_eq!((&end["answer"], &end["review"]), (&json!(ANSWER), &json!("accepted")));
    assert!(of(&frames, "message.reset").is_empty());
    // The reviewer receives both texts as data, and nothing else.
    let requests = world.model.requests();
    let [_, request] = requests.as_slice() else { panic!("{} calls", requests.len()) };
    assert!(request.system().starts_with("You are a reviewer"), "{}", request.system());
    let text = request.text();
    assert!(text.contains(&format!("<untrusted>\n{QUESTION}")), "{text}");
    assert!(text.contains(&format!("<untrusted>\n{ANSWER}")), "{text}");
    assert!(request.tools().is_empty());
    // Whoever comes later sees the same.
    assert_eq!(world.get(&format!("/runs/{run}")).await.json()["review"], "accepted");
    assert_eq!(ending(&world, &run).await["review"], "accepted");
}

#[tokio::test]
async fn criticism_costs_one_turn_and_the_next_answer_replaces_the_draft() {
    let world = World::start().await;
    at(&world.model, "").reply(DRAFT).then().reply(ANSWER);
    at(&world.model, "review.1").reply(revise());
    at(&world.model, "review.2").reply(accept());
    let (_, frames) = ask(&world, &one_round()).await;
    let reset = &of(&frames, "message.reset")[0];
    assert_eq!(
        (&reset["message"], &reset["reason"], &reset["attempt"], &reset["failure"]),
        (&json!("t1"), &json!("review"), &Value::Null, &Value::Null)
    );
    let reviews = of(&frames, "review.completed");
    let [first, second] = reviews.as_slice() else { panic!("{reviews:?}") };
    assert_eq!(first["problems"], json!(["The claim has no source."]));
    assert_eq!(first["missing"], json!(["The growth in percent."]));
    assert_eq!((&first["accepted"], &second["accepted"]), (&json!(false), &json!(true)));
    let end = frames.last().unwrap().json();
    assert_eq!((&end["answer"], &end["review"]), (&json!(ANSWER), &json!("accepted")));
    // The agent reads the criticism after its draft.
    let requests = world.model.requests();
    let request = &requests[2];
    let note = request.last_user_text();
    assert!(note.starts_with("A reviewer read your answer"), "{note}");
    assert!(note.contains("<untrusted>\n- The claim has no source.\n</untrusted>"), "{note}");
    assert!(note.contains("- The growth in percent."), "{note}");
    assert_eq!(request.text().matches(DRAFT).count(), 1, "{}", request.text());
    assert_eq!(end["spent"]["model_calls"], 4);
}

#[tokio::test]
async fn answer_that_is_never_accepted_stands_and_is_marked() {
    let world = World::start().await;
    at(&world.model, "").reply("East.").then().reply(DRAFT).then().reply(ANSWER);
    for review in ["review.1", "review.2", "review.3"] {
        at(&world.model, review).reply(revise());
    }
    let (_, frames) = ask(&world, &json!({"review": {"agent": "reviewer", "rounds": "2"}})).await;
    let end = frames.last().unwrap().json();
    assert_eq!((&end["status"], &end["answer"]), (&json!("finished"), &json!(ANSWER)));
    assert_eq!(end["review"], "not_accepted");
    assert_eq!(of(&frames, "review.completed").len(), 3);
    assert_eq!(of(&frames, "message.reset").len(), 2, "the last answer is not replaced");
}

#[tokio::test]
async fn failure_of_the_reviewer_or_of_the_revision_leaves_the_draft() {
    let world = World::start().await;
    at(&world.model, "").reply(DRAFT);
    at(&world.model, "review.1").status(400).always();
    let (_, frames) = ask(&world, &one_round()).await;
    let end = frames.last().unwrap().json();
    assert_eq!((&end["status"], &end["answer"]), (&json!("finished"), &json!(DRAFT)));
    assert_eq!((&end["review"], &end["failure"]), (&json!("not_reviewed"), &Value::Null));
    let review = &of(&frames, "review.completed")[0];
    assert_eq!(
        (&review["accepted"], &review["failure"]["code"]),
        (&json!(false), &json!("model_refused"))
    );

    let world = World::start().await;
    at(&world.model, "").reply(DRAFT).then().status(400).always();
    at(&world.model, "review.1").reply(revise());
    let (_, frames) = ask(&world, &one_round()).await;
    let end = frames.last().unwrap().json();
    assert_eq!((&end["status"], &end["answer"]), (&json!("finished"), &json!(DRAFT)));
    assert_eq!(end["review"], "not_accepted");
}

#[tokio::test]
async fn stop_during_a_review_ends_the_run_with_its_draft() {
    let world = World::start().await;
    at(&world.model, "").reply(DRAFT);
    let rule = at(&world.model, "review.1").reply(accept());
    let gate = rule.delta_chars(5).gate(1);
    let mut body = one_round();
    body["question"] = QUESTION.into();
    let request = world.request(reqwest::Method::POST, "/runs").json(&body);
    let mut stream = world.ask_with(request).await;
    stream.until(|frame| frame.event() == "child.started").await;
    gate.wait_until_reached().await;
    // No turn could read a message now.
    let run = stream.run();
    let message = json!({"text": "And West?"});
    assert_eq!(world.post(&format!("/runs/{run}/messages"), &message).await.status, 409);
    assert_eq!(world.stop(&run).await.status, 202);
    let frames = stream.rest().await;
    let end = frames.last().unwrap().json();
    assert_eq!((&end["status"], &end["answer"]), (&json!("stopped"), &json!(DRAFT)));
    assert_eq!(end["review"], Value::Null);
    assert!(frames.iter().any(|frame| frame.event() == "child.ended"));
}

/// A mode whose file has a review.
const DESK: &str =
    "entry: true\nagent_type: 9\ntools: [file_tool]\nreview: {agent: reviewer, rounds: 1}\n";

#[tokio::test]
async fn joyagent_shows_drafts_and_verdicts_as_thoughts() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "desk", DESK, "You receive questions.");
    let world = start(&folder).await;
    at(&world.model, "").reply(DRAFT).then().reply(ANSWER);
    at(&world.model, "review.1").reply(revise());
    at(&world.model, "review.2").reply(accept());
    let body = json!({"query": QUESTION, "sessionId": "s1", "requestId": "r1", "agentType": 9, "isStream": true});
    let request = world.request(reqwest::Method::POST, "/AutoAgent").json(&body);
    let frames = world.ask_with(request).await.rest().await;
    let thoughts: Vec<String> = frames
        .iter()
        .map(Frame::raw)
        .filter(|raw| raw["messageType"] == "tool_thought" && raw["isFinal"] == true)
        .map(|raw| raw["toolThought"].as_str().unwrap().to_owned())
        .collect();
    let rejected = "A reviewer did not accept this answer; another answer follows.";
    let criticism = "Review 1: the answer is not accepted.\n- The claim has no source.\n- The growth in percent.";
    let expected = [
        DRAFT,
        criticism,
        rejected,
        ANSWER,
        "Review 2: the answer is accepted.",
        "The answer is below.",
    ];
    assert_eq!(thoughts, expected, "{thoughts:#?}");
    let last = frames.last().unwrap().raw();
    assert_eq!((&last["result"], &last["finish"]), (&json!(ANSWER), &json!(true)));
    let results = frames.iter().map(Frame::raw).filter(|raw| raw["messageType"] == "result");
    assert_eq!(results.count(), 1, "no draft is a result");
    let seen: String = frames.iter().map(|frame| frame.json().to_string()).collect();
    assert!(!seen.contains("verdict"), "the reviewer's own text is not shown: {seen}");
}

#[tokio::test]
async fn request_overrides_the_review_of_the_mode() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "desk", DESK, "You receive questions.");
    let strict = "parameters:\n  type: object\n  properties: {question: {type: string}, answer: {type: string}}\n\
                  answer: json\nanswer_schema:\n  type: object\n  properties: {verdict: {type: boolean}, \
                  problems: {type: array}}\n  required: [verdict, problems]\n";
    add_agent(&folder, "strict", strict, "You are strict.");
    let world = start(&folder).await;
    at(&world.model, "").reply(ANSWER).always();
    let ended = async |more: Value| {
        let (_, frames) = ask(&world, &more).await;
        frames.last().unwrap().json()
    };
    // Neither `false` nor no rounds asks the reviewer.
    for off in [json!(false), json!({"rounds": 0})] {
        let end = ended(json!({"mode": "desk", "review": off})).await;
        assert_eq!((&end["answer"], &end["review"]), (&json!(ANSWER), &Value::Null));
    }
    assert_eq!(world.model.requests().len(), 2);
    at(&world.model, "review.1")
        .reply(r#"{"verdict": true, "problems": []}"#)
        .then()
        .reply(accept());
    let end = ended(json!({"mode": "desk", "review": {"agent": "strict"}})).await;
    assert_eq!(end["review"], "accepted");
    assert!(world.model.requests()[3].system().starts_with("You are strict."));
    // `true` takes the reviewer of the mode, and `reviewer` for a mode without one.
    let end = ended(json!({"review": true})).await;
    assert_eq!(end["review"], "accepted");
    assert!(world.model.requests()[5].system().starts_with("You are a reviewer"));
}

#[tokio::test]
async fn bad_reviews_are_rejected_with_their_field() {
    let folder = TempDir::new().unwrap();
    let made = "entry: true\ntools: [file_tool]\nafter: file_tool\n";
    add_agent(&folder, "maker", made, "You make files.");
    let world = start(&folder).await;
    for (body, field, says) in [
        (
            json!({"review": 1}),
            "review",
            "must be true, false, or an object with `agent` and `rounds`",
        ),
        (json!({"review": {"agnet": "reviewer"}}), "review", "must be true, false, or an object"),
        (json!({"review": {"rounds": 4}}), "review.rounds", "must be a whole number from 0 to 3"),
        (json!({"review": {"rounds": -1}}), "review.rounds", "must be a whole number from 0 to 3"),
        (json!({"review": {"agent": "reviwer"}}), "review.agent", "did you mean `reviewer`?"),
        (
            json!({"review": {"agent": "writer"}}),
            "review.agent",
            "is `writer`, which cannot judge answers: its `parameters` must be `question` and `answer`",
        ),
        (
            json!({"mode": "maker", "review": true}),
            "review",
            "is not allowed, because a tool makes the answer",
        ),
    ] {
        let mut body = body;
        body["question"] = QUESTION.into();
        let answer = world.post("/runs", &body).await;
        assert_eq!(answer.status, 400, "{body}");
        let error = answer.json();
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("invalid_field"), &json!(field)),
            "{body}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
    assert!(world.model.requests().is_empty());
}

#[tokio::test]
async fn planned_answer_is_reviewed_after_its_summary() {
    let world = World::start().await;
    let create = |steps: &[&str]| json!({"command": "create", "title": "Regions", "steps": steps});
    planner(&world.model)
        .call("planning", create(&["Look up East"]))
        .then()
        .call("planning", json!({"command": "finish"}))
        .then()
        .call("planning", json!({"command": "finish"}));
    task(&world.model, "Look up East").reply("East grew by 4 %.");
    summary(&world.model).reply(DRAFT).then().reply(ANSWER);
    at(&world.model, "review.1").reply(revise());
    at(&world.model, "review.2").reply(accept());
    let (_, frames) = ask(&world, &json!({"mode": "plan_solve", "review": {"rounds": 1}})).await;
    let messages: Vec<Value> = of(&frames, "message.completed")
        .into_iter()
        .filter(|message| message["draft"] == true)
        .map(|message| message["message"].clone())
        .collect();
    assert_eq!(messages, ["summary", "summary.2"]);
    let end = frames.last().unwrap().json();
    assert_eq!((&end["answer"], &end["review"]), (&json!(ANSWER), &json!("accepted")));
    let requests = world.model.requests();
    let last_summary = requests
        .iter()
        .rfind(|request| request.text().contains("# The record of the work"))
        .unwrap();
    let text = last_summary.text();
    assert!(text.contains("# The review of the earlier answer"), "{text}");
    assert!(text.contains(DRAFT) && text.contains("- The claim has no source."), "{text}");
}

#[tokio::test]
async fn router_keeps_the_review_of_its_question() {
    let world = World::start().await;
    at(&world.model, "").call("react", json!({})).then().reply(DRAFT).then().reply(ANSWER);
    at(&world.model, "review.1").reply(revise());
    at(&world.model, "review.2").reply(accept());
    let (_, frames) = ask(&world, &json!({"mode": "router", "review": true})).await;
    let end = frames.last().unwrap().json();
    assert_eq!((&end["answer"], &end["review"]), (&json!(ANSWER), &json!("accepted")));
    assert_eq!(of(&frames, "agent.changed").len(), 1);
}

#[tokio::test]
async fn answer_file_is_written_after_the_review() {
    let folder = TempDir::new().unwrap();
    let file = "entry: true\nanswer: file\nparameters:\n  type: object\n  properties: {task: {type: string}, \
                file_name: {type: string}}\n  required: [task, file_name]\nreview: {agent: reviewer}\n";
    add_agent(&folder, "author", file, "You write.");
    let world = start(&folder).await;
    at(&world.model, "").reply(DRAFT).then().reply(ANSWER);
    at(&world.model, "review.1").reply(revise());
    at(&world.model, "review.2").reply(accept());
    let body =
        json!({"mode": "author", "arguments": {"file_name": "regions.md"}, "session_id": "s1"});
    let (_, frames) = ask(&world, &body).await;
    let end = frames.last().unwrap().json();
    assert_eq!(end["review"], "accepted");
    assert_eq!(end["files"][0]["name"], "regions.md");
    let files = world.get("/sessions/s1/files").await.json();
    let files = files["files"].as_array().unwrap();
    assert_eq!((files.len(), &files[0]["size"]), (1, &json!(ANSWER.len())));
}

const BRIEF: &str = include_str!("../../examples/config/workflows/brief.yaml");

#[tokio::test]
async fn brief_of_the_examples_is_written_from_the_web_and_revised() {
    let site = Site::start().await;
    site.put_page("/pump", "Of pumps", "A heat pump costs 900 gold.");
    let folder = TempDir::new().unwrap();
    let workflows = folder.path().join("workflows");
    std::fs::create_dir_all(&workflows).unwrap();
    std::fs::write(workflows.join("brief.yaml"), BRIEF).unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", path));
        options.vars.push(("DJINN_SEARCH__ENGINES", site.engine("searxng")));
        options.vars.push(("DJINN_EGRESS_ORIGINS", site.url.clone()));
        options.vars.push(("ENGINE_KEY", "engine-key-1".to_owned()));
    })
    .await;
    let rounds = json!({"queries": ["heat pump"]});
    at(&world.model, "s1.1").call("search_round", rounds).then().reply("It costs 900 gold [1].");
    at(&world.model, "s2.1").reply("A heat pump costs 900 gold.");
    at(&world.model, "review.1").reply(revise());
    summary(&world.model).reply("A heat pump costs 900 gold (Of pumps).");
    at(&world.model, "review.2").reply(accept());
    let body = json!({"mode": "brief", "question": "What does a heat pump cost?"});
    let (_, frames) = ask(&world, &body).await;
    let end = frames.last().unwrap().json();
    assert_eq!(end["answer"], "A heat pump costs 900 gold (Of pumps).", "{end}");
    assert_eq!((&end["status"], &end["review"]), (&json!("finished"), &json!("accepted")));
    let reviews = of(&frames, "review.completed");
    assert_eq!(
        (&reviews[0]["message"], &reviews[1]["message"]),
        (&Value::Null, &json!("summary.2"))
    );
    // The closing call knows the results of the steps, and what is wrong with the answer.
    let requests = world.model.requests();
    let closing =
        requests.iter().find(|request| request.text().contains("# The record of the work"));
    let text = closing.unwrap().text();
    assert!(text.contains("It costs 900 gold [1].") && text.contains("## Sources"), "{text}");
    assert!(text.contains("- The claim has no source."), "{text}");
}
