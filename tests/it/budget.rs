//! Budgets of a planned run: what its tasks use up counts, and the end says so.

use serde_json::json;

use crate::world::{Frame, Protocol, Question, World, planner, summary, task};

/// The planner makes two steps that do not wait for each other.
fn plans(world: &World) {
    let steps = ["first: look", "second: look"];
    let plan = json!({"command": "create", "title": "T", "steps": steps, "depends_on": [[], []]});
    planner(&world.model).say("Two parts.").call("planning", plan).usage(100, 10, 0);
}

async fn world(name: &'static str, value: &str) -> World {
    let value = value.to_owned();
    World::start_with(|options, _| options.vars.push((name, value))).await
}

async fn told(world: &World) -> Vec<Frame> {
    let question = Question::of("What is there?", "s1").deep();
    world.ask(Protocol::Native, &question).await.rest().await
}

fn ends<'a>(frames: &'a [Frame], event: &'a str) -> impl Iterator<Item = serde_json::Value> + 'a {
    frames.iter().filter(move |frame| frame.event() == event).map(Frame::json)
}

#[tokio::test]
async fn tokens_that_the_tasks_use_up_end_the_run_with_what_there_is() {
    let world = world("DJINN_LIMITS__MAX_TOKENS", "3000").await;
    plans(&world);
    let gate = {
        // It is still reading when the other one's call has used up what there was for all.
        let slow = task(&world.model, "first: look").reply("Never told to the end.");
        slow.gate(1)
    };
    task(&world.model, "second: look").reply("It is there.").usage(5_000, 100, 0);
    summary(&world.model).reply("One of two was found.");
    let frames = told(&world).await;
    gate.open();
    let tasks: Vec<_> = ends(&frames, "child.ended").collect();
    assert_eq!((&tasks[0]["child"], &tasks[0]["status"]), (&json!("s2.1"), &json!("finished")));
    assert_eq!((&tasks[1]["child"], &tasks[1]["status"]), (&json!("s1.1"), &json!("stopped")));
    let ending = ends(&frames, "run.ended").next().unwrap();
    assert_eq!(ending["failure"], json!({"code": "tokens_used_up", "detail": "3000"}));
    assert_eq!(
        (&ending["status"], &ending["answer"]),
        (&json!("failed"), &json!("One of two was found."))
    );
    // What was found is what the summary was written from.
    let asked = world.model.last_request().unwrap();
    assert!(asked.text().contains("It is there."), "{}", asked.text());
    world.model.assert_done();
}

#[tokio::test]
async fn a_task_that_uses_up_its_share_of_the_turns_ends_and_the_planner_sees_it() {
    // Three parts of the 9 turns after the planner's first: one each, and one for what comes later.
    let world = world("DJINN_LIMITS__MAX_RUN_STEPS", "10").await;
    plans(&world);
    let get = |n: u32| json!({"command": "get", "filename": format!("{n}.md")});
    let mut first = task(&world.model, "first: look");
    for n in 0..3 {
        first = first.say("I look further.").call("file_tool", get(n));
        if n < 2 {
            first = first.then();
        }
    }
    task(&world.model, "second: look").reply("It is there.");
    planner(&world.model).say("One of two.").call("planning", json!({"command": "finish"}));
    summary(&world.model).reply("One of two was found.");
    let frames = told(&world).await;
    let ended: Vec<_> = ends(&frames, "child.ended").collect();
    let first = ended.iter().find(|json| json["child"] == "s1.1").unwrap();
    assert_eq!(first["failure"], json!({"code": "steps_used_up", "detail": "3"}));
    assert_eq!(first["spent"]["steps"], 3);
    assert_eq!(ended.len(), 2, "it was not tried again");
    let ending = ends(&frames, "run.ended").next().unwrap();
    assert_eq!((&ending["status"], &ending["spent"]["steps"]), (&json!("finished"), &json!(6)));
    world.model.assert_done();
}

#[tokio::test]
async fn the_time_of_a_planned_run_leaves_some_for_its_summary() {
    let world = world("DJINN_LIMITS__MAX_SECONDS", "20").await;
    plans(&world);
    for words in ["first: look", "second: look"] {
        task(&world.model, words).say("For ever").hang_after(2).always();
    }
    // If the tasks' own end is heard in time, the planner has a word too.
    planner(&world.model).say("I wait").hang_after(1).always();
    summary(&world.model).reply("Nothing was found in time.");
    let frames = told(&world).await;
    let ending = ends(&frames, "run.ended").next().unwrap();
    assert_eq!(ending["failure"], json!({"code": "time_used_up", "detail": "20"}));
    assert_eq!(ending["answer"], "Nothing was found in time.");
    assert!(ending["took_ms"].as_u64().unwrap() < 20_000, "{ending}");
}
