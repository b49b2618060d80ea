//! What viewers miss of tasks at work: what found no room, what the live log does not take, and what it
//! has no more.

use std::time::Duration;

use djinn_core::entry::Entry;
use djinn_core::settings::{Machine, RunSettings};
use djinn_core::tool::EffectClass;
use djinn_runtime::port::tool::Toolbox;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

use crate::viewer::{events, sent};

/// A plan of two steps at once. The first step's task says these lines.
fn planned<'a>(lines: impl IntoIterator<Item = (&'a str, StoryLine)>) -> Sim {
    let points = Points::new();
    let plan = json!({"command": "create", "title": "t", "steps": ["one", "two"],
        "depends_on": [[], []]});
    let told = [
        ("t1", StoryLine::say("I plan.").with_call("planning", plan)),
        ("s2.1.t1", StoryLine::say("There is none.")),
        ("t2", StoryLine::say("I see.").with_call("planning", json!({"command": "finish"}))),
        ("summary", StoryLine::say("Gold at one place.")),
    ];
    let look = LedgerTool::new("look", EffectClass::Read, &Ledger::default(), &points);
    let model = StoryModel::new(told.into_iter().chain(lines), points.clone());
    Sim::new(model, Toolbox::default().with_tool(look), points)
}

fn looks(bytes: usize) -> StoryLine {
    StoryLine::say("I look.").with_call("look", json!({"for": "x".repeat(bytes)}))
}

async fn run(sim: &mut Sim) -> Vec<Entry> {
    let settings = RunSettings { mode: Machine::PlanSolve.into(), ..RunSettings::default() };
    sim.run_to_end(&sim.make_question(settings)).await.unwrap()
}

/// When a client was sent an entry, in milliseconds of the run; it is sent once.
#[track_caller]
fn came(sim: &Sim, client: usize, entries: &[Entry], id: &str) -> i64 {
    let (frames, wanted) = (sent(&sim.clients[client]), format!("\"id\":\"{id}\""));
    let of: Vec<i64> =
        frames.iter().filter(|(_, f)| f.contains(&wanted)).map(|(at_ms, _)| *at_ms).collect();
    assert_eq!(of.len(), 1, "client {client} was sent {id} so often");
    of[0] - entries[0].at_ms
}

/// When the texts of a message were shown as they were written.
fn shown(sim: &Sim, client: usize, entries: &[Entry], message: &str) -> Vec<i64> {
    let wanted = format!("\"message\":\"{message}\"");
    let frames = sent(&sim.clients[client]);
    let of_task = frames.into_iter().filter(|(_, frame)| frame.contains("\"path\":\"s1.1\""));
    let of_message: Vec<(i64, String)> =
        of_task.filter(|(_, frame)| frame.contains(&wanted)).collect();
    let previews = events(&of_message, "preview").len();
    of_message.iter().take(previews).map(|(at_ms, _)| at_ms - entries[0].at_ms).collect()
}

#[tokio::test(start_paused = true)]
async fn a_viewer_of_a_task_that_has_done_much_is_shown_all_of_it_and_its_next_entries() {
    // 120 KB of entries at once, where there is room for 64.
    let pause = Duration::from_secs(1);
    let call = |turn: usize| (format!("s1.1.t{turn}"), looks(20_000 + turn).with_latency(pause));
    let mut lines: Vec<(String, StoryLine)> = (1..=6).map(call).collect();
    let says = StoryLine::say(&"gold ".repeat(20)).with_pace(Duration::from_secs(2));
    lines.push(("s1.1.t7".to_owned(), says));
    let mut sim = planned(lines.iter().map(|(id, line)| (id.as_str(), line.clone())));
    sim.buffer_size = 256 * 1024;
    let entries = run(&mut sim).await;
    for turn in 1..=6 {
        let at_ms = came(&sim, 1, &entries, &format!("s1.1.t{turn}.c1.result"));
        assert!((20_000..22_000).contains(&at_ms), "turn {turn} after {at_ms} ms");
    }
    let shown = shown(&sim, 1, &entries, "t7");
    assert!(shown.len() > 5 && shown[0] < 24_000, "{shown:?}");
}

#[tokio::test(start_paused = true)]
async fn an_entry_too_large_for_the_live_log_silences_no_lane() {
    let says = StoryLine::say(&"gold ".repeat(20)).with_pace(Duration::from_secs(2));
    let mut sim = planned([
        ("s1.1.t1", looks(150_000)),
        ("s1.1.t2", looks(10).with_latency(Duration::from_secs(1))),
        ("s1.1.t3", says),
    ]);
    let entries = run(&mut sim).await;
    let ended_ms = came(&sim, 0, &entries, "s1.1.end");
    assert!(ended_ms > 40_000);
    for (client, joined_ms) in [(0, 0), (1, 20_000)] {
        for id in ["s1.1.t1.c1", "s1.1.t1.c1.result", "s1.1.t2", "s1.1.t2.c1.result"] {
            let late_ms = came(&sim, client, &entries, id) - joined_ms;
            assert!((0..5_000).contains(&late_ms), "client {client}: {id} after {late_ms} ms");
        }
        let shown = shown(&sim, client, &entries, "t3");
        assert!(shown.len() > 5 && shown[0] < joined_ms + 6_000, "client {client}: {shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn entries_that_the_live_log_has_no_more_are_shown_to_later_viewers() {
    let quarter = Duration::from_secs(15 * 60);
    let says = StoryLine::say(&"gold ".repeat(20)).with_pace(Duration::from_secs(10));
    let mut sim = planned([
        ("s1.1.t1", looks(10)),
        ("s1.1.t2", looks(10).with_latency(quarter)),
        ("s1.1.t3", says),
    ]);
    let entries = run(&mut sim).await;
    let second_ms = came(&sim, 0, &entries, "s1.1.t2");
    assert!((900_000..910_000).contains(&second_ms));
    // A client comes every 20 s. This one comes in the pause, and that one in the middle of the last words:
    // both are shown at once what was before.
    for (client, from_ms, late) in [(40, 800_000, second_ms), (48, 960_000, 960_000)] {
        let (first, second) = (["s1.1.t1", "s1.1.t1.c1.result"], ["s1.1.t2", "s1.1.t2.c1.result"]);
        for (ids, from_ms) in [(first, from_ms), (second, late)] {
            for id in ids {
                let late_ms = came(&sim, client, &entries, id) - from_ms;
                assert!((0..2_000).contains(&late_ms), "client {client}: {id} after {late_ms} ms");
            }
        }
        let from_ms = late;
        let shown = shown(&sim, client, &entries, "t3");
        assert!(shown.len() > 5 && shown[0] < from_ms + 15_000, "client {client}: {shown:?}");
    }
}
