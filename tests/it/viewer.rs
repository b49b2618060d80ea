//! Clients that are slow, and clients that hear nothing for a while.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use djinn_runtime::settings::Settings;
use djinn_scripted::ScriptedModel;
use futures::StreamExt as _;
use serde_json::json;
use tower::ServiceExt as _;

use crate::world::{
    Door, Frame, NativeState, Parts, Protocol, Question, Received, SETTLED_WITHIN, UiState, World,
    models, quick, received, settled,
};

/// An answer of which nothing is read before somebody wants to.
struct Unread {
    protocol: Protocol,
    run: String,
    data: BodyDataStream,
    frames: Vec<Received>,
    bytes: usize,
}

impl Unread {
    async fn ask(door: &Door, protocol: Protocol, question: &Question) -> Self {
        let request = Request::post(protocol.path()).header("accept", "text/event-stream");
        let request = request.header("content-type", "application/json");
        let body = Body::from(protocol.body(question).to_string());
        let request = request.header("host", "localhost").body(body).unwrap();
        let answer = door.router.clone().oneshot(request).await.unwrap();
        let run = answer.headers()["djinn-run-id"].to_str().unwrap().to_owned();
        let data = answer.into_body().into_data_stream();
        Self { protocol, run, data, frames: Vec::new(), bytes: 0 }
    }

    /// Reads the next frame, if there is one.
    async fn read(&mut self) -> bool {
        let Some(chunk) = self.data.next().await else { return false };
        let chunk = chunk.unwrap();
        self.bytes += chunk.len();
        self.frames.extend(received(std::str::from_utf8(&chunk).unwrap()));
        true
    }

    async fn read_all(&mut self) {
        while self.read().await {}
    }

    fn last(&self) -> Frame {
        Frame::Data(self.frames.last().unwrap().clone())
    }

    /// How many pieces of unfinished text there were.
    fn pieces(&self) -> usize {
        let is_piece = |frame: &&Received| {
            frame.event.as_deref() == Some("preview") || frame.data.contains("\"isFinal\":false")
        };
        self.frames.iter().filter(is_piece).count()
    }

    /// What a client shows of a message.
    fn says(&self, message: &str) -> String {
        says(self.protocol, &self.frames, message)
    }
}

/// What a client shows of a message after these frames.
fn says(protocol: Protocol, frames: &[Received], message: &str) -> String {
    if protocol == Protocol::Native {
        let mut state = NativeState::default();
        frames.iter().for_each(|frame| state.take(frame));
        let entry = state.entries.iter().find(|entry| entry["id"] == message);
        let whole = entry.map(|entry| entry["text"].as_str().unwrap().to_owned());
        let open = state.open.remove(message).map(|(_, text)| text);
        return whole.or(open).unwrap_or_default();
    }
    let mut state = UiState::default();
    for frame in frames {
        match protocol {
            Protocol::Ui => state.take(frame),
            _ => state.raw(&serde_json::from_str(&frame.data).unwrap()),
        }
    }
    let is_it = |id: &str| id.ends_with(&format!(".{message}"));
    let said = state.items.iter().filter(|(id, kind, _)| kind == "tool_thought" && is_it(id));
    let said: Vec<&str> = said.map(|(_, _, text)| text.as_str().unwrap()).collect();
    assert!(said.len() < 2, "{message} is there twice");
    // An answer has made room for the result.
    let result = state.items.iter().find(|(_, kind, _)| kind == "result");
    match (said.as_slice(), result) {
        (["The answer is below."], Some((_, _, event))) => event["result"].as_str().unwrap().into(),
        _ => said.concat(),
    }
}

/// So many characters, of which no part is like another.
fn long_text(characters: usize) -> String {
    let text: String = (0..characters).map(|nth| format!("第{nth}句，")).collect();
    text.chars().take(characters - 1).chain(['。']).collect()
}

fn door(model: &ScriptedModel, client_buffer: usize) -> Door {
    let change = |parts: &mut Parts| {
        parts.ports.settings = Arc::new(Settings { client_buffer, ..quick() });
    };
    Door::open(model, |_| {}, change)
}

/// What a system of its own has.
fn default_buffer() -> usize {
    Settings::default().client_buffer
}

#[tokio::test]
async fn a_client_that_never_reads_is_told_how_to_go_on_and_the_run_finishes_without_it() {
    for protocol in Protocol::ALL {
        let model = ScriptedModel::start().await.unwrap();
        let buffer = 16 * 1024;
        let mut door = door(&model, buffer);
        let client = door.listen().await;
        let text = long_text(30_000);
        let write = json!({"command": "upload", "filename": "a.md", "content": "A"});
        let rule = model.on("Tell me everything.").say(text.as_str()).call("file_tool", write);
        rule.delta_chars(100).then().reply("That was all.");
        let question = Question::of("Tell me everything.", "s1");
        let mut unread = Unread::ask(&door, protocol, &question).await;
        settled(&door.ports, &unread.run).await;

        // What waited for it is the buffer, and the one entry that had just room.
        unread.read_all().await;
        assert!(unread.bytes < buffer + text.len() + 4_000, "{} bytes waited", unread.bytes);
        assert_eq!(unread.says("t1"), text, "{protocol:?}");
        let last = unread.last();
        assert!(last.is_hand_over(), "{protocol:?}: {last:?}");
        let next = question.going_on(protocol, &last);

        let missed = client.ask(protocol, &next).await;
        assert_eq!(missed.run(), unread.run);
        let missed = missed.rest().await;
        let last = missed.last().unwrap();
        assert!(last.is_final() && last.json().to_string().contains("That was all."));
        if protocol == Protocol::Native {
            let whole = client.told(&question).await;
            assert_eq!(entries(&[&unread.frames, &data(&missed)]), entries(&[&data(&whole)]));
        }
    }
}

fn data(frames: &[Frame]) -> Vec<Received> {
    frames.iter().filter_map(Frame::received).cloned().collect()
}

/// What a native client has after these connections.
fn entries(connections: &[&[Received]]) -> NativeState {
    let mut state = NativeState::default();
    let frames = connections.iter().copied().flatten();
    let told = frames.filter(|frame| frame.event.as_deref() != Some("run.handed_over"));
    told.for_each(|frame| state.take(frame));
    state
}

#[tokio::test]
async fn a_long_answer_that_is_read_at_its_end_only_is_whole_and_ends() {
    let model = ScriptedModel::start().await.unwrap();
    let door = door(&model, default_buffer());
    let text = long_text(28_000);
    model.on("Tell me everything.").reply(text.as_str()).delta_chars(5).always();
    for protocol in Protocol::ALL {
        let question = Question::of("Tell me everything.", &format!("{protocol:?}"));
        let mut unread = Unread::ask(&door, protocol, &question).await;
        settled(&door.ports, &unread.run).await;
        unread.read_all().await;
        let last = unread.last();
        assert!(last.is_final() && !last.is_hand_over(), "{protocol:?}: {last:?}");
        let answer = match protocol {
            Protocol::Native => last.json()["answer"].clone(),
            _ => last.raw()["result"].clone(),
        };
        assert_eq!(answer, text.as_str(), "{protocol:?}");
        assert_eq!(unread.says("t1"), text, "{protocol:?}");
        assert!(unread.pieces() < 5_600, "{protocol:?}: {} pieces", unread.pieces());
    }
}

#[tokio::test]
async fn a_slow_line_is_told_all_that_was_written_whenever_it_has_read_the_rest() {
    let model = ScriptedModel::start().await.unwrap();
    let door = door(&model, default_buffer());
    let text = long_text(28_000);
    for protocol in Protocol::ALL {
        let words = format!("Tell me everything, {protocol:?}.");
        let rule = model.on(words.as_str()).reply(text.as_str()).delta_chars(5);
        let gates = [rule.gate(2_500), rule.gate(4_500)];
        let question = Question::of(&words, &format!("{protocol:?}"));
        let mut slow = Unread::ask(&door, protocol, &question).await;
        for (gate, characters) in gates.iter().zip([12_000, 22_000]) {
            gate.wait_until_reached().await;
            // The model stands still; nothing but its reading brings it the rest.
            let catch_up = async {
                while slow.says("t1").chars().count() < characters {
                    assert!(slow.read().await, "{protocol:?}: it ended");
                }
            };
            tokio::time::timeout(SETTLED_WITHIN, catch_up).await.expect("the rest never came");
            let said = slow.says("t1");
            assert!(text.starts_with(&said), "{protocol:?}: torn or doubled");
            gate.open();
        }
        settled(&door.ports, &slow.run).await;
        slow.read_all().await;
        assert!(slow.last().is_final(), "{protocol:?}: {:?}", slow.last());
        assert_eq!(slow.says("t1"), text, "{protocol:?}");
        assert!(slow.pieces() < 4_500, "{protocol:?}: {} pieces", slow.pieces());
    }
}

#[tokio::test]
async fn pieces_that_follow_each_other_are_one_frame_where_the_protocol_asks_for_it() {
    let world = World::start_with(|options, _| {
        // No moment is late enough for a second one.
        options.settings.preview_merge_window = Duration::from_secs(3_600);
    })
    .await;
    for protocol in Protocol::ALL {
        let text = format!("What is there, {protocol:?}?");
        let rule = world.model.on(text.as_str()).reply("All that is known of it.").delta_chars(4);
        let gates = [rule.gate(2), rule.gate(5)];
        let mut stream = world.ask(protocol, &Question::of(&text, &format!("{protocol:?}"))).await;
        let mut frames = stream.until(|frame| piece(protocol, frame).is_some()).await;
        gates[0].open();
        gates[1].wait_until_reached().await;
        if protocol == Protocol::Native {
            // The model stands still: nothing but the pieces themselves brings them.
            while says(protocol, &data(&frames), "t1") != "All that is know" {
                frames.push(stream.next().await.unwrap());
            }
        }
        gates[1].open();
        frames.extend(stream.rest().await);
        let pieces: Vec<String> =
            frames.iter().filter_map(|frame| piece(protocol, frame)).collect();
        match protocol {
            Protocol::Native => assert!((3..=6).contains(&pieces.len()), "{pieces:?}"),
            Protocol::Raw | Protocol::Ui => assert_eq!(pieces, ["All "], "the first at once"),
        }
        assert_eq!(says(protocol, &data(&frames), "t1"), "All that is known of it.");
    }
}

#[tokio::test]
async fn words_that_a_model_writes_at_once_share_frames() {
    let world = World::start_with(|options, _| {
        options.settings.preview_merge_window = Settings::default().preview_merge_window;
    })
    .await;
    let text = long_text(2_000);
    world.model.on("Tell me everything.").reply(text.as_str()).delta_chars(4).at_once();
    let question = Question::of("Tell me everything.", "s1");
    let frames = world.ask(Protocol::Native, &question).await.rest().await;
    let pieces: Vec<String> =
        frames.iter().filter_map(|frame| piece(Protocol::Native, frame)).collect();
    assert!((1..100).contains(&pieces.len()), "{} pieces of 500", pieces.len());
    assert_eq!(pieces.concat(), text);
}

/// The text of a frame that has a piece of a message.
fn piece(protocol: Protocol, frame: &Frame) -> Option<String> {
    let event = frame.raw();
    let text = if protocol == Protocol::Native { "text" } else { "toolThought" };
    let is_piece = event["isFinal"] == false || !event["offset"].is_null();
    is_piece.then(|| event[text].as_str().unwrap().to_owned())
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
    rule.reply("Done.");
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
        gate.wait_until_reached().await;
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
