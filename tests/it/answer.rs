//! What a run answers: its last reply, once, with the files that it names; and what is said where a model
//! says nothing.

use djinn_local::{System, SystemOptions};
use djinn_scripted::{RecordedRequest, Rule};
use serde_json::{Value, json};

use crate::world::{
    Client, Frame, Protocol, QUESTION, Question, SALES, UiState, World, employees, planner, quick,
    summary, task,
};

/// A system with the demo model, and a client with a file of sales.
async fn demo(summary: &'static str) -> (System, Client) {
    let options = SystemOptions {
        settings: Some(quick()),
        var: Box::new(move |name| (name == "DJINN_MODES__SUMMARY").then(|| summary.to_owned())),
        ..SystemOptions::default()
    };
    let system = System::start(options).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    client.upload("s1", "sales.csv", SALES).await;
    (system, client)
}

fn entries<'a>(frames: &'a [Frame], event: &'a str) -> impl Iterator<Item = Value> + 'a {
    let is = move |frame: &&Frame| frame.received().is_some() && frame.event() == event;
    frames.iter().filter(is).map(Frame::json)
}

/// What JoyAgent's page shows in the end: the texts of its items.
fn shown(protocol: Protocol, frames: &[Frame]) -> Vec<String> {
    let mut ui = UiState::default();
    for frame in frames.iter().filter(|frame| frame.received().is_some()) {
        match protocol {
            Protocol::Ui => ui.take(frame.received().unwrap()),
            _ => ui.raw(&frame.json()),
        }
    }
    let text = |(_, _, value): &(String, String, Value)| match value {
        Value::String(text) => text.clone(),
        event => event["result"].as_str().unwrap_or_default().to_owned(),
    };
    ui.items.iter().map(text).collect()
}

#[tokio::test]
async fn the_demos_answer_is_written_and_read_once() {
    let (_system, client) = demo("").await;
    let question = Question::of(QUESTION, "s1");
    let frames = client.ask(Protocol::Native, &question).await.rest().await;
    let ending = frames.last().unwrap().json();
    let answer = ending["answer"].as_str().unwrap();
    assert!(answer.contains("grew fastest") && answer.contains("growth.md"), "{answer}");
    assert_eq!(ending["spent"]["model_calls"], 3, "it reads, writes and answers");
    assert_eq!(ending["files"][0]["name"], "growth.md");
    let said: Vec<Value> =
        entries(&frames, "message.completed").filter(|said| said["text"] == answer).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!((&said[0]["message"], &said[0]["answer"]), (&json!("t3"), &json!(true)));
    let others = entries(&frames, "message.completed").filter(|said| said["answer"] == true);
    assert_eq!(others.count(), 1);

    for protocol in [Protocol::Raw, Protocol::Ui] {
        let driven = Question::of(QUESTION, "s1").request(&format!("{protocol:?}"));
        for question in [&question, &driven] {
            let frames = client.ask(protocol, question).await.rest().await;
            let result = frames.last().unwrap().raw();
            assert_eq!(
                (&result["messageType"], &result["finish"]),
                (&json!("result"), &json!(true))
            );
            assert_eq!(result["result"], answer, "{protocol:?}");
            assert_eq!(result["resultMap"]["fileList"][0]["fileName"], "growth.md");
            let texts = shown(protocol, &frames);
            assert_eq!(texts.iter().filter(|text| text.contains(answer)).count(), 1, "{texts:?}");
            assert!(texts.contains(&"The answer is below.".to_owned()), "{texts:?}");
        }
    }
}

#[tokio::test]
async fn the_demos_answer_is_streamed_as_it_is_written() {
    let (_system, client) = demo("").await;
    let frames = client.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let ending = frames.last().unwrap().json();
    let previews = entries(&frames, "preview").filter(|piece| piece["message"] == "t3");
    let pieces: Vec<String> =
        previews.map(|piece| piece["text"].as_str().unwrap().to_owned()).collect();
    assert!(pieces.len() > 2 && pieces.concat() == ending["answer"], "{pieces:?}");
}

#[tokio::test]
async fn a_deployment_may_have_its_answers_summed_up_as_the_original_does() {
    let (_system, client) = demo("always").await;
    let frames = client.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let ending = frames.last().unwrap().json();
    assert_eq!(ending["spent"]["model_calls"], 4);
    let of = |message: &str| {
        let said = entries(&frames, "message.completed").find(|said| said["message"] == message);
        said.unwrap_or_else(|| panic!("no {message}"))["answer"].clone()
    };
    assert_eq!((of("t3"), of("summary")), (Value::Null, json!(true)));
}

async fn world() -> World {
    World::start().await
}

fn write(rule: Rule) -> Rule {
    let file = json!({"command": "upload", "filename": "found.md", "content": "Found."});
    rule.say("I write down what I found.").call("file_tool", file).then()
}

/// A model that says nothing from here on, or only thinks.
fn is_silent(rule: Rule, thinks: bool) -> Rule {
    if thinks { rule.reason("It may well be 4.").always() } else { rule.reply("").always() }
}

#[tokio::test]
async fn a_model_that_says_nothing_fails_the_run_with_a_sentence_and_its_files() {
    for (protocol, thinks) in
        Protocol::ALL.into_iter().flat_map(|protocol| [(protocol, false), (protocol, true)])
    {
        let world = world().await;
        is_silent(write(world.model.on("What is it?")), thinks);
        let question = Question::of("What is it?", "s1");
        let frames = world.ask(protocol, &question).await.rest().await;
        let last = frames.last().unwrap();
        assert!(last.is_final(), "{frames:?}");
        match protocol {
            Protocol::Native => {
                let ending = last.json();
                assert_eq!(ending["status"], "failed", "{ending}");
                assert_eq!(ending["failure"]["code"], "empty_answer");
                assert_eq!(ending["files"][0]["name"], "found.md");
            }
            Protocol::Raw | Protocol::Ui => {
                let result = last.raw();
                let text = result["result"].as_str().unwrap();
                assert!(text.contains("returned no answer"), "{text}");
                assert_eq!(result["resultMap"]["fileList"][0]["fileName"], "found.md");
            }
        }
        // The turn that wrote, one that said nothing, one more, and the closing call.
        assert_eq!(world.model.requests().len(), 4);
    }
}

#[tokio::test]
async fn a_first_reply_that_is_empty_costs_one_more_attempt_and_the_closing_call() {
    let world = world().await;
    is_silent(world.model.on("What is it?"), true);
    let ending = world.ending(&Question::of("What is it?", "s1")).await;
    assert_eq!((&ending["status"], &ending["answer"]), (&json!("failed"), &json!("")));
    assert_eq!(ending["failure"]["code"], "empty_answer");
    assert_eq!((&ending["spent"]["model_calls"], world.model.requests().len()), (&json!(3), 3));
}

#[tokio::test]
async fn work_that_ends_in_silence_is_summed_up() {
    let world = world().await;
    summary(&world.model).reply("It was found.$$$found.md");
    write(world.model.on("What is it?")).reply("").then().reason("Done.");
    let ending = world.ending(&Question::of("What is it?", "s1")).await;
    assert_eq!(
        (&ending["status"], &ending["answer"]),
        (&json!("finished"), &json!("It was found."))
    );
    world.model.assert_done();
}

#[tokio::test]
async fn an_attempt_at_a_step_that_says_nothing_fails_and_the_next_is_told() {
    let world = world().await;
    let plan = json!({"command": "create", "title": "T", "steps": ["look"], "depends_on": [[]]});
    planner(&world.model)
        .say("I plan.")
        .call("planning", plan)
        .then()
        .call("planning", json!({"command": "finish"}));
    employees(&world.model).reply("{}").always();
    task(&world.model, "look").reason("Hm.").then().reply("").then().reply("It is 4.");
    summary(&world.model).reply("4.");
    let question = Question::of("What is it?", "s1").deep();
    let frames = world.ask(Protocol::Native, &question).await.rest().await;
    let ended: Vec<Value> = entries(&frames, "child.ended").collect();
    assert_eq!((&ended[0]["child"], &ended[0]["status"]), (&json!("s1.1"), &json!("failed")));
    assert_eq!(ended[0]["failure"]["code"], "empty_answer");
    assert_eq!((&ended[1]["child"], &ended[1]["status"]), (&json!("s1.2"), &json!("finished")));
    let told = |request: &RecordedRequest| request.text().contains("returned no answer");
    assert!(world.model.requests().iter().any(told), "the next attempt is not told why");
    world.model.assert_done();
}

#[tokio::test]
async fn a_planner_that_says_nothing_is_asked_once_more_and_then_summed_up() {
    for (said, status) in [("It is 4.", "finished"), ("", "failed")] {
        let world = world().await;
        is_silent(planner(&world.model), true);
        summary(&world.model).reply(said);
        let question = Question::of("What is it?", "s1").deep();
        let ending = world.ending(&question).await;
        assert_eq!((&ending["status"], &ending["answer"]), (&json!(status), &json!(said)));
        assert_eq!(ending["spent"]["model_calls"], 3);
    }
}
