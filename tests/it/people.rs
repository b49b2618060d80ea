//! People beside a run at work: what they tell it, and what they change of its plan.

use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};

use crate::world::{
    Client, Door, Frame, Protocol, Question, Slow, World, employees, planner, summary, task,
};

#[tokio::test]
async fn a_message_is_read_at_the_next_turn_and_the_run_does_not_end_without_it() {
    let world = World::start().await;
    let rule = world.model.on("What of gold?").reply("Gold is dear.");
    let gate = rule.gate(1);
    rule.then().reply("Gold is dear, and silver cheap.");
    let stream = world.ask(Protocol::Native, &Question::of("What of gold?", "s1")).await;
    let run = stream.run();
    gate.wait_until_reached().await;
    let said = json!({"text": "And what of silver?"});
    let named = json!({"text": "And what of silver?", "message_id": "m1"});
    for _ in 0..2 {
        let answer = world.post(&format!("/runs/{run}/messages"), &named).await;
        assert_eq!((answer.status, answer.json()["state"].as_str()), (200, Some("taken")));
    }
    let bad = json!({"text": "And?", "message_id": "a b"});
    let bad = world.post(&format!("/runs/{run}/messages"), &bad).await;
    assert_eq!((bad.status, &bad.json()["field"]), (400, &json!("message_id")));
    gate.open();
    let frames = stream.rest().await;
    let said_times = frames.iter().filter(|frame| frame.event() == "user_message.added").count();
    assert_eq!(said_times, 1);
    let seen = frames.iter().find(|frame| frame.event() == "user_message.added").unwrap().json();
    assert_eq!((&seen["text"], &seen["by"]), (&said["text"], &json!("you")));
    let sees = world.model.wait_for_request(2).await.text().to_owned();
    assert!(sees.contains("The user adds:\nAnd what of silver?"), "{sees}");
    assert_eq!(frames.last().unwrap().json()["answer"], "Gold is dear, and silver cheap.");
    // Whoever did not hear the first time may say it again, also to a run that has ended.
    let again = world.post(&format!("/runs/{run}/messages"), &named).await;
    assert_eq!((again.status, again.json()["state"].as_str()), (200, Some("taken")));
    let late = world.post(&format!("/runs/{run}/messages"), &said).await;
    assert_eq!((late.status, &late.json()["code"]), (409, &json!("run_ended")));
    let empty = world.post(&format!("/runs/{run}/messages"), &json!({"text": " "})).await;
    assert_eq!((empty.status, &empty.json()["field"]), (400, &json!("text")));
}

#[tokio::test]
async fn who_corrects_an_agent_that_repeats_itself_is_heard() {
    let world = World::start().await;
    world.upload("s1", "a.md", "As ever.").await;
    let get = json!({"command": "get", "filename": "a.md"});
    let mut rule = world.model.on("What of gold?");
    for _ in 0..3 {
        rule = rule.say("I look.").call("file_tool", get.clone()).then();
    }
    let rule = rule.say("I look.").call("file_tool", get);
    let gate = rule.gate(1);
    rule.then().reply("Gold is dear.");
    let stream = world.ask(Protocol::Native, &Question::of("What of gold?", "s1")).await;
    let run = stream.run();
    gate.wait_until_reached().await;
    let said = json!({"text": "It is not in there. Say what you know."});
    world.post(&format!("/runs/{run}/messages"), &said).await;
    gate.open();
    let end = stream.rest().await.last().unwrap().json();
    assert_eq!((&end["status"], &end["answer"]), (&json!("finished"), &json!("Gold is dear.")));
    assert!(world.model.wait_for_request(5).await.text().contains("Say what you know."));
}

/// A plan of two steps one after the other, whose first is held.
async fn held(
    client: &Client,
    slow: &Slow,
    model: &ScriptedModel,
) -> (String, crate::world::Stream) {
    planner(model)
        .say("One after the other.")
        .call(
            "planning",
            json!({
                "command": "create", "title": "Metals", "steps": ["gold", "silver"],
                "depends_on": [[], [1]],
            }),
        )
        .then()
        .call("planning", json!({"command": "finish"}));
    task(model, "gold").call("slow", json!({})).then().reply("Gold is dear.");
    summary(model).reply("Gold, tin and copper.");
    let question = Question::of("What of the metals?", "s1").deep();
    let stream = client.ask(Protocol::Native, &question).await;
    let run = stream.run();
    slow.started.acquire().await.unwrap().forget();
    (run, stream)
}

#[tokio::test]
async fn a_planner_asks_for_what_is_missing_in_the_chat_and_shows_its_plan_first() {
    let human_requests = r#"{"clarify": true, "confirm_plan": true, "timeout": 0}"#;
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", human_requests.to_owned()));
    })
    .await;
    let plan = |step: &str| json!({"command": "create", "steps": [step]});
    planner(&world.model)
        .say("I need to know more.")
        .call("ask_user", json!({"questions": ["Which metal?"]}))
        .then()
        .say("Then so.")
        .call("planning", plan("look at gold"))
        .then()
        .say("Better so.")
        .call("planning", plan("look at silver"))
        .then()
        .call("planning", json!({"command": "finish"}));
    employees(&world.model).reply("{}").always();
    task(&world.model, "look at silver").reply("It is cheap.");
    summary(&world.model).reply("Silver is cheap.");
    let question = Question::of("What of the metal?", "s1").deep();
    let frames = world.ask(Protocol::Ui, &question).await.rest().await;
    let last = frames.last().unwrap().json();
    assert_eq!(last["finished"], true);
    assert!(last["response"].as_str().unwrap().contains("Which metal?"), "{last}");

    let says = async |words: &str, request: &str| {
        let said = Question::new(words).session("s1").request(request).deep();
        let frames = world.ask(Protocol::Ui, &said).await.rest().await;
        frames.last().unwrap().json()["response"].as_str().unwrap().to_owned()
    };
    let shown = says("The shiny one.", "r2").await;
    let shown = if shown.contains("planning") { shown } else { says("continue", "r3").await };
    assert!(shown.contains("look at gold"), "{shown}");
    assert!(world.model.wait_for_request(2).await.text().contains("The shiny one."));
    let again = says("Look at silver instead.", "r4").await;
    let again = if again.contains("planning") { again } else { says("continue", "r5").await };
    assert!(again.contains("look at silver"), "{again}");
    let mut end = says("yes", "r6").await;
    if !end.contains("Silver is cheap") {
        end = says("continue", "r7").await;
    }
    assert!(end.contains("Silver is cheap."), "{end}");
    world.model.assert_done();
}

#[tokio::test]
async fn what_has_not_begun_of_a_plan_is_changed_and_a_stale_change_is_shown_the_plan() {
    let model = ScriptedModel::start().await.unwrap();
    let slow = Slow::new();
    let mut door = Door::open(
        &model,
        |_| {},
        |parts| parts.ports.tools = parts.ports.tools.clone().with_tool(slow.clone()),
    );
    let client = door.listen().await;
    task(&model, "tin").reply("Tin is cheap.");
    task(&model, "copper").reply("Copper is red.");
    let (run, stream) = held(&client, &slow, &model).await;
    let path = format!("/runs/{run}/plan");
    let shown = client.get(&format!("/runs/{run}")).await.json();
    assert_eq!((&shown["plan_version"], &shown["plan"]["title"]), (&json!(1), &json!("Metals")));
    let patch = async |version: u32, steps: Value| {
        let body = json!({"version": version, "steps": steps});
        let request = client.request(reqwest::Method::PATCH, &path).json(&body);
        crate::world::Answer::of(request.send().await.unwrap()).await
    };
    let steps = json!([
        {"id": "s2", "details": "tin"},
        {"details": "copper", "depends_on": ["s2"]},
    ]);
    let stale = patch(7, steps.clone()).await;
    assert_eq!((stale.status, &stale.json()["code"]), (409, &json!("plan_changed")));
    assert_eq!(stale.json()["plan"]["steps"][1]["details"], "silver");
    let circle = patch(1, json!([{"id": "x", "details": "x", "depends_on": ["x"]}])).await;
    assert_eq!((circle.status, &circle.json()["code"]), (400, &json!("invalid_field")));
    let odd = patch(1, json!([{"detail": "x"}])).await;
    assert_eq!((odd.status, &odd.json()["field"]), (400, &json!("steps[0].detail")));
    let changed = patch(1, steps.clone()).await;
    assert_eq!((changed.status, &changed.json()["version"]), (200, &json!(2)), "{}", changed.text);
    let words = |plan: &Value| {
        let steps = plan["steps"].as_array().unwrap().iter();
        steps.map(|step| step["details"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(words(&changed.json()["plan"]), ["gold", "tin", "copper"]);
    assert_eq!(patch(1, steps).await.status, 409, "it was read before the change");
    slow.go_on.add_permits(1);
    let frames = stream.rest().await;
    let end = frames.last().map(Frame::json).unwrap();
    assert_eq!(end["answer"], "Gold, tin and copper.");
    let begun: Vec<Value> = frames
        .iter()
        .filter(|frame| frame.event() == "child.started")
        .map(|frame| frame.json()["description"].clone())
        .collect();
    assert_eq!(begun.len(), 3, "{begun:?}");
    assert!(!begun.contains(&json!("silver")));
    let told = "The user changed the plan while its steps were at work: added s3; reworded s2; \
        changed what comes before s2; follow the changed plan.";
    assert!(model.requests().iter().any(|request| request.text().contains(told)));
    let late = patch(2, json!([{"details": "x"}])).await;
    assert_eq!((late.status, &late.json()["code"]), (409, &json!("run_ended")));
}
