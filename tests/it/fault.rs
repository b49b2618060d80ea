//! A model that breaks off anywhere: the client ends with exactly the final text.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use djinn_scripted::{RecordedRequest, ScriptedResponse};
use serde_json::{Value, json};

use crate::world::{Frame, NativeState, Protocol, Question, Stream, UiState, World};

/// Everything that can go wrong with one attempt.
#[derive(Debug, Clone, Copy)]
enum Fault {
    CutAfter(usize),
    FailAfter(usize),
    GarbageAfter(usize),
    Status(u16),
}

impl Fault {
    fn in_place_of(self, whole: ScriptedResponse) -> ScriptedResponse {
        match self {
            Self::CutAfter(chunks) => whole.cut_after(chunks),
            Self::FailAfter(chunks) => whole.fail_after(chunks, "overloaded_error", "busy"),
            Self::GarbageAfter(deltas) => {
                let delta = |text: &str| json!({"choices": [{"delta": {"content": text}}]});
                let deltas = (0..deltas).map(|_| format!("data: {}\n\n", delta("East ")));
                let chunks = deltas.chain(["data: {\"choices\": [}\n\n".to_owned()]);
                ScriptedResponse::default().raw("text/event-stream", chunks)
            }
            Self::Status(status) => ScriptedResponse::default().status(status),
        }
    }
}

/// The message that a request asks for: `t1`, `t2`.
fn message(request: &RecordedRequest) -> String {
    let call = request.header("djinn-call").unwrap();
    call.split('/').nth(1).unwrap().to_owned()
}

fn says(message: &str) -> ScriptedResponse {
    match message {
        "t1" => ScriptedResponse::default()
            .say("I write it down first.")
            .call("file_tool", json!({"command": "upload", "filename": "a.md", "content": "A"})),
        _ => ScriptedResponse::default().reply("East grew fastest, by 55.9 %, as the file says."),
    }
}

fn text_of(message: &str) -> &'static str {
    match message {
        "t1" => "I write it down first.",
        _ => "East grew fastest, by 55.9 %, as the file says.",
    }
}

/// Has the model fail once at `message` whenever it is asked `question`.
fn script(world: &World, question: &str, at: &str, fault: Fault) {
    let (at, question) = (at.to_owned(), question.to_owned());
    let failed = Arc::new(AtomicBool::new(false));
    let asks = move |request: &RecordedRequest| request.text().contains(&question);
    let answer = move |request: &RecordedRequest| {
        let message = message(request);
        let fails = message == at && !failed.swap(true, Ordering::Relaxed);
        if fails { fault.in_place_of(says(&message)) } else { says(&message) }
    };
    world.model.on_request(asks).respond_with(answer).always();
}

/// What a client shows in the end: each text and each other item once. On the way no text is ever
/// anything but the beginning of what it becomes, or of what the attempt said that failed.
async fn folded(protocol: Protocol, mut stream: Stream) -> Vec<String> {
    let (mut native, mut ui) = (NativeState::default(), UiState::default());
    while let Some(frame) = stream.next().await {
        let Frame::Data(received) = &frame else { continue };
        match protocol {
            Protocol::Native => native.take(received),
            Protocol::Raw => ui.raw(&frame.json()),
            Protocol::Ui => ui.take(received),
        }
        for (message, (_, text)) in &native.open {
            assert!(is_beginning(text, message), "{message}: {text}");
        }
        for (id, _, text) in ui.items.iter().filter(|(_, kind, _)| kind == "tool_thought") {
            let message = id.split_once('.').unwrap().1;
            assert!(is_beginning(text.as_str().unwrap(), message), "{id}: {text}");
        }
    }
    match protocol {
        Protocol::Native => native.entries.iter().filter_map(native_line).collect(),
        Protocol::Raw | Protocol::Ui => ui.items.iter().map(ui_line).collect(),
    }
}

fn is_beginning(text: &str, message: &str) -> bool {
    // A text whose attempt is void, and one that is the result, have a sentence in their place.
    let instead = ["This attempt broke off", "The answer is below."];
    text_of(message).starts_with(text)
        || "East East ".starts_with(text)
        || instead.iter().any(|sentence| text.starts_with(sentence))
}

fn native_line(entry: &Value) -> Option<String> {
    let line = match entry["type"].as_str().unwrap() {
        "message.reset" | "run.started" => return None,
        "run.ended" => format!("{} {}", entry["status"], entry["answer"]),
        "call.completed" => entry["result"]["text"].to_string(),
        _ => entry["text"].to_string(),
    };
    Some(format!("{} {line}", entry["id"]))
}

fn ui_line((id, kind, value): &(String, String, Value)) -> String {
    let id = id.split_once('.').unwrap().1;
    let shown = match kind.as_str() {
        "tool_thought" => value,
        "result" => &value["result"],
        _ => &value["resultMap"]["fileInfo"][0]["fileName"],
    };
    format!("{id} {kind} {shown}")
}

/// Asks under the fault in each protocol and compares with what was told without one.
async fn survives(world: &World, nth: usize, at: &str, fault: Fault) {
    for protocol in Protocol::ALL {
        let text = format!("Question {nth} {protocol:?}?");
        script(world, &text, at, fault);
        let question = Question::of(&text, &format!("{nth}-{protocol:?}"));
        let seen = folded(protocol, world.ask(protocol, &question).await).await;
        assert_eq!(seen, expected(protocol), "{fault:?} at {at}");
        let requests = world.model.requests();
        let asked = requests.iter().rev().take_while(|request| request.text().contains(&text));
        let attempts = asked.filter(|request| message(request) == at).count();
        assert_eq!(attempts, 2, "{fault:?} at {at}");
    }
}

fn expected(protocol: Protocol) -> Vec<&'static str> {
    match protocol {
        Protocol::Native => vec![
            r#""t1" "I write it down first.""#,
            r#""t1.c1" null"#,
            r#""t1.c1.result" "a.md is written: 1 bytes.""#,
            r#""t2" "East grew fastest, by 55.9 %, as the file says.""#,
            r#""end" "finished" "East grew fastest, by 55.9 %, as the file says.""#,
        ],
        Protocol::Raw | Protocol::Ui => vec![
            r#"t1 tool_thought "I write it down first.""#,
            r#"t1.c1.result file "a.md""#,
            r#"t2 tool_thought "The answer is below.""#,
            r#"end result "East grew fastest, by 55.9 %, as the file says.""#,
        ],
    }
}

/// How many chunks each message has: its opening, its deltas, its end.
async fn chunks(world: &World) -> Vec<(String, usize)> {
    script(world, "How many chunks?", "none", Fault::Status(500));
    world.told(&Question::of("How many chunks?", "chunks")).await;
    let requests = world.model.requests();
    requests.iter().map(|request| (message(request), request.chunks_sent())).collect()
}

#[tokio::test]
async fn a_stream_that_is_cut_at_any_chunk_ends_in_exactly_the_final_text() {
    let world = World::start().await;
    let mut nth = 0;
    for (at, chunks) in chunks(&world).await {
        for after in 0..chunks {
            nth += 1;
            survives(&world, nth, &at, Fault::CutAfter(after)).await;
        }
    }
    assert!(nth > 15, "{nth}");
}

#[tokio::test]
async fn a_stream_that_reports_an_error_at_any_chunk_ends_in_exactly_the_final_text() {
    let world = World::start().await;
    let mut nth = 0;
    for (at, chunks) in chunks(&world).await {
        for after in 0..chunks {
            nth += 1;
            survives(&world, nth, &at, Fault::FailAfter(after)).await;
        }
    }
}

#[tokio::test]
async fn refusals_that_pass_and_garbage_leave_the_final_text_alone() {
    let world = World::start().await;
    let faults = [
        Fault::Status(429),
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(529),
        Fault::GarbageAfter(0),
        Fault::GarbageAfter(2),
    ];
    let mut nth = 0;
    for at in ["t1", "t2"] {
        for fault in faults {
            nth += 1;
            survives(&world, nth, at, fault).await;
        }
    }
}

#[tokio::test]
async fn a_model_that_never_recovers_pauses_the_run_which_goes_on_once_somebody_says_so() {
    let world = World::start_with(|options, _| {
        options.settings.outages.patience = Duration::from_secs(60);
    })
    .await;
    let mut rule = world.model.on("Are you there?");
    for _ in 0..6 {
        rule = rule.say("I was about to say").cut_after(2).then();
    }
    rule.reply("Here I am.");
    let frames = world.told(&Question::of("Are you there?", "s1")).await;
    let requested = frames.iter().map(Frame::json).find(|event| event["type"] == "human.requested");
    let requested = requested.unwrap();
    assert_eq!(requested["requests"][0]["interrupt"]["code"], "model_unreachable");
    // Each of these is paid for.
    assert_eq!(world.model.requests().len(), 6);
    let go_on = Question::new("continue").session("s1").request("r2");
    let ending = world.ending(&go_on).await;
    assert_eq!((&ending["status"], &ending["answer"]), (&json!("finished"), &json!("Here I am.")));
}

#[tokio::test]
async fn a_provider_that_fails_for_a_second_fails_no_run_and_viewers_hear_until_when() {
    let world = World::start_with(|options, _| {
        let outages = &mut options.settings.outages;
        // Nothing is held: each wait is one that releases the run.
        (outages.patience, outages.held) = (Duration::from_secs(60), Duration::ZERO);
    })
    .await;
    for (nth, status) in [429, 500, 503, 529].into_iter().enumerate() {
        let question = format!("Are you there, {status}?");
        let mut rule = world.model.on(&question);
        for _ in 0..9 {
            rule = rule.error(status, "x", None, "Busy.").then();
        }
        rule.reply("Here I am.");
        let request = format!("r{nth}");
        let frames = world.told(&Question::of(&question, "s1").request(&request)).await;
        let events: Vec<Value> = frames.iter().map(Frame::json).collect();
        let ending = events.last().unwrap();
        assert_eq!(
            (&ending["status"], &ending["answer"]),
            (&json!("finished"), &json!("Here I am."))
        );
        let delays = events.iter().filter(|event| event["type"] == "model.delayed").count();
        assert_eq!(delays, 9, "{status}");
    }
}
