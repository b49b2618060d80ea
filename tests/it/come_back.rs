//! Coming back to a run by its id: `GET /runs/{run}/events`, from any cursor, in the middle of the
//! work and after it.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::id::{RunId, TenantId};
use djinn_runtime::history::read_child_entries;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{
    COMPARE, Frame, NativeState, Protocol, QUESTION, Question, SALES, Stream, World, script,
    script_plan,
};

/// The record that a frame's cursor names.
fn record(frame: &Frame) -> Option<u64> {
    frame.id()?.rsplit_once(':')?.1.parse().ok()
}

fn is_entry(frame: &&Frame) -> bool {
    !matches!(frame.event(), "" | "preview" | "run.handed_over")
}

fn entry_id(frame: &Frame) -> String {
    frame.json()["id"].as_str().unwrap().to_owned()
}

/// A client's state after these connections. Which of two tasks ends first is chance, and what comes
/// live may come in another order than what is told later.
fn state(connections: &[&[Frame]]) -> (BTreeMap<String, Value>, BTreeMap<String, (u64, String)>) {
    let mut state = NativeState::default();
    connections.iter().copied().flatten().filter_map(Frame::received).for_each(|f| state.take(f));
    let entries = state.entries.into_iter();
    (entries.map(|e| (e["id"].as_str().unwrap().to_owned(), e)).collect(), state.open)
}

/// The record that each entry stands in, by its id: a task's stand where it ended.
async fn records(world: &World, run: &str) -> BTreeMap<String, u64> {
    let ports = world.system.ports();
    let key = RunKey::new(TenantId::new("local").unwrap(), RunId::new(run).unwrap());
    let mut places = BTreeMap::new();
    for record in ports.store.read_from(&key, 0).await.unwrap() {
        let of_tasks = read_child_entries(ports, &key, &record).await.unwrap();
        let ids = of_tasks.into_iter().chain(record.entries).map(|entry| entry.id);
        places.extend(ids.map(|id| (id.to_string(), record.number)));
    }
    places
}

/// What every connection keeps to: its cursors never decrease, no entry comes twice, and none comes
/// of a record that the client had whole.
fn check(had: &[Frame], missed: &[Frame], places: &BTreeMap<String, u64>, about: &str) {
    for connection in [had, missed] {
        let records: Vec<_> = connection.iter().filter_map(record).collect();
        assert!(records.is_sorted(), "{about}: {records:?}");
        let ids: Vec<_> = connection.iter().filter(is_entry).map(entry_id).collect();
        let unique: BTreeSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{about}: {ids:?}");
    }
    let Some(known) = had.last().and_then(record) else { return };
    assert!(missed.iter().filter_map(record).all(|record| record >= known), "{about}");
    let again = missed.iter().filter(is_entry).map(entry_id).filter(|id| places[id] <= known);
    let again: Vec<_> = again.collect();
    assert!(again.is_empty(), "{about}: {again:?} again");
}

/// Reads so many frames, and leaves.
async fn cut_after(mut stream: Stream, frames: usize) -> Vec<Frame> {
    let mut had = Vec::new();
    while had.len() < frames
        && let Some(frame) = stream.next().await
    {
        had.push(frame);
    }
    had
}

/// Comes back with a cursor, in the header or behind the `?`.
async fn missed(world: &World, run: &str, had: &[Frame]) -> Vec<Frame> {
    let cursor = had.last().and_then(Frame::id);
    let stream = match cursor.filter(|_| had.len() % 2 == 1) {
        Some(cursor) => {
            let path = format!("/runs/{run}/events?after={}", cursor.replace(':', "%3A"));
            world.ask_with(world.request(Method::GET, &path)).await
        }
        None => world.come_back(run, cursor).await,
    };
    assert_eq!((stream.status, stream.run()), (200, run.to_owned()));
    stream.rest().await
}

/// Cuts the stream of a run that has ended after every frame.
async fn cut_everywhere(world: &World, question: &Question) {
    let stream = world.ask(Protocol::Native, question).await;
    let run = stream.run();
    let live = stream.rest().await;
    let whole = world.come_back(&run, None).await.rest().await;
    assert!(whole.last().unwrap().is_final());
    let expected = state(&[whole.as_slice()]);
    assert_eq!(state(&[live.as_slice()]), expected, "live, and told again");
    let places = records(world, &run).await;
    for (source, frames) in [("live", &live), ("told again", &whole)] {
        for cut in 0..=frames.len() {
            let had = &frames[..cut];
            let missed = missed(world, &run, had).await;
            let about = format!("{source}, cut after {cut}");
            assert_eq!(state(&[had, missed.as_slice()]), expected, "{about}");
            check(had, &missed, &places, &about);
        }
    }
}

#[tokio::test]
async fn a_stream_cut_after_any_frame_goes_on_where_it_was() {
    let world = World::start().await;
    script(&world.model, QUESTION);
    world.upload("s1", "sales.csv", SALES).await;
    cut_everywhere(&world, &Question::of(QUESTION, "s1")).await;
    assert_eq!(world.model.requests().len(), 3);
}

#[tokio::test]
async fn a_plans_stream_cut_after_any_frame_goes_on_where_it_was() {
    let world = World::start().await;
    script_plan(&world.model);
    world.upload("s1", "sales.csv", SALES).await;
    cut_everywhere(&world, &Question::of(COMPARE, "s1").deep()).await;
    world.model.assert_done();
}

/// A world whose agents are called, and what they and their caller say: two at once, then one alone.
async fn start_tree() -> World {
    World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
    })
    .await
}

fn script_tree(world: &World, question: &str) {
    let at = |path: &'static str| {
        world.model.on_request(move |request| {
            let message = request.header("djinn-call").and_then(|call| call.split('/').nth(1));
            let path_of = |message: &str| message.rsplit_once('.').map(|(path, _)| path.to_owned());
            message.and_then(path_of).unwrap_or_default() == path
        })
    };
    let ask = |task: &str| ("researcher", json!({"task": task}));
    at("")
        .say("Both at once.")
        .calls([ask("North?"), ask("South?")])
        .then()
        .say("Is it right?")
        .call("reviewer", json!({"question": question, "answer": "North grew."}))
        .then()
        .reply("North grew.");
    let look = json!({"command": "get", "filename": "sales.csv"});
    at("t1.c1").say("I read it.").call("file_tool", look).then().reply("North grew by a third.");
    at("t1.c2").reply("South did not grow.");
    let verdict = r#"{"verdict": "accept", "problems": [], "missing": []}"#;
    at("t2.c1").reply(verdict);
}

#[tokio::test]
async fn a_trees_stream_cut_after_any_frame_goes_on_where_it_was() {
    let world = start_tree().await;
    script_tree(&world, QUESTION);
    world.upload("s1", "sales.csv", SALES).await;
    cut_everywhere(&world, &Question::of(QUESTION, "s1")).await;
    world.model.assert_done();
}

#[tokio::test]
async fn a_tree_at_work_is_followed_on_from_any_frame() {
    let mut frames = 0;
    loop {
        let world = start_tree().await;
        script_tree(&world, QUESTION);
        world.upload("s1", "sales.csv", SALES).await;
        if !cut_at_work(&world, &Question::of(QUESTION, "s1"), frames).await {
            break;
        }
        world.model.assert_done();
        frames += 5;
    }
    assert!(frames > 30, "only {frames} frames");
}

/// Cuts the stream of a run at work after so many frames, comes back at once and follows it to its
/// end. Returns whether the run was longer than that.
async fn cut_at_work(world: &World, question: &Question, frames: usize) -> bool {
    let stream = world.ask(Protocol::Native, question).await;
    let run = stream.run();
    let had = cut_after(stream, frames).await;
    let missed = missed(world, &run, &had).await;
    let whole = world.come_back(&run, None).await.rest().await;
    let about = format!("cut after {frames} while at work");
    assert_eq!(state(&[&had, &missed]), state(&[&whole]), "{about}");
    check(&had, &missed, &records(world, &run).await, &about);
    had.len() == frames
}

#[tokio::test]
async fn a_run_at_work_is_followed_on_from_any_frame() {
    let world = World::start().await;
    for frames in 0.. {
        let (text, session) = (format!("{QUESTION} [{frames}]"), format!("s{frames}"));
        script(&world.model, &text);
        world.upload(&session, "sales.csv", SALES).await;
        if !cut_at_work(&world, &Question::of(&text, &session), frames).await {
            assert!(frames > 15, "only {frames} frames");
            break;
        }
        world.model.assert_done();
    }
}

#[tokio::test]
async fn a_plan_at_work_is_followed_on_from_any_frame() {
    let mut frames = 0;
    loop {
        let world = World::start().await;
        script_plan(&world.model);
        if !cut_at_work(&world, &Question::of(COMPARE, "s1").deep(), frames).await {
            break;
        }
        world.model.assert_done();
        frames += 7;
    }
    assert!(frames > 30, "only {frames} frames");
}

/// Entries of a JoyAgent stream by their ids: whole texts, and the files that are named.
fn joyagent(frames: &[Frame], run: &str) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    for event in frames.iter().map(Frame::raw).filter(|event| event["isFinal"] == true) {
        let Some(id) = event["messageId"].as_str().and_then(|id| id.strip_prefix(run)) else {
            continue;
        };
        let text = ["toolThought", "planThought", "taskSummary", "result"]
            .iter()
            .find_map(|name| event[name].as_str().filter(|text| !text.is_empty()));
        let files = event["resultMap"]["fileInfo"].as_array().into_iter().flatten();
        let files: Vec<_> = files.map(|file| file["fileName"].as_str().unwrap()).collect();
        let what = text.map_or_else(|| files.join(","), str::to_owned);
        // The UI is told all thoughts about the plan with each.
        let what = what.rsplit("\n\n").next().unwrap_or_default().to_owned();
        // A plan has a shape of its own in each of the two.
        if !what.is_empty() {
            said.insert(id.trim_start_matches('.').to_owned(), what);
        }
    }
    said
}

/// The same of a native stream.
fn native(frames: &[Frame]) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    for entry in frames.iter().filter(is_entry).map(Frame::json) {
        let file = &entry["result"]["view"]["file"]["name"];
        let what = [&entry["text"], &entry["answer"], file]
            .into_iter()
            .find_map(|text| text.as_str().filter(|text| !text.is_empty()));
        said.insert(entry["id"].as_str().unwrap().to_owned(), what.unwrap_or_default().to_owned());
    }
    said
}

#[tokio::test]
async fn clients_of_both_protocols_see_one_history() {
    for deep in [false, true] {
        for driver in Protocol::ALL {
            let world = World::start().await;
            let mut question = Question::of(QUESTION, "s1");
            if deep {
                question = Question::of(COMPARE, "s1").deep();
                script_plan(&world.model);
            } else {
                script(&world.model, QUESTION);
            }
            world.upload("s1", "sales.csv", SALES).await;
            let first = world.ask(driver, &question).await;
            let run = first.run();
            let viewers = (
                world.come_back(&run, None).await,
                world.ask(Protocol::Raw, &question).await,
                world.ask(Protocol::Ui, &question).await,
            );
            let (first, told, raw, ui) =
                tokio::join!(first.rest(), viewers.0.rest(), viewers.1.rest(), viewers.2.rest());
            let about = format!("deep {deep}, driven for {driver:?}");
            let (all, of_raw) = (native(&told), joyagent(&raw, &run));
            assert_eq!(of_raw, joyagent(&ui, &run), "{about}");
            match driver {
                Protocol::Native => assert_eq!(state(&[&first]), state(&[&told]), "{about}"),
                _ => assert_eq!(joyagent(&first, &run), of_raw, "{about}"),
            }
            assert!(of_raw.len() > 5, "{about}: {of_raw:?}");
            for (id, what) in of_raw {
                // What was shown of an answer as a thought makes room for the result.
                if what == "The answer is below." {
                    let task = id.rsplit_once('.').map(|(task, _)| format!("{task}."));
                    let end = format!("{}end", task.unwrap_or_default());
                    assert_eq!(all[&end], all[&id], "{about}: {all:?}");
                    continue;
                }
                // An answer stands in the result's own map.
                let known = all.get(&id).unwrap_or_else(|| panic!("{about}: no entry {id}"));
                assert!(known.contains(&what), "{about}: {id} is {what}, and natively {known}");
            }
        }
    }
}

#[tokio::test]
async fn a_browser_that_reconnects_goes_by_the_header_and_not_by_its_url() {
    let world = World::start().await;
    world.model.on("Where are we?").reply("Here.");
    let question = Question::of("Where are we?", "s1");
    let stream = world.ask(Protocol::Native, &question).await;
    let (run, _) = (stream.run(), stream.rest().await);
    let path = format!("/runs/{run}/events?after={run}:0");
    let ids = |frames: Vec<Frame>| frames.iter().filter(is_entry).map(entry_id).collect::<Vec<_>>();
    let request = world.request(Method::GET, &path);
    assert_eq!(ids(world.ask_with(request).await.rest().await), ["t1", "end"]);
    let request = world.request(Method::GET, &path).header("last-event-id", format!("{run}:1"));
    let stream = world.ask_with(request).await;
    assert_eq!(stream.header("djinn-request-id"), "r1");
    assert!(ids(stream.rest().await).is_empty());
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused_with_those_that_are() {
    let world = World::start().await;
    world.model.on("Where are we?").reply("Here.");
    let question = Question::of("Where are we?", "s1");
    let stream = world.ask(Protocol::Native, &question).await;
    let (run, frames) = (stream.run(), stream.rest().await);
    let last = frames.last().and_then(record).unwrap();
    let other = format!("run_{}:0", "0".repeat(32));
    let future = format!("{run}:{}", last + 2);
    for cursor in
        ["17", "x", "run_x:1", &other, &future, &format!("{run}:01"), &format!("{run}:-1")]
    {
        let by_header = world.come_back(&run, Some(cursor)).await;
        let path = format!("/runs/{run}/events?after={cursor}");
        let by_url = world.ask_with(world.request(Method::GET, &path)).await;
        let question = question.clone().after(cursor);
        let by_post = world.ask(Protocol::Native, &question).await;
        let by_raw = world.ask(Protocol::Raw, &question).await;
        let by_ui = world.ask(Protocol::Ui, &question).await;
        assert_eq!(by_ui.status, 400, "{cursor}");
        let envelopes = by_ui.rest().await;
        assert_eq!(envelopes.len(), 1, "{cursor}: {envelopes:?}");
        let envelope = envelopes[0].json();
        assert_eq!(
            (&envelope["finished"], &envelope["errorMsg"]),
            (&json!(true), &json!("bad_cursor"))
        );
        for stream in [by_header, by_url, by_post, by_raw] {
            assert_eq!(stream.status, 400, "{cursor}");
            let body = stream.body().await;
            assert_eq!(body["code"], "bad_cursor", "{cursor}");
            let detail = body["detail"].as_str().unwrap();
            assert!(detail.starts_with(&format!("valid cursors are {run}:0 to {run}:")), "{body}");
        }
    }
    // A question that comes with a cursor starts nothing.
    for cursor in [&other, "x", &format!("{run}:0")] {
        let new = Question::of("Where are we now?", "s2").after(cursor);
        let refused = world.ask(Protocol::Native, &new).await;
        assert_eq!(
            (refused.status, refused.body().await["code"].clone()),
            (400, json!("bad_cursor"))
        );
    }
    assert!(world.get("/sessions/s2").await.status == 404, "no run was started");
    world.model.assert_done();
}
