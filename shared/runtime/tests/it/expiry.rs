//! Runs whose journal has expired, and alarms that outlive their run.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::settings::RunSettings;
use djinn_protocol::connection::Connection;
use djinn_protocol::cursor::Cursor;
use djinn_protocol::link::SessionLinks;
use djinn_protocol::native::NativeProjection;
use djinn_runtime::client::{ClientBody, ClientStream};
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::alarm::Alarms;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::serve::{
    LoadedRun, ReplayFrom, ServeContext, continue_run, invalid_cursor_failure, replay_run,
    serve_client,
};
use djinn_testkit::ledger::Ledger;
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;

use crate::story::{sim, told};

/// The story, told to its end.
async fn ended() -> (Sim, RunKey) {
    let mut sim = sim(Points::new(), &Ledger::default());
    told(&mut sim).await;
    let key = sim.make_question(RunSettings::default()).run_key();
    (sim, key)
}

fn client(sim: &Sim, key: &RunKey, buffer: usize) -> (ClientStream, ClientBody) {
    let session = sim.make_question(RunSettings::default()).spec.session;
    let projection = Box::new(NativeProjection::new(SessionLinks::new("http://sim", session)));
    let connection = Connection::new(key.run.clone(), projection, true);
    ClientStream::open(connection, buffer, sim.ports.clock.now_ms())
}

async fn come_back(sim: &Sim, key: &RunKey, cursor: Option<u64>) -> Result<(), Failure> {
    let cursor = cursor.map(|record| Cursor { run: key.run.clone(), record });
    let from = cursor.as_ref().map_or(ReplayFrom::Start, ReplayFrom::After);
    let run = LoadedRun::load(&sim.ports, key).await?;
    replay_run(&sim.ports, &run, &mut client(sim, key, usize::MAX).0, from).await
}

fn serving(key: &RunKey) -> ServeContext {
    let holder = "late.1".to_owned();
    ServeContext { key: key.clone(), holder, deadline: Deadline::none(), hops: 0 }
}

#[tokio::test(start_paused = true)]
async fn an_expired_run_is_gone_whichever_records_went_first() {
    let (sim, key) = ended().await;
    assert_eq!(come_back(&sim, &key, None).await, Ok(()));
    let last = sim.read_history(&key).await.unwrap().len() as u64;
    for expired in [|n| n > 3, |n| n == 2 || n > 3, |n| n == 0 || n == 2 || n > 3, |_| true] {
        sim.ports.store.expire_records(&key, expired);
        for cursor in [None, Some(1), Some(last)] {
            let refused = come_back(&sim, &key, cursor).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::RunExpired, "{cursor:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_told_many_children_to_stop_has_not_expired() {
    let (sim, key) = ended().await;
    for deliveries in [0, 10, 100, 1_000] {
        sim.ports.store.add_deliveries(&key, deliveries);
        // Where a client has no room, and where it has no cursor of this run, the end is looked for.
        let (mut full, _body) = client(&sim, &key, 0);
        let run = LoadedRun::load(&sim.ports, &key).await.unwrap();
        let replayed = replay_run(&sim.ports, &run, &mut full, ReplayFrom::Start).await;
        assert_eq!(replayed, Ok(()), "{deliveries}");
        let refused = invalid_cursor_failure(&sim.ports, &run).await;
        assert_eq!(refused.code, ErrorCode::BadCursor, "{deliveries}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_no_journal_reaches_is_refused() {
    let (sim, key) = ended().await;
    for record in [u64::MAX, u64::MAX - 1, 1_000] {
        let refused = come_back(&sim, &key, Some(record)).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::BadCursor, "{record}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_viewer_of_a_run_that_expires_meanwhile_is_told_instead_of_kept() {
    let (sim, key) = ended().await;
    let (mut viewer, mut body) = client(&sim, &key, usize::MAX);
    let run = LoadedRun::load(&sim.ports, &key).await.unwrap();
    replay_run(&sim.ports, &run, &mut viewer, ReplayFrom::Start).await.unwrap();
    // What it was replayed is unread; another connection begins where the records are gone.
    let (late, mut late_body) = client(&sim, &key, usize::MAX);
    sim.ports.store.expire_records(&key, |n| n > 2);
    serve_client(&sim.ports, serving(&key), late, None).await;
    let mut last = String::new();
    while let Some(frame) = late_body.next_frame().await {
        last = frame;
    }
    assert!(last.contains("event: run.handed_over"), "{last}");
    drop(viewer);
    assert!(body.next_frame().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_alarm_that_was_made_late_rings_once() {
    let (sim, key) = ended().await;
    for expired in [|_| false, |n| n == 0, |_| true] {
        sim.ports.store.expire_records(&key, expired);
        sim.ports.alarms.set_alarm(&key).await.unwrap();
        assert!(sim.has_alarm());
        continue_run(&sim.ports, serving(&key)).await.unwrap();
        assert!(!sim.has_alarm());
    }
}
