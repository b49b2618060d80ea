//! One question at a time: whoever else asks is refused, until the run has ended, however often its
//! driver died.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::RequestId;
use djinn_core::settings::RunSettings;
use djinn_protocol::connection::Connection;
use djinn_protocol::link::SessionLinks;
use djinn_protocol::native::NativeProjection;
use djinn_runtime::client::ClientStream;
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::catalog::Catalog;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{
    ServeContext, StartResult, serve_client, start_background, start_streaming,
};
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{MemoryStore, OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};

use crate::story::{TOLD, sim, told, visible};

fn question(sim: &Sim, request: &str) -> UserQuestion {
    let mut question = sim.make_question(RunSettings::default());
    question.spec.request = RequestId::new(request).unwrap();
    question
}

/// Serves a run that was just opened to its end.
async fn served(sim: &Sim, opened: StartResult, holder: &str) -> String {
    let StartResult::New { key, leased_run: driving, first_record: first } = opened else {
        panic!("it was there before")
    };
    let session = sim.make_question(RunSettings::default()).spec.session;
    let projection = Box::new(NativeProjection::new(SessionLinks::new("http://sim", session)));
    let connection = Connection::new(key.run.clone(), projection, true);
    let now_ms = sim.ports.clock.now_ms();
    let (mut client, mut body) = ClientStream::open(connection, usize::MAX, now_ms);
    client.send_record(&first, &[], now_ms);
    let serving =
        ServeContext { key, holder: holder.to_owned(), deadline: Deadline::none(), hops: 0 };
    let read = async {
        let mut last = String::new();
        while let Some(frame) = body.next_frame().await {
            last = frame;
        }
        last
    };
    tokio::join!(serve_client(&sim.ports, serving, client, Some(driving)), read).1
}

#[tokio::test(start_paused = true)]
async fn of_two_questions_at_once_one_runs_and_the_other_hears_of_it_a_thousand_times() {
    let points = Points::new();
    let model = StoryModel::new([("t1", StoryLine::say("Done."))], points.clone());
    let sim = Sim::new(model, Toolbox::default(), points);
    // Every operation lets the other question go first, one time or another.
    let asked = AtomicUsize::new(1);
    sim.ports.store.before_each(move |_| {
        // However many operations a round has: no two rounds are alike.
        let yields = (asked.fetch_add(1, Ordering::Relaxed).wrapping_mul(2_654_435_761) >> 16) % 5;
        async move {
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            StoreFault::None
        }
    });
    let mut won = [0, 0];
    for round in 0..1_000 {
        let names = [format!("a{round}"), format!("b{round}")];
        let [a, b] = names
            .each_ref()
            .map(|name| start_streaming(&sim.ports, question(&sim, name), name, None));
        let (winner, opened, refused) = match tokio::join!(a, b) {
            (Ok(opened), Err(refused)) => (0, opened, refused),
            (Err(refused), Ok(opened)) => (1, opened, refused),
            both => panic!("round {round}: {} {}", both.0.is_ok(), both.1.is_ok()),
        };
        won[winner] += 1;
        let run = question(&sim, &names[winner]).run_key().run;
        assert_eq!(refused, Failure::session_busy(&run), "{round}");
        let last = served(&sim, opened, &names[winner]).await;
        assert!(last.contains("event: run.ended") && last.contains("Done."), "{round}: {last}");
    }
    assert!(won.iter().all(|won| *won > 100), "it was always the same one: {won:?}");
    let session = sim.make_question(RunSettings::default()).session_key();
    let turns = sim.ports.store.list_turns(&session, None, 2_000).await.unwrap();
    assert_eq!(turns.items.len(), 1_000);
    assert!(turns.items.iter().all(|turn| turn.exchange.as_ref().unwrap().answer == "Done."));
}

#[tokio::test(start_paused = true)]
async fn noting_that_the_end_was_shown_costs_a_write_only_if_no_client_was_there() {
    let notes = |sim: &Sim| {
        let log = MemoryStore::clone(&sim.ports.store).log();
        log.iter().filter(|op| op.kind == OpKind::NoteEndShown).count()
    };
    let mut sim = sim(Points::new(), &Ledger::default());
    told(&mut sim).await;
    let question = sim.make_question(RunSettings::default());
    let shown = async |sim: &Sim| {
        let meta = sim.ports.store.find_meta(&question.run_key()).await.unwrap();
        meta.unwrap().end_shown
    };
    assert_eq!((shown(&sim).await, notes(&sim)), (true, 0));
    // It is told again.
    sim.ask_question(question.clone());
    sim.pass_time(Duration::from_secs(1)).await;
    assert_eq!(notes(&sim), 0);

    let mut sim = crate::story::sim(Points::new(), &Ledger::default());
    sim.run_alone(&question, Duration::from_secs(60)).await.unwrap();
    assert_eq!((shown(&sim).await, notes(&sim)), (false, 0));
    for _ in 0..2 {
        sim.ask_question(question.clone());
        sim.pass_time(Duration::from_secs(1)).await;
        assert_eq!((shown(&sim).await, notes(&sim)), (true, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_run_died_anywhere_is_free_once_it_was_taken_over_and_ended() {
    let points = Points::new();
    told(&mut sim(points.clone(), &Ledger::default())).await;
    let names = points.point_names();
    let place = |of: &str| names.iter().position(|name| name.starts_with(of)).unwrap();
    let (asked, ended) = (place("after Create"), place("after End"));
    for (at, name) in names.iter().enumerate() {
        let mut sim = sim(Points::killing_at(at), &Ledger::default());
        let next = question(&sim, "next");
        sim.ask_question(question(&sim, "r"));
        sim.wait_until_killed().await;
        // Nobody has come back yet.
        let refused =
            start_background(&sim.ports, next.clone()).await.err().map(|failure| failure.code);
        let busy = (asked..ended).contains(&at).then_some(ErrorCode::SessionBusy);
        assert_eq!(refused, busy, "killed at {at}, {name}");
        if busy.is_some() {
            assert_eq!(visible(&told(&mut sim).await).len(), TOLD.len());
            assert!(start_background(&sim.ports, next).await.is_ok(), "killed at {at}, {name}");
        }
    }
}
