//! A planner that answers in words, finishes early, or writes its plan as other models do.

use djinn_scripted::RecordedRequest;
use serde_json::{Value, json};

use crate::world::{Frame, Protocol, Question, World, planner, summary, task};

fn finish() -> Value {
    json!({"command": "finish"})
}

fn answer(protocol: Protocol, last: &Frame) -> Value {
    match protocol {
        Protocol::Native => last.json()["answer"].clone(),
        Protocol::Raw | Protocol::Ui => last.raw()["result"].clone(),
    }
}

#[tokio::test]
async fn a_greeting_in_deep_mode_is_answered_by_the_planners_first_words() {
    for protocol in Protocol::ALL {
        let world = World::start().await;
        planner(&world.model).reply("Hello! What shall I look into?");
        let question = Question::of("Good morning", "s1").deep();
        let frames = world.ask(protocol, &question).await.rest().await;
        let last = frames.last().unwrap();
        assert!(last.is_final(), "{frames:?}");
        assert_eq!(answer(protocol, last), "Hello! What shall I look into?", "{protocol:?}");
        assert_eq!(world.model.requests().len(), 1, "{protocol:?}");
        world.model.assert_done();

        // The next question of the session knows it.
        planner(&world.model).reply("You are welcome.");
        let thanks = Question::new("Thanks").session("s1").request("r2").deep();
        world.ask(protocol, &thanks).await.rest().await;
        assert!(world.model.wait_for_request(2).await.text().contains("What shall I look into?"));
    }
}

#[tokio::test]
async fn a_planners_answer_in_two_pieces_is_put_together_by_the_summary() {
    let world = World::start().await;
    planner(&world.model)
        .reply("Once upon")
        .finish("length")
        .then()
        .reply(" a time there was a dragon.");
    summary(&world.model).reply("Once upon a time there was a dragon.");
    let question = Question::of("Tell me a story", "s1").deep();
    let ending = world.ending(&question).await;
    assert_eq!(ending["answer"], "Once upon a time there was a dragon.");
    world.model.assert_done();
}

#[tokio::test]
async fn once_there_is_a_plan_the_planners_words_end_the_work_and_are_summed_up() {
    let world = World::start().await;
    planner(&world.model)
        .say("One step.")
        .call("planning", json!({"command": "create", "steps": ["gold"]}))
        .then()
        .reply("That is all.");
    task(&world.model, "gold").reply("Gold is dear.");
    summary(&world.model).reply("Gold is dear, in short.");
    let question = Question::of("What of gold?", "s1").deep();
    assert_eq!(world.ending(&question).await["answer"], "Gold is dear, in short.");
    world.model.assert_done();
}

#[tokio::test]
async fn steps_that_never_began_are_skipped_when_the_planner_finishes() {
    let world = World::start().await;
    let plan = json!({
        "command": "create", "title": "Metals", "steps": ["gold", "silver", "both"],
        "depends_on": [[], [1], [1, 2]],
    });
    planner(&world.model)
        .say("One after the other.")
        .call("planning", plan)
        .then()
        .say("Gold is enough.")
        .call("planning", finish());
    task(&world.model, "gold").reply("Gold is dear.");
    task(&world.model, "silver").error(400, "invalid_request_error", None, "no").always();
    summary(&world.model).reply("Gold it is.");
    let stream = world.ask(Protocol::Native, &Question::of("Which metal?", "s1").deep()).await;
    let run = stream.run();
    let frames = stream.rest().await;
    let statuses = |plan: &Value| {
        let steps = plan["steps"].as_array().unwrap().iter();
        steps.map(|step| step["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let left = ["completed", "blocked", "skipped"];
    let mut plans = frames.iter().filter(|frame| frame.event() == "plan.changed");
    assert_eq!(statuses(&plans.next_back().unwrap().json()["plan"]), left);
    world.settled(&run).await;
    let shown = world.get(&format!("/runs/{run}")).await.json();
    assert_eq!(statuses(&shown["plan"]), left, "{shown}");
    let kept = world.follow(&format!("{}/v1/file_tool/preview/s1/TODO.md", world.url)).await;
    assert!(kept.text.contains("- [ ] s3 both (skipped)\n"), "{}", kept.text);
    assert!(kept.text.contains("- [x] s1 gold\n"), "{}", kept.text);

    // JoyAgent's UI has no word for it, and shows what did not begin as that.
    let again = Question::of("Which metal?", "s1").deep();
    let frames = world.ask(Protocol::Raw, &again).await.rest().await;
    let events = frames.iter().filter(|frame| frame.received().is_some()).map(Frame::raw);
    let plans: Vec<Value> = events.filter(|event| event["messageType"] == "plan").collect();
    let left = json!(["completed", "blocked", "not_started"]);
    assert_eq!(plans.last().unwrap()["plan"]["stepStatus"], left);
}

#[tokio::test]
async fn a_plan_is_understood_as_other_models_write_it() {
    let world = World::start().await;
    summary(&world.model).reply("So it is.").always();
    task(&world.model, "").reply("It is done.").always();
    let plans = [
        json!({"command": "create", "steps": ["Search: gold", "Search: silver", "Report: both"],
            "depends_on": [[], "none", ["Step 1", "silver"]]}),
        json!({"command": "Create", "steps": [
            {"id": "a", "title": "Search", "description": "gold", "depends_on": []},
            {"id": "b", "title": "Search", "description": "silver", "depends_on": null},
            {"id": "c", "title": "Report", "description": "both", "depends_on": ["a", "b"]}]}),
        json!({"command": "create", "steps": "- Search: gold\n- Search: silver\n- Report: both",
            "depends_on": {"3": ["1", "2"]}}),
    ];
    for (nth, plan) in plans.into_iter().enumerate() {
        let asks = format!("Gold or silver? ({nth})");
        let of_it = asks.clone();
        let rule = world.model.on_request(move |request: &RecordedRequest| {
            request.offers_tool("planning") && request.text().contains(&of_it)
        });
        rule.say("I plan.").call("planning", plan.clone()).then().call("planning", finish());
        let question = Question::of(&asks, &format!("s{nth}")).deep();
        let frames = world.ask(Protocol::Native, &question).await.rest().await;
        let planned = frames.iter().find(|frame| frame.event() == "plan.changed");
        let planned = planned.unwrap_or_else(|| panic!("{plan}: {frames:#?}")).json();
        let steps = planned["plan"]["steps"].as_array().unwrap().iter();
        let steps: Vec<Value> =
            steps.map(|step| json!([step["stage"], step["details"], step["depends_on"]])).collect();
        let wanted = json!([
            ["Search", "gold", []],
            ["Search", "silver", []],
            ["Report", "both", ["s1", "s2"]],
        ]);
        assert_eq!(json!(steps), wanted, "{plan}");
        assert_eq!(frames.last().unwrap().json()["status"], "finished");
    }
    world.model.assert_done();
}
