//! A planner that plans what cannot be one: it is told why and goes on, and the run ends.

use std::sync::atomic::{AtomicUsize, Ordering};

use djinn_core::plan::MAX_STEP;
use djinn_scripted::{RecordedRequest, Rule, ScriptedResponse};
use serde_json::{Value, json};

use crate::world::{Frame, Protocol, Question, World, summary, task};

/// The planner's requests for this question.
fn planner(world: &World, question: &str) -> Rule {
    let question = question.to_owned();
    let asks = move |request: &RecordedRequest| {
        request.offers_tool("planning") && request.text().contains(&question)
    };
    world.model.on_request(asks)
}

fn create(steps: &[&str], depends_on: &Value) -> Value {
    json!({"command": "create", "title": "T", "steps": steps, "depends_on": depends_on})
}

fn finish() -> Value {
    json!({"command": "finish"})
}

/// A step as long as one may be.
fn longest() -> String {
    "x".repeat(MAX_STEP)
}

/// What the planner says first, what clients are told of it, and what the planner is told.
type Row = (&'static str, Vec<Value>, Value, &'static str);

fn rows() -> Vec<Row> {
    let too_long = format!("{}x", longest());
    let many: Vec<String> = (1..=101).map(|n| format!("step {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mark = json!({"command": "mark_step", "step_index": 7, "step_status": "completed"});
    let known = create(&["one", "two"], &Value::Null);
    vec![
        (
            "no steps",
            vec![create(&[], &Value::Null)],
            json!({"problem": "empty"}),
            "a plan has at least one step",
        ),
        (
            "too many steps",
            vec![create(&many, &Value::Null)],
            json!({"problem": "too_many", "cap": 100}),
            "a plan has at most 100 steps",
        ),
        (
            "a step too long",
            vec![create(&["one", &too_long], &Value::Null)],
            json!({"problem": "too_long", "number": 2}),
            "step 2 is too long; keep each under 2 KB",
        ),
        (
            "a cycle",
            vec![create(&["one", "two", "three"], &json!([[2], [1], [1]]))],
            json!({"problem": "cycle", "steps": [1, 2]}),
            "steps 1, 2 wait for each other",
        ),
        (
            "a step that waits for itself",
            vec![create(&["one"], &json!([[1]]))],
            json!({"problem": "cycle", "steps": [1]}),
            "steps 1 wait for each other",
        ),
        (
            "an unknown dependency",
            vec![create(&["one", "two"], &json!([[], [3]]))],
            json!({"problem": "unknown_dependency", "number": 2, "on": 3, "steps": 2}),
            "step 2 waits for step 3, but there are 2 steps",
        ),
        (
            "no dependency at all",
            vec![create(&["one"], &json!([[0]]))],
            json!({"problem": "unknown_dependency", "number": 1, "on": 0, "steps": 1}),
            "step 1 waits for step 0, but there are 1 steps",
        ),
        (
            "an unknown step",
            vec![known, mark.clone()],
            json!({"problem": "unknown_step", "asked": "s7", "known": ["s1", "s2"]}),
            "there is no step s7; there are s1, s2",
        ),
        ("no plan to mark", vec![mark], json!({"problem": "no_plan"}), "there is no plan yet"),
        (
            "no command",
            vec![json!({"steps": ["one"]})],
            json!({"problem": "bad_command", "argument": "command"}),
            "`command` is missing or cannot be read",
        ),
        (
            "steps that are none",
            vec![json!({"command": "create", "steps": "one"})],
            json!({"problem": "bad_command", "argument": "steps"}),
            "`steps` is missing or cannot be read",
        ),
        (
            "a step that is a number",
            vec![json!({"command": "create", "steps": ["one", 2]})],
            json!({"problem": "bad_step", "number": 2}),
            "step 2 cannot be read: write each step as a text",
        ),
        (
            "a dependency that is no step",
            vec![create(&["one", "two"], &json!([[], ["the last"]]))],
            json!({"problem": "bad_dependency", "number": 2, "on": "the last"}),
            "step 2 waits for `the last`, which is not the number of a step",
        ),
    ]
}

/// The reasons of the calls that failed, as the client is told them.
fn failures(frames: &[Frame]) -> Vec<Value> {
    let completed = frames.iter().filter(|frame| frame.event() == "call.completed");
    let outcomes = completed.map(|frame| frame.json()["result"].clone());
    let refused = outcomes.filter(|outcome| outcome["status"] == "plan_refused");
    refused.map(|outcome| outcome["error"].clone()).collect()
}

/// The request in which the planner reads what came of its `turn`th reply.
fn read_after(world: &World, run: &str, turn: usize) -> RecordedRequest {
    let call = format!("{run}/t{}/1", turn + 1);
    let requests = world.model.requests();
    requests.into_iter().find(|request| request.header("djinn-call") == Some(&call)).unwrap()
}

/// Lets the planner say something wrong, and then make it good.
async fn goes_on(world: &World, (what, wrong, told, read): Row) {
    let calls = wrong.into_iter().map(|arguments| ("planning", arguments));
    let good = create(&[&longest()], &Value::Null);
    planner(world, what)
        .say("I plan.")
        .calls(calls)
        .then()
        .say("I plan it better.")
        .call("planning", good)
        .then()
        .say("Done.")
        .call("planning", finish());
    let question = Question::of(what, &what.replace(' ', "-")).deep();
    let stream = world.ask(Protocol::Native, &question).await;
    let run = stream.run();
    let frames = stream.rest().await;
    assert_eq!(failures(&frames), [told], "{what}");
    let request = read_after(world, &run, 1);
    assert!(request.text().contains(read), "{what}: {}", request.text());
    let ending = frames.last().unwrap().json();
    assert_eq!((&ending["status"], &ending["answer"]), (&json!("finished"), &json!("So it is.")));
}

#[tokio::test]
async fn a_plan_that_cannot_be_one_is_refused_with_the_reason_and_made_again() {
    let world = World::start().await;
    task(&world.model, "").reply("It is done.").always();
    summary(&world.model).reply("So it is.").always();
    for row in rows() {
        goes_on(&world, row).await;
    }
    world.model.assert_done();
}

#[tokio::test]
async fn the_cap_of_steps_is_the_deployments() {
    let cap = |options: &mut crate::world::Options, _: &djinn_scripted::ScriptedModel| {
        options.vars.push(("DJINN_LIMITS__MAX_PLAN_STEPS", "2".to_owned()));
    };
    let world = World::start_with(cap).await;
    task(&world.model, "").reply("It is done.").always();
    summary(&world.model).reply("So it is.").always();
    let three = vec![create(&["one", "two", "three"], &Value::Null)];
    let told = json!({"problem": "too_many", "cap": 2});
    goes_on(&world, ("three steps", three, told, "a plan has at most 2 steps")).await;
    world.model.assert_done();
}

#[tokio::test]
async fn after_a_plan_that_was_refused_the_planner_is_nudged_twice_and_then_its_words_are_the_answer()
 {
    for protocol in Protocol::ALL {
        let world = World::start().await;
        let rule = planner(&world, "What is it?").say("I plan.");
        let rule = rule.call("planning", create(&[], &Value::Null)).then().reply("Nothing to do.");
        rule.then().reply("Still nothing.").then().reply("It is what it is.");
        let stream = world.ask(protocol, &Question::of("What is it?", "s1").deep()).await;
        let run = stream.run();
        let frames = stream.rest().await;
        let last = frames.last().unwrap();
        assert!(last.is_final(), "{frames:?}");
        let answer = match protocol {
            Protocol::Native => last.json()["answer"].clone(),
            Protocol::Raw | Protocol::Ui => last.raw()["result"].clone(),
        };
        assert_eq!(answer, "It is what it is.", "{protocol:?}");
        assert!(read_after(&world, &run, 1).text().contains("a plan has at least one step"));
        let nudges = |turn| {
            let text = read_after(&world, &run, turn).text().to_owned();
            text.matches("There is no plan yet.").count()
        };
        assert_eq!([1, 2, 3].map(nudges), [0, 1, 2], "{protocol:?}");
        world.model.assert_done();
    }
}

#[tokio::test]
async fn a_planner_that_never_finishes_has_forty_rounds_and_a_summary_of_what_there_is() {
    let world = World::start().await;
    let rounds = AtomicUsize::new(0);
    let one_more = move |_: &RecordedRequest| {
        let round = rounds.fetch_add(1, Ordering::Relaxed) + 1;
        let steps: Vec<String> = (1..=round).map(|n| format!("part {n}: look again")).collect();
        let command = if round == 1 { "create" } else { "update" };
        let plan = json!({"command": command, "title": "T", "steps": steps});
        ScriptedResponse::default().say("One more.").call("planning", plan)
    };
    planner(&world, "Is it done?").respond_with(one_more).always();
    task(&world.model, "").reply("It is not done.").always();
    summary(&world.model).reply("Forty parts, and no end.");
    let question = Question::of("Is it done?", "s1").deep();
    let frames = world.ask(Protocol::Native, &question).await.rest().await;
    let ended = frames.iter().filter(|frame| frame.event() == "child.ended");
    let tasks: Vec<Value> = ended.map(|frame| frame.json()["child"].clone()).collect();
    let expected: Vec<Value> = (1..=40).map(|n| json!(format!("s{n}.1"))).collect();
    assert_eq!(tasks, expected);
    let ending = frames.last().unwrap().json();
    assert_eq!(ending["failure"], json!({"code": "rounds_used_up", "detail": "40"}));
    assert_eq!(ending["status"], "failed");
    assert_eq!(ending["answer"], "Forty parts, and no end.");
    let asked = world.model.last_request().unwrap();
    assert!(asked.text().contains("It is not done."), "{}", asked.text());
    let planned = world.model.requests().iter().filter(|r| r.offers_tool("planning")).count();
    assert_eq!(planned, 40);
    world.model.assert_done();
}
