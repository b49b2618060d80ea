//! Models that write their tool calls into the text.

use std::collections::BTreeMap;

use serde_json::json;

use crate::world::{Frame, Question, World};

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
