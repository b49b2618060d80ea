//! What tools say while they work, over HTTP: shown as it comes, a few times a second, and kept nowhere.

use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};

use crate::world::{
    Door, Frame, Protocol, Question, Reporting, Stream, planner, settled, summary, task,
};

/// A system with a tool that reports.
fn door(model: &ScriptedModel, tool: &Reporting) -> Door {
    Door::open(
        model,
        |_| {},
        |parts| {
            parts.ports.tools = parts.ports.tools.clone().with_tool(tool.clone());
        },
    )
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// The next piece of progress, and all frames up to it.
async fn next_piece(stream: &mut Stream) -> (Value, Vec<Frame>) {
    let frames = stream.until(|frame| frame.event() == "progress").await;
    (frames.last().unwrap().json(), frames)
}

#[tokio::test]
async fn what_a_tool_says_is_shown_before_its_result_and_kept_nowhere() {
    let model = ScriptedModel::start().await.unwrap();
    let tool = Reporting::new([lines(&["page 1 of 3"]), lines(&["page 2 of 3", "page 3 of 3"])]);
    let mut door = door(&model, &tool);
    let client = door.listen().await;
    model.on("What is there?").say("I look.").call("crawl", json!({})).then().reply("Three pages.");
    let question = Question::of("What is there?", "s1");
    let mut stream = client.ask(Protocol::Native, &question).await;
    let run = stream.run();
    let (first, before) = next_piece(&mut stream).await;
    assert_eq!(before[before.len() - 2].event(), "call.requested", "{before:#?}");
    assert_eq!(first["call"], "t1.c1");
    assert_eq!((&first["offset"], &first["text"]), (&json!(0), &json!("page 1 of 3\n")));
    // Who watches from elsewhere is shown the same, through the live log.
    let mut viewer = client.come_back(&run, None).await;
    let (seen, _) = next_piece(&mut viewer).await;
    assert_eq!(
        (&seen["call"], &seen["text"], &seen["began_at_ms"]),
        (&first["call"], &first["text"], &first["began_at_ms"])
    );
    tool.go_on.add_permits(1);
    let (second, _) = next_piece(&mut stream).await;
    assert_eq!(second["offset"], 12);
    assert!(second["text"].as_str().unwrap().starts_with("page 2 of 3\n"), "{second}");
    tool.go_on.add_permits(1);
    let rest = stream.rest().await;
    assert_eq!(rest.last().unwrap().json()["answer"], "Three pages.");
    let place = |name: &str| rest.iter().rposition(|frame| frame.event() == name);
    assert!(place("progress") < place("call.completed"), "{rest:#?}");
    assert!(viewer.rest().await.last().unwrap().is_final());

    let journal = settled(&door.ports, &run).await;
    let kept = serde_json::to_string(&journal).unwrap();
    assert!(kept.contains("Three pages.") && !kept.contains("of 3"), "{kept}");
    let again = client.ask(Protocol::Native, &question).await.rest().await;
    let pieces = again.iter().filter(|frame| frame.event() == "progress").count();
    assert_eq!(pieces, 0, "the history has none");
}

#[tokio::test]
async fn ten_thousand_reports_are_four_pieces_a_second_and_none_is_lost() {
    let model = ScriptedModel::start().await.unwrap();
    let all: Vec<String> = (0..10_000).map(|nth| format!("{}", nth % 100)).collect();
    let tool = Reporting::new(all.chunks(2_000).map(<[String]>::to_vec));
    let mut door = door(&model, &tool);
    let client = door.listen().await;
    model.on("What is there?").say("I look.").call("crawl", json!({})).then().reply("Much.");
    let mut stream = client.ask(Protocol::Native, &Question::of("What is there?", "s1")).await;
    let mut pieces: Vec<Value> = Vec::new();
    for _ in &tool.parts {
        pieces.push(next_piece(&mut stream).await.0);
        tool.go_on.add_permits(1);
    }
    let rest = stream.rest().await;
    assert!(rest.last().unwrap().is_final());
    pieces.extend(rest.iter().filter(|frame| frame.event() == "progress").map(Frame::json));
    let said: String = pieces.iter().map(|piece| piece["text"].as_str().unwrap()).collect();
    let expected: String = all.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(said, expected);
    let moments: Vec<i64> = pieces.iter().map(|piece| piece["at_ms"].as_i64().unwrap()).collect();
    for first in &moments {
        let second = *first..*first + 1_000;
        let count = moments.iter().filter(|at_ms| second.contains(at_ms)).count();
        assert!(count <= 4, "{count} within a second: {moments:?}");
    }
}

#[tokio::test]
async fn what_tasks_tools_say_reaches_viewers_of_the_run_in_their_lanes() {
    let model = ScriptedModel::start().await.unwrap();
    let tool = Reporting::new([lines(&["reading"])]);
    let mut door = door(&model, &tool);
    let client = door.listen().await;
    let steps = ["Gold: look it up", "Silver: look it up"];
    let plan =
        json!({"command": "create", "title": "Prices", "steps": steps, "depends_on": [[], []]});
    let rule = planner(&model).say("Both at once.").call("planning", plan);
    rule.then().say("That is all.").call("planning", json!({"command": "finish"}));
    for step in steps {
        task(&model, step).say("I look.").call("crawl", json!({})).then().reply("It is 9.");
    }
    summary(&model).reply("Nine.");
    let question = Question::of("Gold or silver?", "s1").deep();
    let mut stream = client.ask(Protocol::Native, &question).await;
    let mut tasks = Vec::new();
    while tasks.len() < 2 {
        let (piece, _) = next_piece(&mut stream).await;
        assert_eq!((&piece["call"], &piece["text"]), (&json!("t1.c1"), &json!("reading\n")));
        tasks.push(piece["path"].as_str().unwrap().to_owned());
    }
    tasks.sort();
    assert_eq!(tasks, ["s1.1", "s2.1"]);
    tool.go_on.add_permits(2);
    assert_eq!(stream.rest().await.last().unwrap().json()["answer"], "Nine.");
}

#[tokio::test]
async fn joyagents_protocols_have_no_place_for_it() {
    let model = ScriptedModel::start().await.unwrap();
    let tool = Reporting::new([lines(&["page 1 of 3"])]);
    tool.go_on.add_permits(2);
    let mut door = door(&model, &tool);
    let client = door.listen().await;
    for protocol in [Protocol::Raw, Protocol::Ui] {
        let text = format!("What is there, {protocol:?}?");
        model.on(text.as_str()).say("I look.").call("crawl", json!({})).then().reply("Pages.");
        let question = Question::of(&text, &format!("{protocol:?}"));
        let frames = client.ask(protocol, &question).await.rest().await;
        assert!(frames.last().unwrap().is_final());
        let told = format!("{frames:?}");
        assert!(told.contains("Read.") && !told.contains("of 3"), "{protocol:?}: {told}");
    }
}
