//! The end of a response: at most a second after its run ended, paused or was handed over, whichever service is
//! down, slow or denied. Nor does a run wait longer than that for its alarm.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use djinn_core::human::{HumanResponse, HumanSettings, TimeoutAction};
use djinn_core::settings::RunSettings;
use djinn_protocol::connection::Connection;
use djinn_runtime::client::ClientStream;
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{
    LoadedRun, ServeContext, StartResult, list_requests, serve_client, start_streaming,
};
use djinn_runtime::settings::Settings;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::{ALARM_EVERY, HostService, ServiceFault, Sim, native};

use crate::crash::sorted;
use crate::market;
use crate::story::{TOLD, sim, visible};

/// The maximum time from the end of a run to the end of its response, in milliseconds.
const MAX_OPEN_MS: i64 = 1_000;

/// Asks the question in one invocation. Returns the milliseconds from the end of the run to the end of the
/// response, and the frames.
async fn ask_once(sim: &Sim, question: &UserQuestion) -> (i64, String) {
    let ports = &sim.ports;
    let holder = "first".to_owned();
    let start = start_streaming(ports, question.clone(), &holder, None).await.unwrap();
    let StartResult::New { key, leased_run, first_record } = start else { panic!("it is new") };
    let projection = native(question, key.run.clone());
    let connection = Connection::new(key.run.clone(), projection, true);
    let now_ms = ports.clock.now_ms();
    let (mut client, mut body) = ClientStream::open(connection, usize::MAX, now_ms);
    client.send_record(&first_record, &[], now_ms);
    let deadline = Deadline::from_invocation(now_ms + 900_000, now_ms, Duration::from_secs(10));
    let serving = ServeContext { key, holder, deadline, hops: 0 };
    let reading = async {
        let mut frames = String::new();
        let mut ended_at_ms = None;
        while let Some(frame) = body.next_frame().await {
            if frame.contains("run.ended") {
                ended_at_ms = Some(ports.clock.now_ms());
            }
            frames.push_str(&frame);
        }
        let ended_at_ms = ended_at_ms.unwrap_or_else(|| panic!("no end in {frames}"));
        (ports.clock.now_ms() - ended_at_ms, frames)
    };
    tokio::join!(reading, serve_client(ports, serving, client, Some(leased_run))).0
}

/// Asks while `fault` holds, repairs, and checks that nothing is lost.
async fn check(what: &str, mut sim: Sim, ledger: &Ledger) {
    let question = sim.make_question(RunSettings::default());
    let (open_ms, frames) = ask_once(&sim, &question).await;
    assert!(open_ms <= MAX_OPEN_MS, "{what}: the response ends {open_ms} ms after its run");
    assert!(frames.contains("It was looked up and sent."), "{what}: {frames}");
    sim.ports.store.without_faults();
    for service in SERVICES {
        sim.ports.alarms.set_fault(service, None);
    }
    let entries = sim.run_to_end(&question).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(sorted(&visible(&entries)), sorted(&TOLD), "{what}");
    assert_eq!(ledger.count("send t2.c1"), 1, "{what}");
    assert!(!sim.has_alarm(), "{what}");
}

const SERVICES: [HostService; 2] = [HostService::Scheduler, HostService::Invoker];

const FAULTS: [ServiceFault; 3] = [ServiceFault::Down, ServiceFault::Denies, ServiceFault::Hangs];

#[tokio::test(start_paused = true)]
async fn a_response_ends_in_time_whatever_the_host_does() {
    for service in SERVICES {
        for fault in FAULTS {
            let ledger = Ledger::default();
            let sim = sim(Points::new(), &ledger);
            let host = Arc::clone(&sim.ports.alarms);
            sim.ports.store.before_each(move |op| {
                if op.kind == OpKind::End {
                    host.set_fault(service, Some(fault));
                }
                async { StoreFault::None }
            });
            check(&format!("{service:?} {fault:?}"), sim, &ledger).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_denied_alarm_changes_no_answer() {
    let ledger = Ledger::default();
    let sim = sim(Points::new(), &ledger);
    sim.ports.alarms.set_fault(HostService::Scheduler, Some(ServiceFault::Denies));
    check("no grant for alarms", sim, &ledger).await;
}

#[tokio::test(start_paused = true)]
async fn a_response_ends_in_time_whatever_the_store_does() {
    for hangs in [false, true] {
        let ledger = Ledger::default();
        let sim = sim(Points::new(), &ledger);
        let has_ended = Arc::new(AtomicBool::new(false));
        sim.ports.store.before_each(move |op| {
            let fails = has_ended.load(Ordering::Relaxed);
            has_ended.fetch_or(op.kind == OpKind::End, Ordering::Relaxed);
            async move {
                match (fails, hangs) {
                    (false, _) => StoreFault::None,
                    (true, false) => StoreFault::NotDone,
                    (true, true) => std::future::pending().await,
                }
            }
        });
        check(&format!("the store hangs {hangs}"), sim, &ledger).await;
    }
}

/// Asks while Scheduler has `fault` from the start, without alarms. Returns the milliseconds from the question to
/// the answer, and from the answer to the end of the response.
async fn measure_plan(fault: Option<ServiceFault>) -> (i64, i64) {
    let ledger = Ledger::default();
    let mut sim = market::sim(Points::new(), &ledger);
    sim.ports.alarms.set_fault(HostService::Scheduler, fault);
    let began_at_ms = sim.ports.clock.now_ms();
    let question = sim.make_question(market::settings());
    sim.ask_question(question.clone());
    let ended_at_ms = loop {
        sim.pass_time(Duration::from_millis(100)).await;
        let frames = sim.clients[0].lock().unwrap().clone();
        let end = frames.iter().find(|(_, frame)| frame.contains("run.ended"));
        if let Some((at_ms, _)) = end {
            break *at_ms;
        }
        let waited_ms = sim.ports.clock.now_ms() - began_at_ms;
        assert!(waited_ms < 120_000, "{fault:?}: no end: {frames:#?}");
    };
    while sim.alive_count() > 0 {
        sim.pass_time(Duration::from_millis(50)).await;
        let open_ms = sim.ports.clock.now_ms() - ended_at_ms;
        assert!(open_ms < 60_000, "{fault:?}: the response stays open");
    }
    let closed_at_ms = sim.ports.clock.now_ms();
    let history = sim.read_history(&question.run_key()).await.unwrap();
    assert_eq!(market::seen(&history), market::expected(&[]), "{fault:?}");
    for call in market::ONCE {
        assert_eq!(ledger.count(&format!("send {call}")), 1, "{fault:?}: {call}");
    }
    (ended_at_ms - began_at_ms, closed_at_ms - ended_at_ms)
}

#[tokio::test(start_paused = true)]
async fn a_plan_waits_at_most_a_second_for_its_alarm() {
    let (usual_ms, _) = measure_plan(None).await;
    for fault in FAULTS {
        let (took_ms, open_ms) = measure_plan(Some(fault)).await;
        assert!(took_ms <= usual_ms + 1_000, "{fault:?}: {took_ms} ms, not {usual_ms} ms");
        assert!(open_ms <= MAX_OPEN_MS, "{fault:?}: open for {open_ms} ms after the end");
    }
}

#[tokio::test(start_paused = true)]
async fn an_alarm_that_failed_stays_owed_while_its_run_works() {
    let mut sim = market::sim(Points::new(), &Ledger::default());
    sim.ports.alarms.set_fault(HostService::Scheduler, Some(ServiceFault::Down));
    let question = sim.make_question(market::settings());
    sim.ask_question(question);
    sim.pass_time(Duration::from_secs(2)).await;
    assert!(!sim.has_alarm() && sim.alive_count() > 1, "the steps wait for the alarm");
    sim.ports.alarms.set_fault(HostService::Scheduler, None);
    sim.pass_time(Duration::from_secs(3)).await;
    assert!(sim.has_alarm() && sim.alive_count() > 0, "the alarm is not set any more");
}

/// The story, in which a person confirms before anything is sent. Nobody answers for ten minutes: then it is sent.
fn confirmed_settings() -> RunSettings {
    let require = ["send"].map(str::to_owned).into();
    let on_timeout = TimeoutAction::Confirm;
    let human = HumanSettings {
        enabled: true,
        require,
        timeout_s: 600,
        on_timeout,
        ..HumanSettings::default()
    };
    RunSettings { human, ..RunSettings::default() }
}

/// Asks, with Scheduler failing after some time, until the run waits for its person. Checks that the response ends
/// at most a second after the pause.
async fn pause_with_fault(
    fault: ServiceFault,
    after: Duration,
    ledger: &Ledger,
) -> (Sim, UserQuestion) {
    let mut sim = sim(Points::new(), ledger);
    let question = sim.make_question(confirmed_settings());
    if after.is_zero() {
        sim.ports.alarms.set_fault(HostService::Scheduler, Some(fault));
    }
    sim.ask_question(question.clone());
    sim.pass_time(after).await;
    sim.ports.alarms.set_fault(HostService::Scheduler, Some(fault));
    sim.pass_time(Duration::from_secs(60)).await;
    assert_eq!(sim.alive_count(), 0, "{fault:?} after {after:?}: something is at work");
    let frames = sim.clients[0].lock().unwrap().clone();
    let find_ms = |event: &str| {
        let frame = frames.iter().find(|(_, frame)| frame.contains(event));
        frame.unwrap_or_else(|| panic!("{fault:?} after {after:?}: no {event}: {frames:#?}")).0
    };
    let open_ms = find_ms("run.handed_over") - find_ms("human.requested");
    assert!(open_ms <= MAX_OPEN_MS, "{fault:?} after {after:?}: open for {open_ms} ms");
    (sim, question)
}

#[tokio::test(start_paused = true)]
async fn a_response_ends_in_time_when_its_run_pauses_whatever_scheduler_does() {
    for fault in FAULTS {
        let ledger = Ledger::default();
        let (mut sim, question) = pause_with_fault(fault, Duration::from_secs(1), &ledger).await;
        let key = question.run_key();
        sim.ports.alarms.set_fault(HostService::Scheduler, None);
        assert!(sim.has_alarm(), "{fault:?}: nothing brings the run back");
        // The alarm rings on, and its invocation sets the timer.
        for _ in 0..6 {
            sim.pass_time(ALARM_EVERY).await;
            sim.ring_alarms();
        }
        sim.pass_time(Duration::from_secs(30)).await;
        let seen = visible(&sim.read_history(&key).await.unwrap());
        assert!(seen.last().unwrap().starts_with("end finished"), "{fault:?}: {seen:#?}");
        assert_eq!(ledger.count("send t2.c1"), 1, "{fault:?}");
        assert!(!sim.has_alarm(), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_is_heard_while_there_are_no_alarms() {
    for fault in FAULTS {
        let ledger = Ledger::default();
        let (mut sim, question) = pause_with_fault(fault, Duration::ZERO, &ledger).await;
        let key = question.run_key();
        let mut run = LoadedRun::load(&sim.ports, &key).await.unwrap();
        let request = list_requests(&sim.ports, &mut run).await.unwrap().remove(0);
        sim.send_answer(&key, &request, HumanResponse::Confirm);
        sim.pass_time(Duration::from_secs(60)).await;
        let seen = visible(&sim.read_history(&key).await.unwrap());
        assert!(seen.last().unwrap().starts_with("end finished"), "{fault:?}: {seen:#?}");
        assert_eq!(ledger.count("send t2.c1"), 1, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_ends_in_time_when_no_successor_can_be_invoked() {
    let mut sim = sim(Points::new(), &Ledger::default());
    sim.invocation = Some(Duration::from_secs(20));
    let hand_over_margin = Duration::from_millis(19_500);
    sim.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
    sim.ports.alarms.set_fault(HostService::Invoker, Some(ServiceFault::Hangs));
    sim.ask_question(sim.make_question(RunSettings::default()));
    // The handoff starts after 500 ms.
    sim.pass_time(Duration::from_millis(500 + 1_100)).await;
    assert_eq!(sim.alive_count(), 0, "the response is open");
    let frames = sim.clients[0].lock().unwrap().clone();
    let (_, last) = frames.last().unwrap();
    assert!(last.contains("event: run.handed_over"), "{last}");
}
