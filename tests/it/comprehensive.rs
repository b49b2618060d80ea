//! The mode `comprehensive`: solvers side by side, a critic, and its verdict.

use djinn_local::{System, SystemOptions};
use djinn_scripted::{RecordedRequest, ScriptedModel, ScriptedResponse};
use serde_json::{Value, json};

use crate::agents::at;
use crate::world::{Client, Frame, World, always_hands_over, models, quick};

const QUESTION: &str = "Which region grew?";

async fn ask(client: &Client, body: &Value) -> Vec<Frame> {
    let request = client.request(reqwest::Method::POST, "/runs").json(body);
    client.ask_with(request).await.rest().await
}

async fn ask_ensemble(world: &World) -> Vec<Frame> {
    ask(&world.client, &json!({"question": QUESTION, "mode": "comprehensive"})).await
}

/// A system whose model is also its second model.
async fn start() -> World {
    World::start_with(|options, model| {
        let models = models(model, &json!({"key": "env:OPENAI_API_KEY"}));
        let mut settings: Value = serde_json::from_str(&models).unwrap();
        settings["roles"] = json!({"second": "main"});
        options.vars.push(("DJINN_MODELS", settings.to_string()));
        options.vars.push(("OPENAI_API_KEY", "sk-second".to_owned()));
    })
    .await
}

/// Each solver answers at once.
fn script_solvers(model: &ScriptedModel) {
    at(model, "before.c1").reply("North grew, says the plan.");
    at(model, "before.c2").reply("East grew.");
    at(model, "before.c3").reply("West grew, says the second model.");
}

/// The answers in the critic's request, each with its letter.
fn answers(request: &RecordedRequest) -> Vec<(char, String)> {
    let text = request.text();
    let of = |letter: char| {
        let (_, rest) = text.split_once(&format!("# Answer {letter}\n"))?;
        let end = rest.find("# Answer ").unwrap_or(rest.len());
        Some((letter, rest[..end].to_owned()))
    };
    ('A'..='H').map_while(of).collect()
}

/// The critic chooses the answer with these words; without one, it merges the answers.
fn script_verdict(model: &ScriptedModel, words: &'static str) {
    let is_critic = |request: &RecordedRequest| request.offers_tool("give_verdict");
    model.on_request(is_critic).respond_with(move |request| {
        let answers = answers(request);
        let chosen = answers.iter().find(|(_, text)| text.contains(words));
        let choice = chosen.map_or("merged".to_owned(), |(letter, _)| letter.to_string());
        let score = |(letter, _): &(char, String)| {
            json!({"letter": letter, "score": 60, "reason": format!("{letter} is short.")})
        };
        let scores: Vec<Value> = answers.iter().map(score).collect();
        let arguments = json!({"scores": scores, "choice": choice});
        ScriptedResponse::default().call("give_verdict", arguments)
    });
}

fn of_type(frames: &[Frame], name: &str) -> Vec<Value> {
    frames.iter().filter(|frame| frame.event() == name).map(Frame::json).collect()
}

fn lanes(frames: &[Frame]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let started = of_type(frames, "child.started");
    started.iter().map(|child| (text(&child["child"]), text(&child["agent"]))).collect()
}

#[tokio::test]
async fn chosen_answer_is_given_unchanged_after_three_lanes_and_one_verdict() {
    let world = start().await;
    script_solvers(&world.model);
    script_verdict(&world.model, "East");
    let frames = ask_ensemble(&world).await;
    let expected = [("before.c1", "plan_solve"), ("before.c2", "react"), ("before.c3", "react")];
    let expected = expected.map(|(child, agent)| (child.to_owned(), agent.to_owned()));
    assert_eq!(lanes(&frames), expected);
    let verdicts = of_type(&frames, "verdict.given");
    let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert_eq!(verdict["chosen"], "before.c2");
    let scores = verdict["scores"].as_array().unwrap();
    let letters: Vec<_> = scores.iter().map(|score| score["letter"].as_str().unwrap()).collect();
    assert_eq!(letters, ["A", "B", "C"]);
    assert!(scores.iter().all(|score| score["score"] == 60));
    let ended = frames.last().unwrap().json();
    assert_eq!((&ended["status"], &ended["answer"]), (&json!("finished"), &json!("East grew.")));
    assert_eq!(ended["spent"]["model_calls"], 4, "a chosen answer costs one call of the critic");
}

#[tokio::test]
async fn critic_sees_letters_and_no_names() {
    let world = start().await;
    script_solvers(&world.model);
    script_verdict(&world.model, "East");
    ask_ensemble(&world).await;
    let requests = world.model.requests();
    let critic = requests.iter().find(|request| request.offers_tool("give_verdict")).unwrap();
    assert!(critic.system().starts_with("You are the critic of Djinn."), "{}", critic.system());
    assert_eq!(answers(critic).len(), 3);
    let text = critic.text();
    assert!(!text.contains("plan_solve") && !text.contains("before.c"), "{text}");
    let tools: Vec<&str> = critic.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["give_verdict"]);
    let schema = &critic.tools()[0].schema;
    assert_eq!(schema["properties"]["choice"]["enum"], json!(["A", "B", "C", "merged"]));
}

#[tokio::test]
async fn merged_answer_is_the_text_of_the_critic() {
    let world = start().await;
    script_solvers(&world.model);
    script_verdict(&world.model, "no answer says this");
    at(&world.model, "").reply("North, East and West grew.");
    let frames = ask_ensemble(&world).await;
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["answer"], "North, East and West grew.");
    assert_eq!(ended["spent"]["model_calls"], 5);
    let verdicts = of_type(&frames, "verdict.given");
    assert!(verdicts.len() == 1 && verdicts[0]["chosen"].is_null(), "{verdicts:?}");
    let previews = of_type(&frames, "preview");
    let is_streamed = previews.iter().any(|preview| preview["message"] == "t2");
    // A client that comes back after each record may miss the previews between.
    assert!(is_streamed || always_hands_over(), "the answer streams");
}

#[tokio::test]
async fn solver_that_fails_fails_neither_the_others_nor_the_run() {
    let world = start().await;
    at(&world.model, "before.c1").reply("North grew, says the plan.");
    at(&world.model, "before.c2").error(400, "invalid_request_error", Some("broken"), "No.");
    at(&world.model, "before.c3").reply("West grew, says the second model.");
    script_verdict(&world.model, "West");
    let frames = ask_ensemble(&world).await;
    let ends = of_type(&frames, "child.ended");
    let status =
        |child: &str| ends.iter().find(|end| end["child"] == child).unwrap()["status"].clone();
    assert_eq!(status("before.c2"), "failed");
    assert_eq!((status("before.c1"), status("before.c3")), (json!("finished"), json!("finished")));
    let verdict = &of_type(&frames, "verdict.given")[0];
    assert_eq!(verdict["scores"].as_array().unwrap().len(), 2);
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["answer"], "West grew, says the second model.");
}

#[tokio::test]
async fn without_a_second_model_two_solvers_answer() {
    let world = World::start().await;
    at(&world.model, "before.c1").reply("North grew, says the plan.");
    at(&world.model, "before.c2").reply("East grew.");
    script_verdict(&world.model, "North");
    let frames = ask_ensemble(&world).await;
    assert_eq!(lanes(&frames).len(), 2);
    assert_eq!(frames.last().unwrap().json()["answer"], "North grew, says the plan.");
}

#[tokio::test]
async fn joyagent_shows_the_verdict_as_a_thought_and_the_answer_as_the_result() {
    let world = start().await;
    script_solvers(&world.model);
    script_verdict(&world.model, "East");
    let body = json!({"query": QUESTION, "sessionId": "s1", "requestId": "r1", "agentType": 1, "isStream": true});
    let request = world.request(reqwest::Method::POST, "/AutoAgent").json(&body);
    let frames = world.ask_with(request).await.rest().await;
    let last = frames.last().unwrap().raw();
    assert_eq!(last["resultMap"]["taskSummary"], "East grew.");
    assert_eq!(last["resultMap"]["agentType"], 1);
    let seen: Vec<String> = frames.iter().map(|frame| frame.raw().to_string()).collect();
    assert!(seen.iter().any(|frame| frame.contains("60/100 ✓")), "{seen:#?}");
}

#[tokio::test]
async fn router_hands_over_to_the_ensemble() {
    let world = start().await;
    at(&world.model, "").call("comprehensive", json!({}));
    at(&world.model, "t2.before.c1").reply("North grew, says the plan.");
    at(&world.model, "t2.before.c2").reply("East grew.");
    at(&world.model, "t2.before.c3").reply("West grew, says the second model.");
    script_verdict(&world.model, "North");
    let frames = ask(&world.client, &json!({"question": QUESTION, "mode": "router"})).await;
    assert_eq!(lanes(&frames).len(), 3);
    assert_eq!(of_type(&frames, "verdict.given")[0]["chosen"], "t2.before.c1");
    let ended = frames.last().unwrap().json();
    assert_eq!(
        (&ended["status"], &ended["answer"]),
        (&json!("finished"), &json!("North grew, says the plan."))
    );
}

#[tokio::test]
async fn mode_is_listed_and_a_client_that_returns_sees_the_same_verdict() {
    let world = start().await;
    let list = world.get("/modes").await.json();
    let modes = list["modes"].as_array().unwrap();
    let mode = modes.iter().find(|mode| mode["name"] == "comprehensive").unwrap();
    assert_eq!((&mode["title"], &mode["agent_type"]), (&json!("Comprehensive"), &json!(1)));
    script_solvers(&world.model);
    script_verdict(&world.model, "East");
    let body = json!({"question": QUESTION, "mode": "comprehensive", "session_id": "s1", "request_id": "r1"});
    let first = of_type(&ask(&world.client, &body).await, "verdict.given");
    let again = of_type(&ask(&world.client, &body).await, "verdict.given");
    assert_eq!((first.len(), &first), (1, &again));
}

#[tokio::test]
async fn demo_model_answers_in_three_lanes_and_gives_a_verdict() {
    let options = SystemOptions { settings: Some(quick()), ..SystemOptions::default() };
    let system = System::start(options).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let csv = "region,year,sales\nNorth,2021,100\nNorth,2024,150\nSouth,2021,200\nSouth,2024,210\n";
    client.upload("s1", "sales.csv", csv).await;
    let question = "Which region in sales.csv grew fastest?";
    let body = json!({"question": question, "mode": "comprehensive", "session_id": "s1"});
    let frames = ask(&client, &body).await;
    let lanes = lanes(&frames);
    let solvers = lanes.iter().filter(|(child, _)| child.matches('.').count() == 1);
    assert_eq!(solvers.count(), 3, "{lanes:?}");
    let verdicts = of_type(&frames, "verdict.given");
    let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    let ends = of_type(&frames, "child.ended");
    let chosen = ends.iter().find(|end| end["child"] == verdict["chosen"]).unwrap();
    let ended = frames.last().unwrap().json();
    assert_eq!((&ended["status"], &ended["answer"]), (&json!("finished"), &chosen["text"]));
}
