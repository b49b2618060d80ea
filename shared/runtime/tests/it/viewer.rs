//! Viewers other than the driver's own client.

use std::time::Duration;

use djinn_core::error_code::ErrorCode;
use djinn_core::settings::{Machine, RunSettings};
use djinn_core::tool::EffectClass;
use djinn_protocol::connection::Connection;
use djinn_protocol::link::SessionLinks;
use djinn_protocol::native::NativeProjection;
use djinn_runtime::client::ClientStream;
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::catalog::SessionDeletion;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::serve::{
    LoadedRun, ReplayFrom, ServeContext, delete_session, replay_run, serve_client,
};
use djinn_runtime::settings::Settings;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::memory::{MemoryStore, OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::{FrameLog, Sim, joyagent_ui};
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::story::{sim, told, visible};

/// A client asks; another one asks the same 20 s later, in the middle of a long reply.
fn watched() -> Sim {
    let points = Points::new();
    let text = "word ".repeat(40);
    let line = StoryLine::say(text.trim()).with_pace(Duration::from_millis(1_000));
    let model = StoryModel::new([("t1", line)], points.clone());
    Sim::new(model, Toolbox::default(), points)
}

pub(crate) fn events<'a>(frames: &'a [(i64, String)], name: &str) -> Vec<&'a str> {
    let event = format!("event: {name}\n");
    frames.iter().map(|(_, frame)| frame.as_str()).filter(|f| f.contains(&event)).collect()
}

pub(crate) fn sent(frames: &FrameLog) -> Vec<(i64, String)> {
    frames.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_viewer_sees_the_same_entries_and_text_as_it_is_written() {
    let mut sim = watched();
    sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    let (driver, viewer) = (sent(&sim.clients[0]), sent(&sim.clients[1]));
    for name in ["run.started", "message.completed", "run.ended"] {
        assert_eq!(events(&viewer, name), events(&driver, name), "{name}");
    }
    let previews = events(&viewer, "preview");
    assert!(previews.len() > 10, "{} previews", previews.len());
    // Who comes late is told all of the text first.
    assert!(previews[0].contains("\"offset\":0,"), "{}", previews[0]);
}

#[tokio::test(start_paused = true)]
async fn pieces_that_are_written_fast_are_sent_together_where_a_frame_is_large() {
    let text = "word ".repeat(80);
    let paced = Duration::from_millis(10);
    let sim = |speaks| {
        let points = Points::new();
        let model =
            StoryModel::new([("t1", StoryLine::say(&text).with_pace(paced))], points.clone());
        let mut sim = Sim::new(model, Toolbox::default(), points);
        sim.projection = speaks;
        sim
    };
    // A hundred pieces of four characters, one every 10 ms.
    let mut native = sim(djinn_testkit::sim::native);
    native.run_to_end(&native.make_question(RunSettings::default())).await.unwrap();
    assert_eq!(events(&sent(&native.clients[0]), "preview").len(), 100);

    let mut ui = sim(joyagent_ui);
    ui.run_to_end(&ui.make_question(RunSettings::default())).await.unwrap();
    let frames = sent(&ui.clients[0]);
    let thoughts = frames.iter().filter(|(_, frame)| frame.contains("\"isFinal\":false"));
    let thoughts: Vec<(i64, String)> = thoughts
        .map(|(at_ms, frame)| {
            let frame: serde_json::Value =
                serde_json::from_str(frame.split_once("data:").unwrap().1).unwrap();
            let event = &frame["resultMap"]["eventData"]["resultMap"];
            (*at_ms, event["toolThought"].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(thoughts[0].1, "word");
    assert!(thoughts.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 50), "{thoughts:?}");
    assert!((15..=21).contains(&thoughts.len()), "{thoughts:?}");
    let shown: String = thoughts.into_iter().map(|(_, text)| text).collect();
    assert!(text.starts_with(&shown) && shown.len() > 370, "{shown}");
}

#[tokio::test(start_paused = true)]
async fn pieces_that_come_together_are_one_frame() {
    let text = "word ".repeat(80);
    let points = Points::new();
    let model = StoryModel::new([("t1", StoryLine::say(&text))], points.clone());
    let mut sim = Sim::new(model, Toolbox::default(), points);
    sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    let frames = sent(&sim.clients[0]);
    // A hundred pieces of four characters.
    let previews = events(&frames, "preview");
    assert_eq!(previews.len(), 1, "{previews:?}");
    assert!(previews[0].contains(&format!("\"text\":\"{text}\"")), "{}", previews[0]);
}

/// A plan of two steps at once. The first calls a tool soon and then thinks for 40 s.
fn planned() -> Sim {
    let points = Points::new();
    let plan = json!({"command": "create", "title": "t", "steps": ["one", "two"],
        "depends_on": [[], []]});
    let thinks = Duration::from_secs(40);
    let lines = [
        ("t1", StoryLine::say("I plan.").with_call("planning", plan)),
        ("s1.1.t1", StoryLine::say("I look.").with_call("look", json!({"for": "gold"}))),
        ("s1.1.t2", StoryLine::say("There is gold.").with_latency(thinks)),
        ("s2.1.t1", StoryLine::say("There is none.").with_pace(thinks / 4)),
        ("t2", StoryLine::say("I see.").with_call("planning", json!({"command": "finish"}))),
        ("summary", StoryLine::say("Gold at one place.")),
    ];
    let look = LedgerTool::new("look", EffectClass::Read, &Ledger::default(), &points);
    Sim::new(StoryModel::new(lines, points.clone()), Toolbox::default().with_tool(look), points)
}

#[tokio::test(start_paused = true)]
async fn the_entries_of_a_task_are_shown_while_it_is_at_work_and_once() {
    let mut sim = planned();
    let settings = RunSettings { mode: Machine::PlanSolve.into(), ..RunSettings::default() };
    let entries = sim.run_to_end(&sim.make_question(settings)).await.unwrap();
    let ids: Vec<String> = entries.iter().map(|entry| entry.id.to_string()).collect();
    // The driver's own client from the beginning, another one from 20 s on.
    for (client, joined_ms) in [(0, 0), (1, 20_000)] {
        let frames = sent(&sim.clients[client]);
        let came = |id: &str| -> Vec<i64> {
            let wanted = format!("\"id\":\"{id}\"");
            let of = frames.iter().filter(|(_, frame)| frame.contains(&wanted));
            of.map(|(at_ms, _)| at_ms - entries[0].at_ms).collect()
        };
        for id in &ids {
            assert_eq!(came(id).len(), 1, "client {client} was sent {id} so often");
        }
        for id in ["s1.1.t1", "s1.1.t1.c1", "s1.1.t1.c1.result"] {
            let late_ms = came(id)[0] - joined_ms;
            assert!((0..2_000).contains(&late_ms), "client {client} saw {id} after {late_ms} ms");
        }
        assert!(came("s1.1.end")[0] >= 40_000);
        // So is what it says while it says it.
        let said =
            events(&frames, "preview").into_iter().filter(|f| f.contains("\"path\":\"s2.1\""));
        let said: Vec<&str> = said.collect();
        assert!(said.len() >= 2, "client {client} was shown {said:?}");
    }
}

/// The frames of a viewer of a plan with one step, which takes so long.
async fn frames_of_short_plan(step: Duration) -> Vec<(i64, String)> {
    let points = Points::new();
    let plan = json!({"command": "create", "title": "t", "steps": ["one"], "depends_on": [[]]});
    let say = |text: &str| StoryLine::say(text).with_pace(Duration::from_millis(90));
    let lines = [
        ("t1", StoryLine::say("I plan.").with_call("planning", plan)),
        ("s1.1.t1", StoryLine::say("There is gold.").with_latency(step)),
        ("t2", say("I see it all now.").with_call("planning", json!({"command": "finish"}))),
        ("summary", say("There is gold at one place.")),
    ];
    let mut sim = Sim::new(StoryModel::new(lines, points.clone()), Toolbox::default(), points);
    let settings = RunSettings { mode: Machine::PlanSolve.into(), ..RunSettings::default() };
    sim.run_to_end(&sim.make_question(settings)).await.unwrap();
    sent(&sim.clients[1])
}

/// A viewer reads the live log and then the journal, and at the end of a round both have news, whenever it looks.
#[tokio::test(start_paused = true)]
async fn text_of_the_run_follows_all_that_stands_before_it() {
    for nth in 0..40 {
        let frames = frames_of_short_plan(Duration::from_millis(30_000 + 13 * nth)).await;
        let first = |words: &[&str]| {
            let has_all =
                |(_, frame): &(i64, String)| words.iter().all(|word| frame.contains(word));
            frames
                .iter()
                .position(has_all)
                .unwrap_or_else(|| panic!("{nth}, {words:?}: {frames:?}"))
        };
        let of_turn = first(&["event: preview", "\"message\":\"t2\""]);
        let turn_end = first(&["event: message.completed", "\"message\":\"t2\""]);
        let of_summary = first(&["event: preview", "\"message\":\"summary\""]);
        let in_order = [
            first(&["event: child.ended"]),
            of_turn,
            turn_end,
            of_summary,
            first(&["event: run.ended"]),
        ];
        assert!(in_order.is_sorted(), "{nth}: {in_order:?} {frames:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn entries_that_the_live_log_loses_are_shown_when_the_task_ends() {
    let mut sim = planned();
    sim.ports.store.before_each(|op| async move {
        if op.kind == OpKind::WriteLive { StoreFault::NotDone } else { StoreFault::None }
    });
    let settings = RunSettings { mode: Machine::PlanSolve.into(), ..RunSettings::default() };
    let entries = sim.run_to_end(&sim.make_question(settings)).await.unwrap();
    for client in [0, 1] {
        let frames = sent(&sim.clients[client]);
        for entry in &entries {
            let wanted = format!("\"id\":\"{}\"", entry.id);
            let times = frames.iter().filter(|(_, frame)| frame.contains(&wanted)).count();
            assert_eq!(times, 1, "client {client}, {}", entry.id);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_live_log_is_written_only_while_somebody_watches_and_at_most_four_times_a_second() {
    let mut alone = crate::story::sim(Points::new(), &Ledger::default());
    told(&mut alone).await;
    let writes = |sim: &Sim| {
        let log = MemoryStore::clone(&sim.ports.store).log();
        log.iter().filter(|op| op.kind == OpKind::WriteLive).count()
    };
    assert_eq!(writes(&alone), 0);

    let points = Points::new();
    let line = StoryLine::say(&"word ".repeat(1_000)).with_pace(Duration::from_millis(50));
    let model = StoryModel::new([("t1", line)], points.clone());
    let mut sim = Sim::new(model, Toolbox::default(), points);
    let entries = sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    let seconds = (entries.last().unwrap().at_ms - entries[0].at_ms) / 1000;
    let writes = i64::try_from(writes(&sim)).unwrap();
    assert!(writes > 20 && writes <= seconds * 4, "{writes} writes in {seconds} s");
}

#[tokio::test(start_paused = true)]
async fn a_viewer_takes_over_when_the_driver_dies_and_the_old_driver_stops_when_it_wakes() {
    // The first driver's lease is never renewed and its appends hang for a minute: a process that
    // was frozen. Its client's twin comes after 20 s and takes over.
    let ledger = Ledger::default();
    let mut sim = sim(Points::new(), &ledger);
    let (frozen, clock) = (std::sync::OnceLock::new(), sim.ports.clock.clone());
    let frozen = std::sync::Arc::new(frozen);
    sim.ports.store.before_each(move |op| {
        let (clock, frozen) = (clock.clone(), frozen.clone());
        async move {
            let freezes = op.kind == OpKind::Append && op.record == Some(3);
            if freezes && frozen.set(()).is_ok() {
                clock.sleep(Duration::from_secs(60)).await;
            }
            let lapses = op.kind == OpKind::RenewLease && frozen.get().is_some();
            if lapses { StoreFault::NotDone } else { StoreFault::None }
        }
    });
    let entries = told(&mut sim).await;
    assert!(entries.iter().any(|entry| entry.id.to_string() == "resumed.2"), "{entries:?}");
    let seen = visible(&entries);
    assert_eq!(crate::crash::sorted(&seen), crate::crash::sorted(&crate::story::TOLD));
    assert_eq!(ledger.count("send t2.c1"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_viewer_that_takes_over_is_shown_what_the_last_driver_wrote_before_it_left() {
    // The first driver hands over after one step. The viewer has read the journal before that step
    // was written, and looks at the lease after it was released.
    let mut sim = sim(Points::new(), &Ledger::default());
    let hand_over_margin = Duration::from_secs(1);
    sim.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
    sim.kick_copies = 0;
    let (released, clock) = (std::sync::Arc::new(Semaphore::new(0)), sim.ports.clock.clone());
    sim.ports.store.before_each(move |op| {
        let (released, clock) = (released.clone(), clock.clone());
        async move {
            match op.kind {
                OpKind::ReleaseLease => released.add_permits(1),
                OpKind::Meta => {
                    let _released = released.acquire().await;
                    clock.sleep(Duration::from_millis(1)).await;
                }
                _ => {}
            }
            StoreFault::None
        }
    });
    sim.invocation = Some(Duration::from_secs(3));
    let question = sim.make_question(RunSettings::default());
    sim.ask_question(question.clone());
    sim.invocation = None;
    let entries = sim.run_to_end(&question).await.unwrap();
    let ids = |frames: &[(i64, String)]| -> Vec<String> {
        let data = frames.iter().filter_map(|(_, frame)| frame.split_once("data:{\"id\":\""));
        data.map(|(_, rest)| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let driver = ids(&sent(&sim.clients[0]));
    assert_eq!(driver.last().map(String::as_str), Some("t1.c2"), "it left after one step");
    let expected: Vec<_> = entries.iter().map(|entry| entry.id.to_string()).collect();
    assert_eq!(ids(&sent(&sim.clients[1])), expected);
}

#[tokio::test(start_paused = true)]
async fn a_viewer_that_does_not_read_causes_no_reads_and_is_shown_all_later() {
    // Twenty turns of 8 KB each.
    let lines: Vec<(String, StoryLine)> = (1..=20)
        .map(|turn| {
            let line =
                StoryLine::say(&"word ".repeat(1_600)).with_call("look", json!({"turn": turn}));
            (format!("t{turn}"), line)
        })
        .chain([("t21".to_owned(), StoryLine::say("Done."))])
        .collect();
    let points = Points::new();
    let look = LedgerTool::new("look", EffectClass::Read, &Ledger::default(), &points);
    let model =
        StoryModel::new(lines.iter().map(|(id, line)| (id.as_str(), line.clone())), points.clone());
    let mut sim = Sim::new(model, Toolbox::default().with_tool(look), points);
    let entries = told(&mut sim).await;
    let question = sim.make_question(RunSettings::default());
    let key = question.run_key();
    let projection = Box::new(NativeProjection::new(SessionLinks::new(
        "http://sim",
        question.spec.session.clone(),
    )));
    let connection = Connection::new(key.run.clone(), projection, true);
    let (mut client, mut body) =
        ClientStream::open(connection, 16 * 1024, sim.ports.clock.now_ms());
    sim.ports.store.clear_log();
    let run = LoadedRun::load(&sim.ports, &key).await.unwrap();
    replay_run(&sim.ports, &run, &mut client, ReplayFrom::Start).await.unwrap();
    let serving =
        ServeContext { key, holder: "viewer".to_owned(), deadline: Deadline::none(), hops: 0 };
    let ports = sim.ports.clone();
    let serves = tokio::spawn(async move { serve_client(&ports, serving, client, None).await });
    sim.ports.clock.sleep(Duration::from_secs(3_600)).await;
    let log: Vec<OpKind> = sim.ports.store.log().iter().map(|op| op.kind).collect();
    assert!(log.len() <= 4, "{log:?}");

    let mut frames = Vec::new();
    while let Some(frame) = body.next_frame().await {
        frames.push((0, frame));
    }
    serves.await.unwrap();
    for entry in &entries {
        let wanted = format!("\"id\":\"{}\"", entry.id);
        let times = frames.iter().filter(|(_, frame)| frame.contains(&wanted)).count();
        assert_eq!(times, 1, "{}", entry.id);
    }
    let reads = sim.ports.store.log().iter().filter(|op| op.kind == OpKind::Read).count();
    assert!(reads <= 12, "{reads} pages");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_ended_is_told_as_fast_as_it_is_read_whatever_the_buffer_holds() {
    let mut sim = sim(Points::new(), &Ledger::default());
    told(&mut sim).await;
    let question = sim.make_question(RunSettings::default());
    let key = question.run_key();
    for buffer in [0, 1, 500, usize::MAX] {
        let projection = Box::new(NativeProjection::new(SessionLinks::new(
            "http://sim",
            question.spec.session.clone(),
        )));
        let connection = Connection::new(key.run.clone(), projection, true);
        let began_ms = sim.ports.clock.now_ms();
        let (mut client, mut body) = ClientStream::open(connection, buffer, began_ms);
        let run = LoadedRun::load(&sim.ports, &key).await.unwrap();
        replay_run(&sim.ports, &run, &mut client, ReplayFrom::Start).await.unwrap();
        let (holder, deadline) = ("viewer".to_owned(), Deadline::none());
        let serving = ServeContext { key: key.clone(), holder, deadline, hops: 0 };
        let read = async {
            let mut frames = Vec::new();
            while let Some(frame) = body.next_frame().await {
                frames.push((began_ms, frame));
            }
            frames
        };
        let (frames, ()) = tokio::join!(read, serve_client(&sim.ports, serving, client, None));
        assert_eq!(events(&frames, "run.ended").len(), 1, "{buffer}");
        assert_eq!(sim.ports.clock.now_ms(), began_ms, "somebody waited, buffer {buffer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_viewer_of_a_deleted_run_is_told_to_come_back_and_finds_nothing() {
    let mut sim = sim(Points::new(), &Ledger::default());
    told(&mut sim).await;
    let question = sim.make_question(RunSettings::default());
    let key = question.run_key();
    let projection = Box::new(NativeProjection::new(SessionLinks::new(
        "http://sim",
        question.spec.session.clone(),
    )));
    let connection = Connection::new(key.run.clone(), projection, true);
    let (client, mut body) = ClientStream::open(connection, usize::MAX, sim.ports.clock.now_ms());
    // The session goes after the client was let in, and before it has read anything.
    let seen = LoadedRun::load(&sim.ports, &key).await.unwrap();
    let owner = question.session_key().owner_key();
    let forgotten = delete_session(&sim.ports, &owner, &question.spec.session).await.unwrap();
    assert_eq!(forgotten, SessionDeletion::Done);
    let (holder, deadline) = ("viewer".to_owned(), Deadline::none());
    let serving = ServeContext { key: key.clone(), holder, deadline, hops: 0 };
    let served = serve_client(&sim.ports, serving, client, None);
    tokio::time::timeout(Duration::from_secs(60), served).await.expect("it never ends");
    let mut last = None;
    while let Some(frame) = body.next_frame().await {
        last = Some(frame);
    }
    assert!(last.is_some_and(|frame| frame.contains("run.handed_over")));
    let (mut late, _) = ClientStream::open(
        Connection::new(
            key.run.clone(),
            Box::new(NativeProjection::new(SessionLinks::new(
                "http://sim",
                question.spec.session.clone(),
            ))),
            true,
        ),
        usize::MAX,
        sim.ports.clock.now_ms(),
    );
    let gone = replay_run(&sim.ports, &seen, &mut late, ReplayFrom::Start).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::RunExpired);
    let gone = LoadedRun::load(&sim.ports, &key).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::RunNotFound);
}
