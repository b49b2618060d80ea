//! Clients that are slow, and clients that hear nothing for a while.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use djinn_runtime::settings::Settings;
use djinn_scripted::Scripted;
use serde_json::json;
use tower::ServiceExt as _;

use crate::world::{Door, Frame, NativeState, Protocol, Question, World, models, quick, received};

#[tokio::test]
async fn a_client_that_never_reads_is_cut_and_the_run_finishes_without_it() {
    let model = Scripted::start().await.unwrap();
    let buffer = 16 * 1024;
    let mut door = Door::open(
        &model,
        |_| {},
        |parts| {
            parts.ports.settings = Arc::new(Settings { client_buffer: buffer, ..quick() });
        },
    );
    let client = door.listen().await;
    let text = "All that is known. ".repeat(5_000);
    let write = json!({"command": "upload", "filename": "a.md", "content": "A"});
    let rule = model.on("Tell me everything.").say("I begin.").call("file_tool", write);
    rule.then().reply(text.as_str()).delta_chars(100).then().reply("That was all.");
    let question = Question::of("Tell me everything.", "s1");
    let host = client.url.trim_start_matches("http://");
    let request = Request::post("/runs").header("accept", "text/event-stream").header("host", host);
    let request = request.header("content-type", "application/json");
    let body = Body::from(Protocol::Native.body(&question).to_string());
    let unread = door.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();

    // Another client sees that the run has ended; the first has read nothing until then.
    let told = client.told(&question).await;
    assert_eq!(told.last().unwrap().json()["answer"], "That was all.");
    let bytes = to_bytes(unread.into_body(), usize::MAX).await.unwrap();
    // The last frame may be one that the buffer had just room for.
    assert!(bytes.len() <= buffer + 1_000, "{} bytes waited for it", bytes.len());
    let had = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(had.ends_with("\n\n") && !had.contains("run.ended"));
    let had = received(&had);
    let cursor = had.last().unwrap().id.clone().unwrap();

    let missed = client.told(&question.clone().after(&cursor)).await;
    let mut state = NativeState::default();
    had.iter().for_each(|frame| state.take(frame));
    missed.iter().filter_map(Frame::received).for_each(|frame| state.take(frame));
    let mut whole = NativeState::default();
    told.iter().filter_map(Frame::received).for_each(|frame| whole.take(frame));
    assert!(state == whole, "what it had and what it missed are not all of it");
}

#[tokio::test]
async fn a_client_that_reads_is_told_more_than_its_buffer_holds() {
    let world = World::start_with(|options, model| {
        options.settings.client_buffer = 16 * 1024;
        // Nothing is to be summed up on the way.
        let window = json!({"max_input_tokens": 1_000_000});
        options.vars.push(("DJINN_MODELS", models(model, &window)));
    })
    .await;
    let content = "All that is known. ".repeat(5_000);
    let mut rule = world.model.on("Write it all down.");
    for nth in 0..5 {
        let write =
            json!({"command": "upload", "filename": format!("{nth}.md"), "content": content});
        rule = rule.say("I write.").call("file_tool", write).delta_chars(50_000).then();
    }
    rule.reply("Done.").then().reply("Done.");
    let question = Question::of("Write it all down.", "s1");
    let told = world.told(&question).await;
    assert!(told.last().unwrap().is_final(), "{:?}", told.last());
    // Whoever comes later is told all of it at once.
    for protocol in Protocol::ALL {
        let retold = world.ask(protocol, &question).await.rest().await;
        assert!(retold.last().unwrap().is_final(), "{protocol:?}");
        if protocol == Protocol::Native {
            let entry = |frame: &&Frame| !matches!(frame.event(), "" | "preview");
            assert!(retold.iter().filter(entry).eq(told.iter().filter(entry)));
        }
    }
}

#[tokio::test]
async fn who_waits_hears_a_heartbeat_in_the_form_of_its_protocol() {
    let world = World::start_with(|options, _| {
        options.settings.heartbeat_every = Duration::from_millis(10);
    })
    .await;
    for protocol in Protocol::ALL {
        let text = format!("Are you alive, {protocol:?}?");
        let gate = world.model.on(text.as_str()).reply("Yes.").gate(1);
        let question = Question::of(&text, &format!("{protocol:?}"));
        // The driver's own client, and one that follows.
        let mut streams =
            [world.ask(protocol, &question).await, world.ask(protocol, &question).await];
        gate.reached().await;
        for stream in &mut streams {
            for _ in 0..3 {
                stream.until(|frame| is_heartbeat(protocol, frame)).await;
            }
        }
        gate.open();
        for stream in streams {
            assert!(stream.rest().await.last().unwrap().is_final());
        }
    }
}

fn is_heartbeat(protocol: Protocol, frame: &Frame) -> bool {
    match (protocol, frame) {
        (Protocol::Native, Frame::Comment(comment)) => comment == "heartbeat",
        (Protocol::Raw, Frame::Data(frame)) => frame.data == "heartbeat",
        (Protocol::Ui, Frame::Data(_)) => {
            let json = frame.json();
            let is = json["packageType"] == "heartbeat";
            assert!(!is || (json["finished"] == false && json["resultMap"].is_null()), "{json}");
            is
        }
        _ => false,
    }
}
