//! Viewers of agents that call agents: all that a run did comes before its end, and soon, at every depth.

use std::time::Duration;

use djinn_core::settings::RunSettings;
use djinn_core::tool::EffectClass;
use djinn_runtime::port::tool::{OfferedAgents, Toolbox};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::memory::{OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::{Value, json};

use crate::tree::with_agents;
use crate::viewer::sent;

/// The longest that an entry of a run at work takes to a client, in milliseconds.
const MAX_DELAY_MS: i64 = 1_000;

/// Three levels of agents, each of which thinks for half a minute once those below have answered. The deepest are so
/// many: a single one is driven in its caller's invocation, and several in invocations of their own.
fn sim(deepest: usize) -> Sim {
    let points = Points::new();
    let call = |text: &str, agent: &str, count: usize| {
        let say = StoryLine::say(text).with_pace(Duration::from_millis(400));
        (0..count).fold(say, |say, nth| say.with_call(agent, json!({"task": nth})))
    };
    let think = |text: &str| StoryLine::say(text).with_latency(Duration::from_secs(30));
    let mut lines = vec![
        ("t1".to_owned(), call("Two look.", "top", 2)),
        ("t1.c1.t1".to_owned(), call("Two more look.", "middle", 2)),
        ("t1.c2.t1".to_owned(), StoryLine::say("There is nothing here.")),
        ("t1.c1.t1.c1.t1".to_owned(), call("Others look.", "bottom", deepest)),
        ("t1.c1.t1.c2.t1".to_owned(), StoryLine::say("Nor here.")),
        ("t1.c1.t1.c1.t2".to_owned(), think("The others have looked.")),
        ("t1.c1.t2".to_owned(), think("All have looked.")),
        ("t2".to_owned(), StoryLine::say("All is done.")),
    ];
    for nth in 1..=deepest {
        let path = format!("t1.c1.t1.c1.t1.c{nth}");
        lines.push((format!("{path}.t1"), call("I send it.", "send", 1)));
        let last = StoryLine::say("It is sent, and they know of it.");
        lines.push((format!("{path}.t2"), last.with_pace(Duration::from_millis(300))));
    }
    let lines = lines.iter().map(|(place, line)| (place.as_str(), line.clone()));
    let model = StoryModel::new(lines, points.clone());
    let send = LedgerTool::new("send", EffectClass::Once, &Ledger::default(), &points);
    let tools = with_agents(Toolbox::default().with_tool(send));
    Sim::new(model, tools.with_offered_agents(OfferedAgents::All), points)
}

/// The native events that a client was sent, each with its moment.
fn events(sim: &Sim, client: usize) -> Vec<(i64, Value)> {
    let data = |frame: &str| Some(serde_json::from_str(frame.split_once("data:")?.1).unwrap());
    let frames = sent(&sim.clients[client]);
    frames.iter().filter_map(|(at_ms, frame)| Some((*at_ms, data(frame)?))).collect()
}

/// The events of runs whose `child.ended` came before.
fn events_after_end(events: &[(i64, Value)]) -> Vec<&Value> {
    let mut ended = Vec::new();
    let mut late = Vec::new();
    for (_, event) in events {
        let path = event["path"].as_str().unwrap_or_default();
        let is_within = |end: &String| path == end || path.starts_with(&format!("{end}."));
        if ended.iter().any(is_within) {
            late.push(event);
        }
        if event["type"] == "child.ended" {
            ended.push(event["child"].as_str().unwrap().to_owned());
        }
    }
    late
}

/// A client of the root's driver from the beginning, and one in another process from 20 s on.
#[tokio::test(start_paused = true)]
async fn no_event_of_a_run_follows_its_end_at_any_depth() {
    for (deepest, loses_log) in [(1, false), (2, false), (2, true)] {
        let mut sim = sim(deepest);
        if loses_log {
            sim.ports.store.before_each(|op| async move {
                if op.kind == OpKind::WriteLive { StoreFault::NotDone } else { StoreFault::None }
            });
        }
        let mut settings = RunSettings::default();
        settings.budget.steps = 200;
        let entries = sim.run_to_end(&sim.make_question(settings)).await.unwrap();
        let ids: Vec<String> = entries.iter().map(|entry| entry.id.to_string()).collect();
        assert!(ids.iter().any(|id| id == "t1.c1.t1.c1.t1.c1.t2"), "{ids:?}");
        let joined_ms = entries[0].at_ms + 20_000;
        for (client, since_ms) in [(0, 0), (1, joined_ms)] {
            let name = format!("client {client}, {deepest} at the bottom, log lost: {loses_log}");
            let events = events(&sim, client);
            assert_eq!(events_after_end(&events), [&Value::Null; 0], "{name}");
            for (entry, id) in entries.iter().zip(&ids) {
                let sent = events.iter().filter(|(_, event)| event["id"] == id.as_str());
                let delays: Vec<i64> =
                    sent.map(|(at_ms, _)| at_ms - entry.at_ms.max(since_ms)).collect();
                assert_eq!(delays.len(), 1, "{name}: {id}");
                // What the log loses follows with the end of the run that the root called.
                let is_soon = delays[0] <= MAX_DELAY_MS;
                assert!(is_soon || loses_log, "{name}: {id} after {} ms", delays[0]);
            }
        }
    }
}
