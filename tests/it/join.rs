//! Coming to a run that exists: the same request again, `continue`, and `Last-Event-ID`.

use std::time::Duration;

use djinn_runtime::settings::Settings;
use djinn_scripted::ChunkGate;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{
    Answer, Frame, NativeState, Protocol, QUESTION, Question, SALES, UiState, World, script,
};

/// A run whose first reply waits in its middle.
async fn waiting(world: &World, question: &Question) -> (crate::world::Stream, ChunkGate) {
    let rule = world.model.on(question.text.as_str());
    let gate = rule.clone().reply("First half, second half.").delta_chars(12).gate(2);
    let mut stream = world.ask(Protocol::Native, question).await;
    stream.until(|frame| frame.event() == "preview").await;
    gate.wait_until_reached().await;
    (stream, gate)
}

fn ids(frames: &[Frame]) -> Vec<Value> {
    let entries = frames.iter().filter(|frame| !matches!(frame.event(), "" | "preview"));
    entries.map(|frame| frame.json()["id"].clone()).collect()
}

#[tokio::test]
async fn the_same_request_again_joins_the_same_run() {
    let world = World::start().await;
    let question = Question::of("What comes twice?", "s1");
    let (first, gate) = waiting(&world, &question).await;
    let mut second = world.ask(Protocol::Native, &question).await;
    assert_eq!(first.run(), second.run());
    let mut seen = second.until(|frame| frame.event() == "run.started").await;
    gate.open();
    let first = first.rest().await;
    seen.extend(second.rest().await);
    assert_eq!(ids(&seen), ["start", "t1", "end"]);
    assert_eq!(seen.last(), first.last());
    assert_eq!(world.model.requests().len(), 1);

    let later = world.told(&question).await;
    assert_eq!(ids(&later), ["start", "t1", "end"]);
    assert_eq!(world.model.requests().len(), 1, "an ended run is told again, not run again");
}

#[tokio::test]
async fn a_request_that_comes_many_times_at_once_is_one_run() {
    let world = World::start().await;
    world.model.on("Who is first?").reply("Everyone.");
    let question = Question::of("Who is first?", "s1");
    let streams = join_all((0..16).map(|nth| {
        let (world, question) = (&world, &question);
        async move { world.ask(Protocol::ALL[nth % 3], question).await }
    }));
    let streams = streams.await;
    let runs: std::collections::BTreeSet<_> = streams.iter().map(|stream| stream.run()).collect();
    assert_eq!(runs.len(), 1);
    let told = join_all(streams.into_iter().map(|stream| stream.rest())).await;
    assert!(told.iter().all(|frames| frames.last().unwrap().is_final()));
    world.model.assert_done();
    assert_eq!(world.model.requests().len(), 1);
}

#[tokio::test]
async fn the_same_id_with_another_question_is_refused() {
    let world = World::start().await;
    world.model.on("What is one?").reply("One.");
    let run = world.ask(Protocol::Native, &Question::of("What is one?", "s1")).await;
    let (run, _) = (run.run(), run.rest().await);
    for protocol in Protocol::ALL {
        let stream = world.ask(protocol, &Question::of("What is two?", "s1")).await;
        assert_eq!((stream.status, stream.run()), (409, run.clone()));
        let text = told_refusal(stream, protocol).await;
        assert_eq!(text, ("request_id_reused".to_owned(), "".to_owned()), "{protocol:?}");
    }
    assert_eq!(world.model.requests().len(), 1);
}

/// The code and the detail of a refusal.
async fn told_refusal(stream: crate::world::Stream, protocol: Protocol) -> (String, String) {
    if protocol != Protocol::Ui {
        let body = stream.body().await;
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        return (text("code"), text("detail"));
    }
    let frames = stream.rest().await;
    assert!(frames.len() == 1 && frames[0].is_final(), "{frames:?}");
    let envelope = frames[0].json();
    assert_eq!(envelope["finished"], true);
    let sentence = envelope["response"].as_str().unwrap();
    let detail = sentence.split(['(', ')']).nth(1).unwrap_or_default().to_owned();
    (envelope["errorMsg"].as_str().unwrap().to_owned(), detail)
}

#[tokio::test]
async fn a_second_question_waits_for_the_first() {
    let world = World::start().await;
    let first = Question::of("What takes long?", "s1");
    let (stream, gate) = waiting(&world, &first).await;
    for protocol in Protocol::ALL {
        let second = Question::new("And then?").session("s1").request("r2");
        let refused = world.ask(protocol, &second).await;
        assert_eq!(refused.status, 409);
        assert_eq!(refused.run(), stream.run(), "it names the run that is active");
        assert_eq!(refused.header("djinn-request-id"), "r2");
        let told = told_refusal(refused, protocol).await;
        assert_eq!(told, ("session_busy".to_owned(), stream.run()), "{protocol:?}");
    }
    gate.open();
    stream.rest().await;
    world.model.on("And then?").reply("Then this.");
    let ending = world.ending(&Question::new("And then?").session("s1").request("r2")).await;
    assert_eq!(ending["answer"], "Then this.");
}

#[tokio::test]
async fn of_many_questions_at_once_a_session_takes_one() {
    let world = World::start().await;
    world.model.on("Which one?").reply("This one.").hang_after(1);
    let asked = join_all((0..8).map(|nth| {
        let question = Question::new("Which one?").session("s1").request(&format!("r{nth}"));
        let world = &world;
        async move { world.ask(Protocol::ALL[nth % 3], &question).await }
    }));
    let asked = asked.await;
    let runs: Vec<_> = asked.iter().filter(|stream| stream.status == 200).collect();
    assert_eq!(runs.len(), 1);
    for refused in asked.iter().filter(|stream| stream.status != 200) {
        assert_eq!((refused.status, refused.run()), (409, runs[0].run()));
    }
    assert_eq!(world.stop(&runs[0].run()).await.status, 202);
}

#[tokio::test]
async fn ids_that_are_missing_are_made_and_returned() {
    let world = World::start().await;
    world.model.on("Who am I?").reply("You.").always();
    for protocol in Protocol::ALL {
        let stream = world.ask(protocol, &Question::new("Who am I?")).await;
        let (run, request) = (stream.run(), stream.header("djinn-request-id").to_owned());
        assert!(run.starts_with("run_") && request.starts_with("req-"), "{run} {request}");
        stream.rest().await;
        // Its session is the request's own, and the same request joins its run.
        let again = world.ask(protocol, &Question::new("Who am I?").request(&request)).await;
        assert_eq!(again.run(), run);
        let own = Question::new("Who am I?").request(&request).session(&request);
        assert_eq!(world.ask(protocol, &own).await.run(), run);
    }
    assert_eq!(world.model.requests().len(), 3);
}

#[tokio::test]
async fn continue_tells_the_active_run_from_its_start_and_follows_it() {
    let world = World::start().await;
    for (nth, word) in ["continue", "继续", " Continue\n"].into_iter().enumerate() {
        for protocol in Protocol::ALL {
            let session = format!("{nth}-{protocol:?}");
            let first = Question::of(&format!("What takes long {session}?"), &session);
            let (stream, gate) = waiting(&world, &first).await;
            let again = Question::new(word).session(&session).request("r2");
            let mut following = world.ask(protocol, &again).await;
            assert_eq!((following.status, following.run()), (200, stream.run()));
            let mut seen = following.until(|frame| frame.received().is_some()).await;
            gate.open();
            seen.extend(following.rest().await);
            let last = seen.last().unwrap();
            assert!(last.is_final(), "{seen:?}");
            assert!(last.json().to_string().contains("First half, second half."));
        }
    }
}

#[tokio::test]
async fn continue_with_a_cursor_goes_on_behind_it() {
    let world = World::start().await;
    let question = Question::of("What takes long?", "s1");
    let (stream, gate) = waiting(&world, &question).await;
    let cursor = format!("{}:0", stream.run());
    let again = Question::new("continue").session("s1").request("r2").after(&cursor);
    let following = world.ask(Protocol::Native, &again).await;
    assert_eq!((following.status, following.run()), (200, stream.run()));
    gate.open();
    assert_eq!(ids(&following.rest().await), ["t1", "end"]);
}

/// Says `word` in a session in which there is nothing to go on with.
async fn has_nothing_to_continue(world: &World, session: &str, word: &str) {
    for protocol in Protocol::ALL {
        let request = format!("late-{protocol:?}");
        let refused =
            world.ask(protocol, &Question::new(word).session(session).request(&request)).await;
        assert_eq!((refused.status, refused.header("djinn-request-id")), (409, request.as_str()));
        let told = told_refusal(refused, protocol).await;
        assert_eq!(told, ("nothing_to_continue".to_owned(), String::new()), "{protocol:?}");
    }
}

#[tokio::test]
async fn continue_begins_no_run_and_says_so_where_every_end_was_shown() {
    let world = World::start().await;
    has_nothing_to_continue(&world, "s1", "继续").await;
    world.model.on("What is one?").reply("One.");
    assert_eq!(world.ending(&Question::of("What is one?", "s1")).await["answer"], "One.");
    has_nothing_to_continue(&world, "s1", "continue").await;
    let body = Protocol::Native.body(&Question::new("continue").session("s1").request("r3"));
    let sent = world.request(Method::POST, "/runs").json(&body).send().await.unwrap();
    let refused = Answer::of(sent).await;
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("nothing_to_continue")));
    assert_eq!(world.model.requests().len(), 1);
}

/// Asks without waiting for the answer, and returns when there is one.
async fn post(world: &World, question: &Question) -> String {
    let body = Protocol::Native.body(question);
    let sent = world.request(Method::POST, "/runs").json(&body).send().await.unwrap();
    let run = Answer::of(sent).await.json()["run"].as_str().unwrap().to_owned();
    world.settled(&run).await;
    run
}

#[tokio::test]
async fn continue_tells_the_newest_end_that_no_client_was_sent_once() {
    let world = World::start().await;
    for protocol in Protocol::ALL {
        let session = format!("{protocol:?}");
        let mut runs = Vec::new();
        for (nth, is_streamed) in [(1, false), (2, false), (3, true)] {
            let text = format!("What is {nth}, {protocol:?}?");
            world.model.on(text.as_str()).reply(format!("It is {nth}."));
            let question = Question::new(&text).session(&session).request(&format!("r{nth}"));
            if is_streamed {
                assert!(world.told(&question).await.last().unwrap().is_final());
            } else {
                runs.push(post(&world, &question).await);
            }
        }
        for (nth, run) in [(2, &runs[1]), (1, &runs[0])] {
            let again = Question::new("继续").session(&session).request(&format!("go-{nth}"));
            let late = world.ask(protocol, &again).await;
            assert_eq!((late.status, &late.run()), (200, run));
            let told = late.rest().await;
            let last = told.last().unwrap();
            assert!(last.is_final() && last.json().to_string().contains(&format!("It is {nth}.")));
        }
        has_nothing_to_continue(&world, &session, "继续").await;
        // The runs are there, for whoever asks for them.
        let told = world.come_back(&runs[0], None).await.rest().await;
        assert_eq!(told.last().unwrap().json()["answer"], "It is 1.");
    }
    assert_eq!(world.model.requests().len(), 9);
}

#[tokio::test]
async fn an_end_that_was_followed_or_looked_up_is_none_to_continue_with() {
    let world = World::start().await;
    for (session, comes_late) in [("s1", true), ("s2", false)] {
        let text = format!("What takes long, {session}?");
        let gate = world.model.on(text.as_str()).reply("This.").gate(1);
        let body = Protocol::Native.body(&Question::of(&text, session));
        let sent = world.request(Method::POST, "/runs").json(&body).send().await.unwrap();
        let run = Answer::of(sent).await.json()["run"].as_str().unwrap().to_owned();
        gate.wait_until_reached().await;
        if comes_late {
            gate.open();
            world.settled(&run).await;
        }
        let following = world.come_back(&run, None).await;
        gate.open();
        assert!(following.rest().await.last().unwrap().is_final());
        has_nothing_to_continue(&world, session, "continue").await;
    }
}

#[tokio::test]
async fn who_joins_while_a_message_is_written_is_shown_the_text_so_far() {
    let world = World::start_with(|options, _| {
        // The driver learns of viewers from its mailbox: its lease is not renewed before the test is over.
        let never = Duration::from_secs(3_600);
        options.settings =
            Settings { lease: 2 * never, renew_every: never, ..options.settings.clone() };
    })
    .await;
    for protocol in Protocol::ALL {
        let text = format!("What takes long, {protocol:?}?");
        let question = Question::of(&text, &format!("{protocol:?}"));
        let (first, gate) = waiting(&world, &question).await;
        let mut late = world.ask(protocol, &question).await;
        let seen = late.until(|frame| is_text_so_far(protocol, frame));
        // Nothing else is written until the gate is open.
        let seen = tokio::time::timeout(Duration::from_secs(60), seen).await;
        assert!(seen.is_ok(), "{protocol:?} was not shown the text so far");
        gate.open();
        assert!(late.rest().await.last().unwrap().is_final());
        first.rest().await;
    }
}

/// Returns true if a frame is the first half of what [`waiting`] says, and not the whole of it.
fn is_text_so_far(protocol: Protocol, frame: &Frame) -> bool {
    let is_piece = match protocol {
        Protocol::Native => frame.event() == "preview",
        Protocol::Raw | Protocol::Ui => true,
    };
    let text = frame.received().map(|received| received.data.as_str()).unwrap_or_default();
    is_piece && text.contains("First half, ") && !text.contains("second half.")
}

/// A client that keeps its state over two connections.
fn folded(protocol: Protocol, connections: &[&[Frame]]) -> Value {
    let (mut native, mut ui) = (NativeState::default(), UiState::default());
    for frame in connections.iter().copied().flatten() {
        let Frame::Data(received) = frame else { continue };
        match protocol {
            Protocol::Native => native.take(received),
            Protocol::Raw => ui.raw(&frame.json()),
            Protocol::Ui => ui.take(received),
        }
    }
    json!({"entries": native.entries, "open": native.open, "items": ui.items})
}

#[tokio::test]
async fn a_stream_cut_after_any_frame_goes_on_where_it_was() {
    for protocol in Protocol::ALL {
        let world = World::start().await;
        script(&world.model, QUESTION);
        world.upload("s1", "sales.csv", SALES).await;
        let question = Question::of(QUESTION, "s1");
        let whole = world.ask(protocol, &question).await.rest().await;
        let expected = folded(protocol, &[whole.as_slice()]);
        for cut in 1..=whole.len() {
            let had = &whole[..cut];
            let cursor = had.last().unwrap().id();
            let again = cursor.map_or(question.clone(), |cursor| question.clone().after(cursor));
            let missed = world.ask(protocol, &again).await.rest().await;
            let seen = folded(protocol, &[had, missed.as_slice()]);
            assert_eq!(seen, expected, "{protocol:?} cut after {cut}");
            let record =
                |frame: &Frame| -> Option<u64> { frame.id()?.rsplit_once(':')?.1.parse().ok() };
            let known = cursor.and_then(|_| record(had.last().unwrap()));
            let old = missed.iter().filter_map(record).find(|n| Some(*n) < known);
            assert_eq!(old, None, "{protocol:?} cut after {cut} was told what it had");
        }
        assert_eq!(world.model.requests().len(), 3);
    }
}

#[tokio::test]
async fn a_stream_cut_while_the_run_is_at_work_goes_on_where_it_was() {
    for protocol in Protocol::ALL {
        let world = World::start().await;
        let rule = world.model.on("What takes long?");
        let gate = rule.clone().reply("First half, second half.").delta_chars(12).gate(2);
        let question = Question::of("What takes long?", "s1");
        let mut stream = world.ask(protocol, &question).await;
        let had = stream.until(|frame| frame.received().is_some()).await;
        drop(stream);
        let cursor = had.last().unwrap().id().unwrap().to_owned();
        let again = world.ask(protocol, &question.clone().after(&cursor)).await;
        gate.open();
        let missed = again.rest().await;
        let seen = folded(protocol, &[&had, &missed]);
        let whole = world.ask(protocol, &question).await.rest().await;
        assert_eq!(seen, folded(protocol, &[whole.as_slice()]), "{protocol:?}");
    }
}

#[tokio::test]
async fn cursors_of_other_runs_and_of_none_are_refused() {
    let world = World::start().await;
    world.model.on("Where are we?").reply("Here.");
    let question = Question::of("Where are we?", "s1");
    let run = world.ask(Protocol::Native, &question).await;
    let (run, _) = (run.run(), run.rest().await);
    let other = format!("run_{}:0", "0".repeat(32));
    for cursor in ["17", "x", &other, &format!("{run}:99"), &format!("{run}:01")] {
        for protocol in Protocol::ALL {
            let stream = world.ask(protocol, &question.clone().after(cursor)).await;
            assert_eq!(stream.status, 400, "{cursor}");
            assert_eq!(told_refusal(stream, protocol).await.0, "bad_cursor", "{cursor}");
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_stops_nothing_and_can_come_back() {
    let world = World::start().await;
    let question = Question::of("Shall I wait?", "s1");
    let (stream, gate) = waiting(&world, &question).await;
    drop(stream);
    gate.open();
    let request = world.model.wait_for_request(1).await;
    request.wait_until_ended().await;
    assert!(!request.is_closed_early(), "the run went on");
    let frames = world.told(&question).await;
    assert_eq!(frames.last().unwrap().json()["answer"], "First half, second half.");
    assert_eq!(world.model.requests().len(), 1);
}

#[tokio::test]
async fn without_a_stream_the_run_is_accepted_and_told_later() {
    let world = World::start().await;
    world.model.on("Do it later?").reply("Done.");
    let question = Question::of("Do it later?", "s1");
    let body = Protocol::Native.body(&question);
    let sent = world.request(Method::POST, "/runs").json(&body).send().await.unwrap();
    let accepted = Answer::of(sent).await;
    assert_eq!(accepted.status, 202);
    let run = accepted.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(accepted.header("djinn-run-id"), run);
    assert_eq!(accepted.json(), json!({"run": run, "session": "s1", "request": "r1"}));
    assert_eq!(world.ending(&question).await["answer"], "Done.");
    world.model.assert_done();
}

#[tokio::test]
async fn without_a_stream_continue_names_the_run_that_is_at_work() {
    let world = World::start().await;
    let (stream, gate) = waiting(&world, &Question::of("What takes long?", "s1")).await;
    let body = Protocol::Native.body(&Question::new("continue").session("s1").request("r2"));
    let sent = world.request(Method::POST, "/runs").json(&body).send().await.unwrap();
    let accepted = Answer::of(sent).await;
    assert_eq!(accepted.json()["run"], stream.run());
    assert_eq!(accepted.header("djinn-run-id"), stream.run());
    gate.open();
    stream.rest().await;
}

#[tokio::test]
async fn of_two_questions_at_once_a_session_takes_one_every_time() {
    let world = World::start().await;
    world.model.on("Who is first?").reply("I am.").always();
    for round in 0..40 {
        let asked = ["a", "b"].map(|name| {
            let request = format!("{name}{round}");
            let question = Question::new("Who is first?").session("s1").request(&request);
            let world = &world;
            async move { world.ask(Protocol::Native, &question).await }
        });
        let mut asked = join_all(asked).await;
        asked.sort_by_key(|stream| stream.status);
        let refused = asked.pop().unwrap();
        let runs = asked.pop().unwrap();
        // Who asks when the other is answered already is not refused.
        assert_eq!(runs.status, 200, "round {round}");
        if refused.status == 409 {
            assert_eq!(refused.run(), runs.run(), "round {round}");
        } else {
            assert!(refused.rest().await.last().unwrap().is_final(), "round {round}");
        }
        assert!(runs.rest().await.last().unwrap().is_final(), "round {round}");
    }
}
