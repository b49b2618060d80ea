//! Models that write their tool calls into the text.

use std::collections::BTreeMap;

use djinn_core::error_code::Failure;
use djinn_core::language::Language;
use serde_json::json;

use crate::world::{Frame, Question, World, summary};

#[tokio::test]
async fn a_call_that_is_written_as_text_is_made_and_never_the_answer() {
    let world = World::start().await;
    world.upload("s1", "sales.csv", "region,sales\nEast,120\n").await;
    let cases: BTreeMap<String, String> =
        serde_json::from_str(include_str!("../corpora/calls-as-text.json")).unwrap();
    for (name, text) in cases {
        let question = format!("What did East sell, as {name} has it?");
        let rule = world.model.on(&question).reply(text);
        rule.then().reply("East sold 120.<｜end▁of▁sentence｜>");
        let question = Question::of(&question, "s1").request(&name);
        let frames = world.told(&question).await;
        let events = frames.iter().filter(|frame| frame.event() == "call.completed");
        let result = events.map(Frame::json).next().unwrap();
        assert!(
            result["result"]["text"].as_str().unwrap().contains("East,120"),
            "{name}: {result}"
        );
        let ending = frames.last().unwrap().json();
        assert_eq!(
            (&ending["status"], &ending["answer"]),
            (&json!("finished"), &json!("East sold 120."))
        );
    }
    world.model.assert_done();
}

/// A call in marks of a template that cannot be read.
const BROKEN: &str =
    "<tool_call>{\"name\": \"file_tool\", \"arguments\": {command: get <</tool_call>";

#[tokio::test]
async fn a_call_in_text_that_cannot_be_read_is_said_once_and_then_ends_the_run_with_its_remedy() {
    let world = World::start().await;
    summary(&world.model).reply("Nothing was read.");
    world.model.on("What did East sell?").reply(BROKEN).then().reply(BROKEN);
    let ending = world.ending(&Question::of("What did East sell?", "s1")).await;
    assert_eq!(ending["failure"]["code"], "calls_written_as_text");
    assert_eq!(ending["answer"], "Nothing was read.");
    let failure: Failure = serde_json::from_value(ending["failure"].clone()).unwrap();
    assert!(failure.sentence(Language::En).contains("`function_call_type`"));
    let told = world.model.requests();
    let hints = told.iter().filter(|request| request.text().contains("through the tool interface"));
    // The second turn and the summary.
    assert_eq!(hints.count(), 2);
}

#[tokio::test]
async fn a_model_that_then_calls_as_it_should_goes_on() {
    let world = World::start().await;
    world.upload("s1", "sales.csv", "region,sales\nEast,120\n").await;
    let get = json!({"command": "get", "filename": "sales.csv"});
    let mut rule = world.model.on("What did East sell?");
    for _ in 0..2 {
        rule = rule.reply(BROKEN).then().call("file_tool", get.clone()).then();
    }
    rule.reply("East sold 120.");
    let ending = world.ending(&Question::of("What did East sell?", "s1")).await;
    assert_eq!(
        (&ending["status"], &ending["answer"]),
        (&json!("finished"), &json!("East sold 120."))
    );
}
