//! Runs that wait for people: whatever dies, nothing happens unasked, nothing is asked twice, and what
//! was decided happens once.

use djinn_core::id::Path;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::{
    HumanRequest, HumanResponse, HumanSettings, ResponseRecord, TimeoutAction,
};
use djinn_core::id::{ChildId, HumanRequestId, RequestId, UserId};
use djinn_core::input::UserMessage;
use djinn_core::settings::RunSettings;
use djinn_core::status::RunStatus;
use djinn_core::tool::EffectClass;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::serve::{
    LoadedRun, ResponseCapability, ResponseStatus, list_requests, request_stop, send_message,
    start_background, submit_response,
};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_testkit::sim::{Sim, SimWorld};
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::{Map, json};

use crate::crash::sorted;
use crate::story::{sim, visible};
use crate::viewer::{events, sent};
use crate::{market, story};

/// People are asked before anything is sent, and have this long.
fn asking(timeout_s: u64) -> HumanSettings {
    let require = ["send"].map(str::to_owned).into();
    HumanSettings { enabled: true, require, timeout_s, ..HumanSettings::default() }
}

fn settings(timeout_s: u64) -> RunSettings {
    RunSettings { human: asking(timeout_s), ..RunSettings::default() }
}

fn confirms(_: &HumanRequest) -> HumanResponse {
    HumanResponse::Confirm
}

async fn told(sim: &mut Sim, settings: RunSettings) -> Vec<Entry> {
    sim.run_to_end(&sim.make_question(settings)).await.unwrap()
}

/// What is seen where somebody confirms that it is sent.
const CONFIRMED: [&str; 13] = [
    "start started: What is to be done?",
    "t1 says: I look it up and write it down.",
    r#"t1.c1 calls look {"up":"it"}"#,
    r#"t1.c2 calls write {"down":"it"}"#,
    "t1.c2.result gets: write is done",
    "t1.c1.result gets: look is done",
    "t2 says: Now I send it.",
    r#"t2.c1 calls send {"to":"all"}"#,
    "t2.c1.requested asks t2: t2.c1",
    "t2.c1.resolved hears confirm",
    "t2.c1.result gets: send is done",
    "t3 says: It was looked up and sent.",
    "end finished: It was looked up and sent. (3 steps, 3 model calls, 3 tool calls)",
];

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_survives_a_crash_at_every_point() {
    let points = Points::new();
    let mut undisturbed = sim(points.clone(), &Ledger::default());
    undisturbed.person = Some(confirms);
    assert_eq!(visible(&told(&mut undisturbed, settings(0)).await), CONFIRMED);
    let names = points.point_names();
    let started = |name: &str| names.iter().position(|known| known == name).unwrap();
    let sends = started("before tool t2.c1");
    for (at, name) in names.iter().enumerate() {
        let ledger = Ledger::default();
        let mut sim = sim(Points::killing_at(at), &ledger);
        sim.person = Some(confirms);
        let seen = visible(&told(&mut sim, settings(0)).await);
        let uncertain = seen.iter().any(|line| line == "t2.c1.result fails: uncertain");
        assert!(!uncertain || at + 1 >= sends, "killed at {at}, {name}: {seen:#?}");
        let not_the_result =
            |line: &&str| !line.starts_with("t2.c1.result") && !line.starts_with("end");
        let expected: Vec<&str> = CONFIRMED.into_iter().filter(not_the_result).collect();
        let seen: Vec<&str> = seen.iter().map(String::as_str).filter(not_the_result).collect();
        assert_eq!(sorted(&seen), sorted(&expected), "killed at {at}, {name}");
        assert!(ledger.count("send t2.c1") <= 1, "sent twice when killed at {at}, {name}");
        assert!(uncertain || ledger.count("send t2.c1") == 1, "not sent: {at}, {name}");
        assert!(!sim.has_alarm(), "an alarm is left when killed at {at}, {name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_whose_tasks_wait_survives_a_crash_of_any_process_at_every_point() {
    let settings = || RunSettings { human: asking(0), ..market::settings() };
    let points = Points::new();
    let mut undisturbed = market::sim(points.clone(), &Ledger::default());
    undisturbed.person = Some(confirms);
    let expected = visible(&told(&mut undisturbed, settings()).await);
    let about = |line: &&String| line.contains(" asks ") || line.contains(" hears ");
    let asked: Vec<&String> = expected.iter().filter(about).collect();
    assert_eq!(
        asked,
        [
            "s3.1.t1.c1.requested asks s3.1.t1: s3.1.t1.c1",
            "s3.1.t1.c1.resolved hears confirm",
            "s4.1.t1.c2.requested asks s4.1.t1: s4.1.t1.c2",
            "s4.1.t1.c2.resolved hears confirm",
        ]
    );
    let passed = points.passed_points();
    assert!(passed.len() > 150, "{} points", passed.len());
    for (at, point) in passed.iter().enumerate() {
        let ledger = Ledger::default();
        let mut sim = market::sim(Points::killing_at(at), &ledger);
        sim.person = Some(confirms);
        let seen = visible(&told(&mut sim, settings()).await);
        let name = format!("killed at {at}, {}", point.name);
        let asked_now: Vec<&String> = seen.iter().filter(about).collect();
        assert_eq!(sorted(&asked_now), sorted(&asked), "{name}");
        for call in market::ONCE {
            let sent = ledger.count(&format!("send {call}"));
            let uncertain = format!("{call}.result fails: uncertain");
            let uncertain = seen.contains(&uncertain);
            assert!(sent == 1 || (sent == 0 && uncertain), "{name}: {call} {sent} {seen:#?}");
        }
        let ids = |lines: &[String]| {
            let ids = lines.iter().filter_map(|line| line.split(' ').next());
            ids.map(str::to_owned).collect::<BTreeSet<_>>()
        };
        assert_eq!(ids(&seen), ids(&expected), "{name}");
        assert!(!sim.has_alarm(), "an alarm is left when {name}");
    }
}

/// A run that waits for somebody's answer about `t2.c1`.
async fn waiting(ledger: &Ledger, settings: RunSettings) -> (Sim, RunKey) {
    let mut sim = sim(Points::new(), ledger);
    let question = sim.make_question(settings);
    let key = question.run_key();
    sim.post_question(question);
    sim.pass_time(Duration::from_secs(30)).await;
    let meta = sim.ports.store.find_meta(&key).await.unwrap().unwrap();
    assert_eq!((meta.status, meta.lease, sim.alive_count()), (RunStatus::Paused, None, 0));
    (sim, key)
}

/// What it asks first.
async fn asked(sim: &Sim, key: &RunKey) -> HumanRequest {
    let mut run = LoadedRun::load(&sim.ports, key).await.unwrap();
    list_requests(&sim.ports, &mut run).await.unwrap().remove(0)
}

async fn submitted(
    ports: &SimWorld,
    key: &RunKey,
    answered: ResponseRecord,
) -> Result<ResponseStatus, Failure> {
    let mut run = LoadedRun::load(ports, key).await?;
    submit_response(ports, &mut run, answered, ResponseCapability::Everything).await
}

#[tokio::test(start_paused = true)]
async fn route_without_the_capability_decides_no_approval_in_any_way() {
    let (sim, key) = waiting(&Ledger::default(), settings(0)).await;
    let request = asked(&sim, &key).await;
    for capability in [ResponseCapability::Nothing, ResponseCapability::Questions] {
        let mut codes = Vec::new();
        let response =
            ResponseRecord { request: request.id.clone(), ..answered("a", HumanResponse::Confirm) };
        let mut run = LoadedRun::load(&sim.ports, &key).await.unwrap();
        let submitted = submit_response(&sim.ports, &mut run, response, capability).await;
        codes.push(submitted.err().map(|error| error.code));
        for text in ["confirm", "Do it now.", "continue"] {
            let mut question = sim.make_question(settings(0));
            question.spec.request = RequestId::new("other").unwrap();
            question.spec.question = text.to_owned();
            question.capability = capability;
            codes.push(start_background(&sim.ports, question).await.err().map(|error| error.code));
        }
        // With any capability, `continue` shows the run, and decides nothing about an approval.
        let of_continue =
            (capability == ResponseCapability::Nothing).then_some(ErrorCode::SessionBusy);
        let busy = Some(ErrorCode::SessionBusy);
        assert_eq!(codes, [busy, busy, busy, of_continue], "{capability:?}");
        // An approval is no interruption, so `continue` is a message like any other.
        let by = UserId::new("u").unwrap();
        let message =
            UserMessage { id: format!("{capability:?}"), by, text: "continue".to_owned() };
        let _ = send_message(&sim.ports, &mut run, message, capability).await;
        assert_eq!(asked(&sim, &key).await.id, request.id, "{capability:?}");
    }
}

fn answered(id: &str, answer: HumanResponse) -> ResponseRecord {
    ResponseRecord {
        request: HumanRequestId::new("t2.c1").unwrap(),
        id: id.to_owned(),
        by: UserId::new(id).ok(),
        answer,
        comment: String::new(),
        digest: None,
        via: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_month_goes_by_without_an_invocation_or_a_write() {
    let ledger = Ledger::default();
    let points = Points::new();
    let note = |tool: LedgerTool| LedgerTool { logs_arguments: true, ..tool };
    let tools = Toolbox::default()
        .with_tool(LedgerTool::new("look", EffectClass::Read, &ledger, &points))
        .with_tool(LedgerTool::new("write", EffectClass::Idempotent, &ledger, &points))
        .with_tool(note(LedgerTool::new("send", EffectClass::Once, &ledger, &points)));
    let model = StoryModel::new(story::lines(), points.clone());
    let mut sim = Sim::new(model, tools, points.clone());
    let question = sim.make_question(settings(0));
    let key = question.run_key();
    sim.post_question(question);
    sim.pass_time(Duration::from_secs(30)).await;
    assert!(!sim.has_alarm(), "nothing brings it back but an answer");
    let before = points.point_names().len();
    for _ in 0..30 * 24 * 30 {
        sim.pass_time(Duration::from_secs(120)).await;
        sim.ring_alarms();
    }
    assert_eq!(points.point_names().len(), before, "something happened in that month");
    let arguments = Map::from_iter([("to".to_owned(), json!("boss"))]);
    sim.send_answer(&key, &asked(&sim, &key).await, HumanResponse::Modify { arguments });
    sim.pass_time(Duration::from_secs(60)).await;
    assert_eq!(ledger.count(r#"send t2.c1 {"to":"boss"}"#), 1);
    let history = sim.read_history(&key).await.unwrap();
    let end = visible(&history).pop().unwrap();
    assert!(end.starts_with("end finished"), "{end}");
    let Some(Event::RunEnded(ending)) = history.last().map(|entry| &entry.event) else {
        panic!("{history:#?}")
    };
    let month_ms = 30 * 24 * 60 * 60 * 1000;
    assert!(ending.paused_ms >= month_ms && ending.wall_ms() < 5 * 60 * 1000, "{ending:?}");
    assert_eq!(ledger.lines().iter().filter(|line| line.starts_with("send")).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn arguments_that_a_person_changed_are_quoted_by_no_error() {
    let (mut sim, key) = waiting(&Ledger::default(), settings(0)).await;
    let arguments = json!({"to": ["the boss of Anna Ruiz"], "how": {"by": "pigeon, at dawn"}});
    let arguments = arguments.as_object().unwrap().clone();
    let ask = &asked(&sim, &key).await;
    sim.send_answer(&key, ask, HumanResponse::Modify { arguments });
    sim.pass_time(Duration::from_secs(60)).await;
    let asked = sim.ports.model.requests();
    let masked = &asked.last().unwrap().external_texts;
    for text in ["the boss of Anna Ruiz", "pigeon, at dawn"] {
        assert!(masked.iter().any(|masked| masked == text), "{masked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_in_time_the_default_holds_with_nobody_there() {
    for (on_timeout, sent, last) in [
        (TimeoutAction::Skip, 0, "end finished"),
        (TimeoutAction::Confirm, 1, "end finished"),
        (TimeoutAction::Stop, 0, "end stopped"),
    ] {
        let ledger = Ledger::default();
        let human = HumanSettings { on_timeout, ..asking(300) };
        let (mut sim, key) = waiting(&ledger, RunSettings { human, ..settings(300) }).await;
        assert!(sim.has_alarm());
        sim.pass_time(Duration::from_secs(200)).await;
        sim.ring_alarms();
        assert_eq!(sim.alive_count(), 0, "too early");
        sim.pass_time(Duration::from_secs(100)).await;
        sim.ring_alarms();
        sim.pass_time(Duration::from_secs(30)).await;
        let seen = visible(&sim.read_history(&key).await.unwrap());
        assert!(seen.last().unwrap().starts_with(last), "{on_timeout:?}: {seen:#?}");
        assert_eq!(ledger.count("send t2.c1"), sent, "{on_timeout:?}");
        assert!(!sim.has_alarm(), "{on_timeout:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_twenty_answers_at_once_one_is_taken_and_the_others_learn_which() {
    let ledger = Ledger::default();
    let (mut sim, key) = waiting(&ledger, settings(0)).await;
    let given = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut answering = tokio::task::JoinSet::new();
    for nth in 0..20 {
        let (ports, key, given) = (sim.ports.clone(), key.clone(), Arc::clone(&given));
        answering.spawn(async move {
            let said = if nth % 2 == 0 { HumanResponse::Confirm } else { HumanResponse::Skip };
            let id = format!("user{nth}");
            let came = submitted(&ports, &key, answered(&id, said)).await;
            given.lock().unwrap().push((id, came));
        });
    }
    sim.pass_time(Duration::from_secs(60)).await;
    assert!(answering.join_all().await.len() == 20);
    let given = given.lock().unwrap().clone();
    let taken: Vec<_> =
        given.iter().filter(|(_, came)| *came == Ok(ResponseStatus::Accepted)).collect();
    assert_eq!(taken.len(), 1, "{given:?}");
    let winner = &taken[0].0;
    for (id, came) in given.iter().filter(|(id, _)| id != winner) {
        let failure = came.as_ref().unwrap_err();
        assert_eq!(failure.code, ErrorCode::RequestResolved, "{id}");
        assert!(failure.detail.contains(&format!("({winner})")), "{id}: {failure:?}");
    }
    let sent = ledger.count("send t2.c1");
    let heard = visible(&sim.read_history(&key).await.unwrap());
    let confirmed = heard.iter().any(|line| line == "t2.c1.resolved hears confirm");
    assert_eq!(sent, usize::from(confirmed));
}

#[tokio::test(start_paused = true)]
async fn between_an_answer_and_a_stop_or_the_end_of_time_one_decides() {
    for how in ["stop", "expiry"] {
        let ledger = Ledger::default();
        let (mut sim, key) = waiting(&ledger, settings(300)).await;
        let (ports, run) = (sim.ports.clone(), key.clone());
        let came = tokio::spawn(async move {
            if how == "expiry" {
                tokio::time::sleep(Duration::from_secs(270)).await;
            }
            submitted(&ports, &run, answered("anna", HumanResponse::Confirm)).await
        });
        if how == "stop" {
            let mut run = LoadedRun::load(&sim.ports, &key).await.unwrap();
            request_stop(&sim.ports, &mut run, UserId::new("bob").unwrap()).await.unwrap();
        } else {
            sim.pass_time(Duration::from_secs(270)).await;
            sim.ring_alarms();
        }
        sim.pass_time(Duration::from_secs(60)).await;
        let came = came.await.unwrap();
        let seen = visible(&sim.read_history(&key).await.unwrap());
        let confirmed = seen.iter().any(|line| line == "t2.c1.resolved hears confirm");
        match came {
            Ok(given) => {
                assert!(given == ResponseStatus::Accepted && confirmed, "{how}: {seen:#?}");
            }
            Err(failure) => {
                assert_eq!(failure.code, ErrorCode::RequestResolved, "{how}");
                assert!(!confirmed, "{how}: {seen:#?}");
            }
        }
        assert!(seen.iter().filter(|line| line.contains(" hears ")).count() <= 1);
        assert_eq!(seen.iter().filter(|line| line.starts_with("end ")).count(), 1);
        assert!(ledger.count("send t2.c1") <= usize::from(confirmed));
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_and_stale_requests_can_be_told_apart() {
    let (sim, key) = waiting(&Ledger::default(), settings(0)).await;
    let code = |answered: ResponseRecord| {
        let (ports, key) = (sim.ports.clone(), key.clone());
        async move { submitted(&ports, &key, answered).await.unwrap_err().code }
    };
    let request = |id: &str| HumanRequestId::new(id).unwrap();
    let unknown =
        ResponseRecord { request: request("t9.c1"), ..answered("anna", HumanResponse::Skip) };
    assert_eq!(code(unknown).await, ErrorCode::RequestNotFound);
    let stale =
        ResponseRecord { digest: Some("0".repeat(64)), ..answered("anna", HumanResponse::Confirm) };
    assert_eq!(code(stale).await, ErrorCode::RequestStale);
    let other =
        RunKey { run: key.run.clone(), path: Path::to(ChildId::for_step(1, 1)), ..key.clone() };
    assert_eq!(LoadedRun::load(&sim.ports, &other).await.unwrap_err().code, ErrorCode::RunNotFound);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_interrupted_is_made_again_and_nothing_else() {
    let ledger = Ledger::default();
    let points = Points::new();
    let tools = Toolbox::default()
        .with_tool(LedgerTool::new("look", EffectClass::Read, &ledger, &points))
        .with_tool(LedgerTool {
            interrupts: 2,
            ..LedgerTool::new("write", EffectClass::Idempotent, &ledger, &points)
        })
        .with_tool(LedgerTool {
            interrupts: 1,
            ..LedgerTool::new("send", EffectClass::Once, &ledger, &points)
        });
    let model = StoryModel::new(story::lines(), points.clone());
    let mut sim = Sim::new(model, tools, points);
    sim.person = Some(confirms);
    let seen = visible(&told(&mut sim, RunSettings::default()).await);
    let heard: Vec<_> = seen.iter().filter(|line| line.contains(" asks ")).collect();
    assert_eq!(
        heard,
        [
            "t1.c2.again1.requested asks t1.c2: t1.c2.again1",
            "t1.c2.again2.requested asks t1.c2: t1.c2.again2",
            "t2.c1.again1.requested asks t2.c1: t2.c1.again1",
        ]
    );
    assert_eq!(ledger.lines(), ["look t1.c1", "write t1.c2", "send t2.c1"]);
    assert!(seen.last().unwrap().contains("(3 steps, 3 model calls, 3 tool calls)"), "{seen:#?}");
    assert!(!sim.has_alarm());
}

#[tokio::test(start_paused = true)]
async fn while_one_task_waits_the_others_go_on() {
    let settings = || RunSettings { human: asking(0), ..market::settings() };
    let mut sim = market::sim(Points::new(), &Ledger::default());
    let question = sim.make_question(settings());
    let key = question.run_key();
    sim.post_question(question);
    sim.pass_time(Duration::from_secs(60)).await;
    let seen = visible(&sim.read_history(&key).await.unwrap());
    for ended in ["s1.1.end", "s2.1.end"] {
        assert!(seen.iter().any(|line| line.starts_with(ended)), "{seen:#?}");
    }
    let meta = sim.ports.store.find_meta(&key).await.unwrap().unwrap();
    let task =
        sim.ports.store.find_meta(&key.with_child(ChildId::for_step(3, 1))).await.unwrap().unwrap();
    assert_eq!((meta.status, task.status), (RunStatus::Paused, RunStatus::Paused));
    assert!(sim.alive_count() == 0 && !sim.has_alarm(), "it waits for nothing but an answer");
    let now_ms = sim.ports.clock.now_ms();
    let ask = asked(&sim, &key).await;
    sim.send_answer(&key, &ask, HumanResponse::Skip);
    sim.pass_time(Duration::from_secs(5)).await;
    let seen = visible(&sim.read_history(&key).await.unwrap());
    assert!(seen.iter().any(|line| line == "s3.1.t1.c1.result fails: skipped"), "{seen:#?}");
    assert!(sim.ports.clock.now_ms() - now_ms < 6_000);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_tells_of_no_balance_is_asked_again_when_somebody_says_so() {
    use djinn_runtime::port::model::ModelErrorKind;
    let points = Points::new();
    let lines = story::lines().into_iter().map(|(message, line): (&'static str, StoryLine)| {
        let line = match message {
            "t2" => line.failing_after(0, ModelErrorKind::NoBalance),
            _ => line,
        };
        (message, line)
    });
    let model = StoryModel::new(lines, points.clone());
    let mut sim = Sim::new(model, story::tools(&Ledger::default(), &points), points);
    sim.person = Some(confirms);
    let seen = visible(&told(&mut sim, RunSettings::default()).await);
    assert!(seen.iter().any(|line| line == "t2.again1.requested asks t2: t2.again1"), "{seen:#?}");
    let end = "end finished: It was looked up and sent. (3 steps, 3 model calls, 3 tool calls)";
    assert_eq!(seen.last().unwrap(), end);
}

/// A client looks at a paused run from time to time, and its user may respond during any look.
#[tokio::test(start_paused = true)]
async fn client_whose_look_is_open_at_the_response_sees_the_run_go_on() {
    for responds_after in [0, 300, 600, 900].map(Duration::from_millis) {
        let points = Points::new();
        let lines = [
            ("t1", StoryLine::say("I send it.").with_call("send", json!({"to": "all"}))),
            ("t2", StoryLine::say("Sent.").with_latency(Duration::from_secs(5))),
        ];
        let tools = story::tools(&Ledger::default(), &points);
        let mut sim = Sim::new(StoryModel::new(lines, points.clone()), tools, points);
        let question = sim.make_question(settings(0));
        let key = question.run_key();
        sim.post_question(question.clone());
        sim.pass_time(Duration::from_secs(30)).await;
        sim.ask_question(question);
        sim.pass_time(responds_after).await;
        sim.send_answer(&key, &asked(&sim, &key).await, HumanResponse::Confirm);
        sim.pass_time(Duration::from_secs(20)).await;
        let frames = sent(sim.clients.last().unwrap());
        assert!(events(&frames, "run.handed_over").is_empty(), "{responds_after:?}: {frames:#?}");
        assert_eq!(events(&frames, "run.ended").len(), 1, "{responds_after:?}: {frames:#?}");
    }
}
