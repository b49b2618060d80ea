//! Viewers who join while a message is written: the time until the text so far arrives, and its cost.

use std::time::Duration;

use djinn_core::human::HumanSettings;
use djinn_core::settings::RunSettings;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::live::LiveLog as _;
use djinn_runtime::port::tool::Toolbox;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{MemoryStore, OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

use crate::story;
use crate::viewer::{events, sent};

/// The time that each request to the store takes, as on AWS.
const ROUND_TRIP: Duration = Duration::from_millis(10);

/// A run that writes one message for two minutes, in a piece every 100 ms.
fn writing() -> Sim {
    let line = StoryLine::say(&"word ".repeat(960)).with_pace(Duration::from_millis(100));
    running(line)
}

fn running(line: StoryLine) -> Sim {
    let points = Points::new();
    let sim = Sim::new(StoryModel::new([("t1", line)], points.clone()), Toolbox::default(), points);
    sim.ports.store.before_each(|_| async { StoreFault::Late(ROUND_TRIP) });
    sim
}

/// Milliseconds from a viewer's request, this long after the run's, to the first text.
async fn delay_ms(joins_after: Duration) -> i64 {
    let mut sim = writing();
    let question = sim.make_question(RunSettings::default());
    sim.ask_question(question.clone());
    sim.pass_time(joins_after).await;
    let joined_ms = sim.ports.clock.now_ms();
    sim.ask_question(question);
    sim.pass_time(Duration::from_secs(10)).await;
    let frames = sent(&sim.clients[1]);
    let previews = events(&frames, "preview");
    assert!(previews[0].contains("\"offset\":0,"), "{}", previews[0]);
    let first = frames.iter().find(|(_, frame)| frame == previews[0]);
    first.unwrap().0 - joined_ms
}

/// A driver that learned of viewers when it renewed its lease took 2.6 s on average, and 5.2 s at most.
#[tokio::test(start_paused = true)]
async fn text_so_far_arrives_within_a_second() {
    let mut delays = Vec::new();
    for nth in 0..70 {
        delays.push(delay_ms(Duration::from_millis(2_037 + 100 * nth)).await);
    }
    assert!(delays.iter().all(|delay_ms| *delay_ms <= 1_000), "{delays:?}");
    let mean_ms = delays.iter().sum::<i64>() / 70;
    assert!(mean_ms <= 600, "{mean_ms} ms");
}

/// Reads of the mailbox and renewals of the lease in a minute of a run.
async fn minute(mut sim: Sim, is_watched: bool) -> (usize, usize) {
    let question = sim.make_question(RunSettings::default());
    let key = question.run_key();
    sim.ask_question(question);
    sim.pass_time(Duration::from_secs(5)).await;
    let store = MemoryStore::clone(&sim.ports.store);
    if is_watched {
        store.mark_watched(&key, i64::MAX).await.unwrap();
    }
    sim.pass_time(Duration::from_secs(5)).await;
    store.clear_log();
    sim.pass_time(Duration::from_secs(60)).await;
    let log = store.log();
    let count = |kind| log.iter().filter(|op| op.kind == kind).count();
    (count(OpKind::Mail), count(OpKind::RenewLease))
}

#[tokio::test(start_paused = true)]
async fn mailbox_is_read_more_often_only_while_text_is_written_that_a_viewer_would_miss() {
    let silent = StoryLine::say("At last.").with_latency(Duration::from_secs(120));
    let rows = [
        ("text, no viewer", minute(writing(), false).await, 85),
        ("text, a viewer", minute(writing(), true).await, 60),
        ("a model that says nothing yet", minute(running(silent), false).await, 60),
    ];
    for (case, (reads, renewals), most) in rows {
        assert!((most - 2..=most).contains(&reads), "{case}: {reads} reads");
        assert!((11..=12).contains(&renewals), "{case}: {renewals} renewals");
    }
}

/// The time until the run below asks its user.
const ASKS_AFTER: Duration = Duration::from_secs(2);

/// The time of a read of the journal, so that a run can ask and pause meanwhile.
const SLOW_READ: Duration = Duration::from_millis(200);

/// A run whose call needs approval, a viewer who joins at this moment, and the viewer's frames.
async fn frames_of_a_pause(joins_after: Duration) -> Vec<(i64, String)> {
    let points = Points::new();
    let line = StoryLine::say("I send it.").with_latency(ASKS_AFTER);
    let line = line.with_call("send", json!({"to": "all"}));
    let model = StoryModel::new([("t1", line)], points.clone());
    let tools = story::tools(&Ledger::default(), &points);
    let mut sim = Sim::new(model, tools, points);
    sim.ports.store.before_each(|op| {
        let is_read = op.kind == OpKind::Read;
        let takes = if is_read { SLOW_READ } else { ROUND_TRIP };
        async move { StoreFault::Late(takes) }
    });
    let human = HumanSettings {
        enabled: true,
        require: ["send"].map(str::to_owned).into(),
        timeout_s: 0,
        ..HumanSettings::default()
    };
    let question = sim.make_question(RunSettings { human, ..RunSettings::default() });
    sim.ask_question(question.clone());
    sim.pass_time(joins_after).await;
    sim.ask_question(question);
    sim.pass_time(Duration::from_secs(30)).await;
    sent(&sim.clients[1])
}

/// The records before a pause may be written after a viewer's last read of the journal.
#[tokio::test(start_paused = true)]
async fn response_that_ends_with_a_pause_has_shown_the_request() {
    for nth in 0..100 {
        let joins_after = Duration::from_millis(200 + 20 * nth);
        let frames = frames_of_a_pause(joins_after).await;
        let shown = events(&frames, "human.requested").len();
        let ends = events(&frames, "run.handed_over").len();
        assert_eq!((shown, ends), (1, 1), "joined after {joins_after:?}: {frames:#?}");
    }
}
