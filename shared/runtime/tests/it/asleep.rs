//! A run whose tasks are at work elsewhere: nobody waits for them, and whoever comes back does so as
//! if it had never been away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::id::FileName;
use djinn_core::journal::Journal;
use djinn_core::settings::{Machine, RunSettings};
use djinn_core::tool::EffectClass;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::mailbox::{Mail, Mailbox};
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::serve::{LoadedRun, request_stop};
use djinn_runtime::settings::Settings;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::memory::{MemoryStore, OpKind, StoreFault};
use djinn_testkit::point::{Fate, Points};
use djinn_testkit::sim::{Sim, joyagent_ui, native};
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

use crate::market::{expected, seen, settings, sim, told};
use crate::story::visible;

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_tasks_without_a_client_keeps_no_function_alive() {
    let mut sim = sim(Points::new(), &Ledger::default());
    let question = sim.make_question(settings());
    let key = question.run_key();
    sim.post_question(question);
    // Two of its tasks have ended and woken it; the third looks something up for six seconds.
    sim.pass_time(Duration::from_secs(3)).await;
    assert_eq!(sim.alive_count(), 1, "besides the task's executor somebody is there");
    let meta = sim.ports.store.find_meta(&key).await.unwrap().unwrap();
    assert_eq!(meta.lease, None, "the run is held by somebody");
    let done = sim.read_history(&key).await.unwrap();
    assert!(
        done.iter().any(|entry| entry.id.to_string() == "s3.1.end"),
        "nobody heard of its outcome"
    );

    sim.pass_time(Duration::from_secs(20)).await;
    assert_eq!(seen(&sim.read_history(&key).await.unwrap()), expected(&[]));
    assert_eq!((sim.alive_count(), sim.has_alarm()), (0, false));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_woken_creates_none_of_its_tasks_again() {
    let mut sim = sim(Points::new(), &Ledger::default());
    let created: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let counted = Arc::clone(&created);
    sim.ports.store.before_each(move |op| {
        let run = op.run.filter(|run| op.kind == OpKind::Create && !run.is_root());
        if let Some(run) = run {
            *counted.lock().unwrap().entry(run.path.to_string()).or_default() += 1;
        }
        async { StoreFault::None }
    });
    sim.post_question(sim.make_question(settings()));
    // Without a client each outcome wakes the run anew, while the third task is at work.
    sim.pass_time(Duration::from_secs(25)).await;
    assert_eq!((sim.alive_count(), sim.has_alarm()), (0, false));
    let created = created.lock().unwrap();
    assert!(created.len() >= 3 && created.values().all(|times| *times == 1), "{created:?}");
}

/// What every function on AWS has.
const INVOCATION: Duration = Duration::from_secs(900);

/// Two tasks at once. The first looks something up for 400 s, the second has ended after 50 s.
fn two_at_once() -> Sim {
    let (points, ledger) = (Points::new(), Ledger::default());
    let plan = json!({"command": "create", "steps": ["gold", "silver"], "depends_on": [[], []]});
    let lines = [
        ("t1", StoryLine::say("I plan.").with_call("planning", plan)),
        ("s1.1.t1", StoryLine::say("I look.").with_call("look", json!({"for": "gold"}))),
        ("s1.1.t2", StoryLine::say("Gold is dear.")),
        ("s2.1.t1", StoryLine::say("Silver is cheap.").with_latency(Duration::from_secs(50))),
        ("t2", StoryLine::say("I am done.").with_call("planning", json!({"command": "finish"}))),
        ("summary", StoryLine::say("Gold is the dearer one.")),
    ];
    let model = StoryModel::new(lines, points.clone());
    let takes = Duration::from_secs(400);
    let look = LedgerTool {
        duration: takes,
        timeout_ms: 600_000,
        ..LedgerTool::new("look", EffectClass::Read, &ledger, &points)
    };
    let mut sim = Sim::new(model, Toolbox::default().with_tool(look), points);
    sim.invocation = Some(INVOCATION);
    sim
}

/// Asks for a plan, and says which run is to answer.
fn ask_deep(sim: &mut Sim) -> RunKey {
    let settings = RunSettings { mode: Machine::PlanSolve.into(), ..RunSettings::default() };
    let question = sim.make_question(settings);
    let key = question.run_key();
    sim.ask_question(question);
    key
}

/// What the first client was sent last, and how long after it had asked.
fn last_frame(sim: &Sim) -> (i64, String) {
    let frames = sim.clients[0].lock().unwrap();
    let ((first_ms, _), (last_ms, last)) = (frames.first().unwrap(), frames.last().unwrap());
    (last_ms - first_ms, last.clone())
}

#[tokio::test(start_paused = true)]
async fn a_response_that_only_waits_for_tasks_ends_two_minutes_after_what_it_showed_last() {
    let mut sim = two_at_once();
    let key = ask_deep(&mut sim);
    // Looked after every 30 s: that is no work. The other one's end is shown after 50 s.
    sim.pass_time(Duration::from_secs(168)).await;
    assert_eq!(sim.alive_count(), 2, "the driver, and one executor");
    sim.pass_time(Duration::from_secs(5)).await;
    assert_eq!(sim.alive_count(), 1, "the executor");
    assert_eq!(sim.ports.store.find_meta(&key).await.unwrap().unwrap().lease, None);
    let (after_ms, last) = last_frame(&sim);
    assert!(last.contains("event: run.handed_over"), "{last}");
    assert!((170_000..173_000).contains(&after_ms), "{after_ms}");

    sim.pass_time(Duration::from_secs(300)).await;
    let entries = sim.read_history(&key).await.unwrap();
    assert!(entries.iter().all(|entry| !entry.id.to_string().contains("resumed")), "{entries:#?}");
    assert!(visible(&entries).last().unwrap().contains("Gold is the dearer one."));
    assert_eq!((sim.alive_count(), sim.has_alarm()), (0, false));
}

#[tokio::test(start_paused = true)]
async fn how_long_a_silent_response_goes_on_is_a_setting_for_clients_that_can_come_back() {
    let mut sim = two_at_once();
    let idle_stream = Duration::from_secs(30);
    sim.ports.settings = Settings { idle_stream, ..Settings::default() }.into();
    ask_deep(&mut sim);
    sim.pass_time(Duration::from_secs(60)).await;
    let (after_ms, last) = last_frame(&sim);
    assert!(last.contains("event: run.handed_over"), "{last}");
    assert!((30_000..32_000).contains(&after_ms), "{after_ms}");

    // The others wait for longer, and are told in their own words when it ends.
    for (unresumable_s, told) in [(840, "Gold is the dearer one."), (90, "Still working")] {
        let mut sim = two_at_once();
        sim.projection = joyagent_ui;
        let idle_stream_unresumable = Duration::from_secs(unresumable_s);
        let settings = Settings { idle_stream, idle_stream_unresumable, ..Settings::default() };
        sim.ports.settings = settings.into();
        ask_deep(&mut sim);
        sim.pass_time(Duration::from_secs(480)).await;
        let (after_ms, last) = last_frame(&sim);
        assert!(last.contains("\"finished\":true") && last.contains(told), "{last}");
        let silent_until_ms = if unresumable_s == 90 { 140_000 } else { 400_000 };
        assert!((silent_until_ms..silent_until_ms + 3_000).contains(&after_ms), "{after_ms}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_nothing_ends_an_invocation_no_response_ends_for_being_silent() {
    let mut sim = two_at_once();
    sim.invocation = None;
    ask_deep(&mut sim);
    sim.pass_time(Duration::from_secs(410)).await;
    let (_, last) = last_frame(&sim);
    assert!(last.contains("event: run.ended"), "{last}");
    assert_eq!(sim.clients.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_response_goes_on_as_long_as_its_tasks_stream() {
    for speaks in [native, joyagent_ui] {
        let points = Points::new();
        let plan =
            json!({"command": "create", "steps": ["gold", "silver"], "depends_on": [[], []]});
        // 60 pieces, one every four seconds, twice: eight minutes in which no task has an end.
        let says = |what: &str| StoryLine::say(&what.repeat(60)).with_pace(Duration::from_secs(4));
        let lines = [
            ("t1", StoryLine::say("I plan.").with_call("planning", plan)),
            ("s1.1.t1", says("gold").with_call("look", json!({"for": "gold"}))),
            ("s1.1.t2", says("gold")),
            ("s2.1.t1", says("tin ").with_call("look", json!({"for": "tin"}))),
            ("s2.1.t2", says("tin ")),
            (
                "t2",
                StoryLine::say("I am done.").with_call("planning", json!({"command": "finish"})),
            ),
            ("summary", StoryLine::say("Gold is the dearer one.")),
        ];
        let model = StoryModel::new(lines, points.clone());
        let look = LedgerTool::new("look", EffectClass::Read, &Ledger::default(), &points);
        let mut sim = Sim::new(model, Toolbox::default().with_tool(look), points);
        sim.invocation = Some(INVOCATION);
        sim.projection = speaks;
        let silence = Duration::from_secs(20);
        let (idle_stream, idle_stream_unresumable) = (silence, silence);
        let settings = Settings { idle_stream, idle_stream_unresumable, ..Settings::default() };
        sim.ports.settings = settings.into();
        ask_deep(&mut sim);
        sim.pass_time(Duration::from_secs(500)).await;
        let (after_ms, last) = last_frame(&sim);
        assert!(last.contains("Gold is the dearer one."), "{last}");
        assert!(after_ms >= 480_000, "{after_ms}");
    }
}

/// How often somebody took the lease of the run itself.
fn taken(sim: &Sim) -> usize {
    let log = MemoryStore::clone(&sim.ports.store).log();
    let is_run = |op: &&djinn_testkit::memory::Op| op.run.as_ref().is_some_and(|run| run.is_root());
    log.iter().filter(|op| op.kind == OpKind::TakeLease).filter(is_run).count()
}

#[tokio::test(start_paused = true)]
async fn mail_that_was_heard_and_cannot_be_deleted_keeps_nobody_awake() {
    let mut sim = sim(Points::new(), &Ledger::default());
    sim.ports.store.before_each(|op| async move {
        if op.kind == OpKind::DeleteMail { StoreFault::NotDone } else { StoreFault::None }
    });
    let question = sim.make_question(settings());
    let entries = sim.run_alone(&question, Duration::from_secs(30)).await.unwrap();
    assert_eq!(seen(&entries), expected(&[]));
    // Once for the question and once for each outcome of the three at work side by side.
    assert_eq!(taken(&sim), 4);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_was_announced_and_has_not_come_is_not_heard_of_on_the_way_to_sleep() {
    let mut sim = sim(Points::new(), &Ledger::default());
    let question = sim.make_question(settings());
    let file = ProductFile {
        name: FileName::new("late.csv").unwrap(),
        description: String::new(),
        size: 4,
        internal: false,
        media_type: media_type_of("late.csv").to_owned(),
        object: "o-late".to_owned(),
        has_rows: None,
        uploaded: false,
    };
    let announced = Mail::FileAnnounced { file };
    sim.ports.store.put_mail(&question.run_key(), &announced, 0).await.unwrap();
    let entries = sim.run_alone(&question, Duration::from_secs(30)).await.unwrap();
    assert_eq!(seen(&entries), expected(&[]));
    assert_eq!(taken(&sim), 4);
    assert_eq!(sim.ports.store.list_mail(&question.run_key()).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_stood_still_after_it_took_the_lease_does_not_drive() {
    // The first driver dies. The second takes the lease 20 s later and stands still for 25 s; the
    // third takes it meanwhile, and is at work when the second wakes up.
    let mut taken = 0;
    let points = Points::with_decision(move |_, point| match point.name.as_str() {
        "after Append 1" if point.process == 1 => Fate::Dies,
        "after TakeLease" => {
            taken += 1;
            if taken == 1 { Fate::Freezes(Duration::from_secs(25)) } else { Fate::Passes }
        }
        _ => Fate::Passes,
    });
    let mut sim = sim(points, &Ledger::default());
    let entries = told(&mut sim).await;
    assert_eq!(seen(&entries), expected(&[]));
    let key = sim.make_question(settings()).run_key();
    let records = sim.ports.store.read_from(&key, 0).await.unwrap();
    let epochs: Vec<u64> = records.iter().map(|record| record.epoch).collect();
    assert!(epochs.is_sorted() && !epochs.contains(&2), "{epochs:?}");
    assert!(epochs.contains(&3), "{epochs:?}");
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_delivers_waits_for_that_and_for_nothing_else() {
    let mut sim = sim(Points::new(), &Ledger::default());
    sim.delay_alarm_removal(Duration::from_secs(1));
    assert_eq!(seen(&told(&mut sim).await), expected(&[]));
}

#[tokio::test(start_paused = true)]
async fn an_alarm_rings_until_all_that_an_ended_run_owes_is_delivered() {
    let mut sim = sim(Points::new(), &Ledger::default());
    let question = sim.make_question(settings());
    let (key, user) = (question.run_key(), question.spec.user.clone());
    sim.post_question(question);
    sim.pass_time(Duration::from_secs(3)).await;
    // The run hears of the stop; its task cannot be told.
    sim.ports.store.before_each(|op| async move {
        let to_task = op.run.is_some_and(|run| !run.is_root());
        if to_task && op.kind == OpKind::PutMail { StoreFault::NotDone } else { StoreFault::None }
    });
    let mut run = LoadedRun::load(&sim.ports, &key).await.unwrap();
    request_stop(&sim.ports, &mut run, user).await.unwrap_err();
    sim.pass_time(Duration::from_secs(60)).await;
    sim.ring_alarms();
    sim.pass_time(Duration::from_secs(1)).await;
    let owed = async |sim: &Sim| {
        let records = sim.ports.store.read_from(&key, 0).await.unwrap();
        Journal::fold(&records).unwrap().run().due().len()
    };
    assert_eq!((sim.alive_count(), sim.has_alarm(), owed(&sim).await), (0, true, 1));

    sim.ports.store.without_faults();
    sim.ring_alarms();
    sim.pass_time(Duration::from_secs(1)).await;
    assert_eq!((sim.alive_count(), sim.has_alarm(), owed(&sim).await), (0, false, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_waits_for_a_call_of_a_task_that_is_driven_where_its_run_is() {
    let (points, ledger) = (Points::new(), Ledger::default());
    let plan = json!({"command": "create", "steps": ["send"]});
    let lines = [
        ("t1", StoryLine::say("I plan.").with_call("planning", plan)),
        ("s1.1.t1", StoryLine::say("I send it.").with_call("send", json!({"to": "all"}))),
        ("s1.1.t2", StoryLine::say("Sent.")),
        ("t2", StoryLine::say("I am done.").with_call("planning", json!({"command": "finish"}))),
        ("summary", StoryLine::say("It was sent.")),
    ];
    let model = StoryModel::new(lines, points.clone());
    let takes = Duration::from_millis(400);
    let send = LedgerTool {
        duration: takes,
        ..LedgerTool::new("send", EffectClass::Once, &ledger, &points)
    };
    let mut sim = Sim::new(model, Toolbox::default().with_tool(send), points);
    // The margin starts after 200 ms, in the middle of the call. Without kicks the client, which
    // comes back, drives everything.
    sim.kick_copies = 0;
    sim.invocation = Some(Duration::from_millis(1_200));
    let hand_over_margin = Duration::from_secs(1);
    sim.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
    let settings = RunSettings { mode: Machine::PlanSolve.into(), ..RunSettings::default() };
    let entries = sim.run_to_end(&sim.make_question(settings)).await.unwrap();
    let seen = visible(&entries);
    assert!(seen.contains(&"s1.1.t1.c1.result gets: send is done".to_owned()), "{seen:#?}");
    assert!(entries.iter().all(|entry| !entry.id.to_string().contains("resumed")), "{entries:#?}");
    assert_eq!(ledger.count("send s1.1.t1.c1"), 1);
}
