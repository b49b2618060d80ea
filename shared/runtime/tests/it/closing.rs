//! The end of a response: at most a second after the end of its run, whichever service is down, slow or denied.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use djinn_core::settings::RunSettings;
use djinn_protocol::connection::Connection;
use djinn_runtime::client::ClientStream;
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{ServeContext, StartResult, serve_client, start_streaming};
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::{HostService, ServiceFault, Sim, native};

use crate::crash::sorted;
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

#[tokio::test(start_paused = true)]
async fn a_response_ends_in_time_whatever_the_host_does() {
    for service in SERVICES {
        for fault in [ServiceFault::Down, ServiceFault::Denies, ServiceFault::Hangs] {
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
