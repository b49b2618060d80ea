//! Work that goes round in circles, and work that calls too many tools.

use djinn_core::tool::EffectClass;
use djinn_scripted::{RecordedRequest, ScriptedModel, ScriptedResponse};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use serde_json::{Value, json};

use crate::world::{
    Door, Frame, Parts, Protocol, Question, World, employees, planner, summary, task,
};

const HINT: &str = "has now been made three times";

/// A model that reads these files by turns, for ever, until it is asked to sum up.
fn reads_in_turn(model: &ScriptedModel, names: &'static [&'static str]) {
    summary(model).reply("It is what it was.").always();
    let reads = move |request: &RecordedRequest| {
        let turn = request.messages().iter().flat_map(|message| &message.results).count();
        let get = json!({"command": "get", "filename": names[turn % names.len()]});
        ScriptedResponse::default().say("I look.").call("file_tool", get)
    };
    model.on("What is new?").respond_with(reads).always();
}

/// How often each request of the loop holds the hint.
fn hints(requests: &[RecordedRequest]) -> Vec<usize> {
    let of_loop = requests.iter().filter(|request| request.offers_tool("file_tool"));
    of_loop.map(|request| request.text().matches(HINT).count()).collect()
}

#[tokio::test]
async fn calls_in_turn_are_hinted_at_once_and_then_end_the_work_with_a_summary() {
    for (names, turns) in
        [(&["a.md"][..], 4), (&["a.md", "b.md"], 6), (&["a.md", "b.md", "c.md"], 8)]
    {
        for protocol in Protocol::ALL {
            let world = World::start().await;
            for name in names {
                world.upload("s1", name, "As ever.").await;
            }
            reads_in_turn(&world.model, names);
            let question = Question::of("What is new?", "s1");
            let frames = world.ask(protocol, &question).await.rest().await;
            let last = frames.last().unwrap();
            assert!(last.is_final(), "{frames:?}");
            let requests = world.model.requests();
            assert_eq!(requests.len(), turns + 1, "{names:?}: its turns, and the summary");
            // The last turn of the loop alone was told.
            let told: Vec<usize> = (1..=turns).map(|turn| usize::from(turn == turns)).collect();
            assert_eq!(hints(&requests), told, "{names:?}");
            if protocol == Protocol::Native {
                let ending = last.json();
                assert_eq!(ending["failure"]["code"], "repeated_calls");
                assert_eq!(ending["failure"]["detail"], "file_tool");
                let found = (&ending["status"], &ending["answer"]);
                assert_eq!(found, (&json!("failed"), &json!("It is what it was.")));
            } else {
                let text = last.raw()["result"].as_str().unwrap().to_owned();
                assert!(
                    text.contains("It is what it was.")
                        && text.contains("kept returning the same result")
                );
            }
        }
    }
}

#[tokio::test]
async fn who_heeds_the_hint_is_let_finish_and_another_result_is_no_repeat() {
    let world = World::start().await;
    world.upload("s1", "a.md", "A").await;
    let get = json!({"command": "get", "filename": "a.md"});
    let mut rule = world.model.on("What is in it?");
    for _ in 0..3 {
        rule = rule.say("I look.").call("file_tool", get.clone()).then();
    }
    rule.reply("A.");
    let ending = world.ending(&Question::of("What is in it?", "s1")).await;
    assert_eq!((&ending["status"], &ending["answer"]), (&json!("finished"), &json!("A.")));
    assert_eq!(hints(&world.model.requests()), [0, 0, 0, 1]);

    // What is read is another text each time.
    let world = World::start().await;
    let mut rule = world.model.on("What becomes of it?");
    for nth in 0..6 {
        let put = json!({"command": "upload", "filename": "a.md", "content": format!("A{nth}")});
        rule = rule.say("I write.").call("file_tool", put).then();
        rule = rule.say("I look.").call("file_tool", get.clone()).then();
    }
    rule.reply("A5.");
    let ending = world.ending(&Question::of("What becomes of it?", "s1")).await;
    assert_eq!((&ending["status"], &ending["answer"]), (&json!("finished"), &json!("A5.")));
    assert_eq!(hints(&world.model.requests()).iter().sum::<usize>(), 0);
    world.model.assert_done();
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_not_asked_for_forty_times() {
    let world = World::start().await;
    summary(&world.model).reply("There is no such thing.");
    let calls = |_: &RecordedRequest| {
        ScriptedResponse::default().call_unknown("dance", json!({"how": "wild"}))
    };
    world.model.on("Dance!").respond_with(calls).always();
    let ending = world.ending(&Question::of("Dance!", "s1")).await;
    assert_eq!(ending["failure"], json!({"code": "repeated_calls", "detail": "dance"}));
    assert_eq!(ending["spent"]["model_calls"], 5);
}

async fn with_bound(calls: &str) -> World {
    let calls = calls.to_owned();
    World::start_with(|options, _| options.vars.push(("DJINN_LIMITS__MAX_TOOL_CALLS", calls))).await
}

fn write(name: &str) -> (&'static str, Value) {
    ("file_tool", json!({"command": "upload", "filename": name, "content": name}))
}

#[tokio::test]
async fn tool_calls_have_a_bound_that_is_never_passed_and_what_there_is_is_summed_up() {
    let world = with_bound("3").await;
    summary(&world.model).reply("Three are written.");
    let rule = world.model.on("Write five.").say("Two.").calls(["1.md", "2.md"].map(write));
    rule.then().say("Three.").calls(["3.md", "4.md", "5.md"].map(write));
    let frames = world.told(&Question::of("Write five.", "s1")).await;
    let ending = frames.last().unwrap().json();
    assert_eq!(ending["failure"], json!({"code": "tool_calls_used_up", "detail": "3"}));
    assert_eq!(
        (&ending["status"], &ending["answer"]),
        (&json!("failed"), &json!("Three are written."))
    );
    assert_eq!(
        (&ending["spent"]["tool_calls"], ending["files"].as_array().unwrap().len()),
        (&json!(3), 3)
    );
    let refused = frames.iter().filter(|frame| frame.event() == "call.completed");
    let refused = refused.filter(|frame| frame.json()["result"]["reason"] == "too_many");
    assert_eq!(refused.count(), 2);
    let run = frames[1].id().unwrap().split(':').next().unwrap().to_owned();
    let shown = world.get(&format!("/runs/{run}")).await.json();
    assert_eq!(shown["budget"]["tool_calls"], json!({"limit": 3, "spent": 3}));
    world.model.assert_done();
}

#[tokio::test]
async fn each_task_of_a_plan_counts_its_own_calls() {
    let world = with_bound("2").await;
    let steps = ["first", "second"];
    let plan = json!({"command": "create", "title": "T", "steps": steps, "depends_on": [[], []]});
    let rule = planner(&world.model).say("I plan.").call("planning", plan);
    rule.then().call("planning", json!({"command": "finish"}));
    employees(&world.model).reply("{}").always();
    for step in steps {
        let one = write(&format!("{step}.md"));
        task(&world.model, step).say("I write.").call(one.0, one.1).then().reply("Written.");
    }
    summary(&world.model).reply("Both.");
    let question = Question::of("Write both.", "s1").deep();
    let frames = world.ask(Protocol::Native, &question).await.rest().await;
    let ending = frames.last().unwrap().json();
    assert_eq!(
        (&ending["status"], &ending["spent"]["tool_calls"]),
        (&json!("finished"), &json!(2))
    );

    let world = with_bound("2").await;
    let plan = json!({"command": "create", "title": "T", "steps": ["much"], "depends_on": [[]]});
    let rule = planner(&world.model).say("I plan.").call("planning", plan);
    rule.then().call("planning", json!({"command": "finish"}));
    employees(&world.model).reply("{}").always();
    let rule = task(&world.model, "much").say("I write.");
    rule.calls(["1.md", "2.md", "3.md"].map(write));
    summary(&world.model).reply("Two.");
    let question = Question::of("Write much.", "s1").deep();
    let frames = world.ask(Protocol::Native, &question).await.rest().await;
    let ended: Vec<Value> =
        frames.iter().filter(|frame| frame.event() == "child.ended").map(Frame::json).collect();
    // Another attempt would only use up more.
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(ended[0]["failure"], json!({"code": "tool_calls_used_up", "detail": "2"}));
    assert_eq!(ended[0]["files"].as_array().unwrap().len(), 2);
    world.model.assert_done();
}

#[tokio::test]
async fn what_was_counted_before_an_interrupt_stays_counted() {
    let model = ScriptedModel::start().await.unwrap();
    let (ledger, points) = (Ledger::default(), Points::new());
    let tool = LedgerTool {
        interrupts: 1,
        ..LedgerTool::new("send", EffectClass::Idempotent, &ledger, &points)
    };
    let look = LedgerTool::new("look", EffectClass::Read, &ledger, &points);
    let change = |parts: &mut Parts| {
        parts.ports.tools = parts.ports.tools.clone().with_tool(tool).with_tool(look);
        parts.settings.run.budget.tool_calls = 2;
    };
    let mut door = Door::open(&model, |_| {}, change);
    let client = door.listen().await;
    summary(&model).reply("It was looked up and sent.");
    let rule = model.on("Look and send.").say("I look.").call("look", json!({}));
    rule.then().say("I send.").call("send", json!({}));
    let question = Question::of("Look and send.", "s1");
    let stream = client.ask(Protocol::Native, &question).await;
    let (run, frames) = (stream.run(), stream.rest().await);
    assert_eq!(frames.last().unwrap().event(), "run.handed_over", "{frames:#?}");
    let shown = client.get(&format!("/runs/{run}")).await.json();
    assert_eq!(shown["budget"]["tool_calls"], json!({"limit": 2, "spent": 1}));
    let again = json!({"text": "continue"});
    assert_eq!(client.post(&format!("/runs/{run}/messages"), &again).await.status, 200);
    let ending = crate::human_requests::ending(&client, &run).await;
    assert_eq!(ending["spent"]["tool_calls"], 2, "{ending}");
    assert_eq!(ending["failure"], json!({"code": "tool_calls_used_up", "detail": "2"}));
    assert_eq!(ending["answer"], "It was looked up and sent.");
    model.assert_done();
}
