//! Viewers other than the driver's own client.

use std::time::Duration;

use djinn_core::settings::RunSettings;
use djinn_runtime::port::tool::Toolbox;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{Fault, MemoryStore, OpKind};
use djinn_testkit::point::Points;
use djinn_testkit::sim::{Frames, Sim};
use djinn_testkit::story::{Line, StoryModel};

use crate::story::{sim, told, visible};

/// A client asks; another one asks the same 20 s later, in the middle of a long reply.
fn watched() -> Sim {
    let points = Points::new();
    let text = "word ".repeat(40);
    let line = Line::say(text.trim()).paced(Duration::from_millis(1_000));
    let model = StoryModel::new([("t1", line)], points.clone());
    Sim::new(model, Toolbox::default(), points)
}

fn events<'a>(frames: &'a [(i64, String)], name: &str) -> Vec<&'a str> {
    let event = format!("event: {name}\n");
    frames.iter().map(|(_, frame)| frame.as_str()).filter(|f| f.contains(&event)).collect()
}

fn sent(frames: &Frames) -> Vec<(i64, String)> {
    frames.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_viewer_sees_the_same_entries_and_text_as_it_is_written() {
    let mut sim = watched();
    sim.run_to_end(&sim.question(RunSettings::default())).await.unwrap();
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
async fn the_live_log_is_written_only_while_somebody_watches_and_at_most_four_times_a_second() {
    let mut alone = crate::story::sim(Points::new(), &Ledger::default());
    told(&mut alone).await;
    let writes = |sim: &Sim| {
        let log = MemoryStore::clone(&sim.ports.store).log();
        log.iter().filter(|op| op.kind == OpKind::WriteLive).count()
    };
    assert_eq!(writes(&alone), 0);

    let points = Points::new();
    let line = Line::say(&"word ".repeat(1_000)).paced(Duration::from_millis(50));
    let model = StoryModel::new([("t1", line)], points.clone());
    let mut sim = Sim::new(model, Toolbox::default(), points);
    let entries = sim.run_to_end(&sim.question(RunSettings::default())).await.unwrap();
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
        use djinn_runtime::port::clock::Clock;
        let (clock, frozen) = (clock.clone(), frozen.clone());
        async move {
            let freezes = op.kind == OpKind::Append && op.record == Some(3);
            if freezes && frozen.set(()).is_ok() {
                clock.sleep(Duration::from_secs(60)).await;
            }
            let lapses = op.kind == OpKind::RenewLease && frozen.get().is_some();
            if lapses { Fault::NotDone } else { Fault::None }
        }
    });
    let entries = told(&mut sim).await;
    assert!(entries.iter().any(|entry| entry.id == "resumed.2"), "{entries:?}");
    let seen = visible(&entries);
    assert_eq!(crate::crash::sorted(&seen), crate::crash::sorted(&crate::story::TOLD));
    assert_eq!(ledger.count("send t2.c1"), 1);
}
