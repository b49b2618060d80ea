//! The counted cost of a run, which `infra/bench/budget.toml` limits: allocations, bytes and store operations
//! do not depend on the machine, so a dearer run is noticed by the change that makes it dearer.

use std::collections::BTreeMap;
use std::fs;

use allocation_counter::{AllocationInfo, measure};
use djinn_core::settings::RunSettings;
use djinn_core::tool::EffectClass;
use djinn_runtime::port::tool::Toolbox;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::memory::MemoryStore;
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

/// The budget, from the folder of this crate.
const BUDGET: &str = "../../infra/bench/budget.toml";

/// Every turn but the last calls a tool, and the model sends every text in `deltas` pieces.
#[derive(Clone, Copy)]
struct Story {
    turns: usize,
    deltas: usize,
}

/// Counts by name.
type Counts = BTreeMap<String, u64>;

impl Story {
    fn sim(self) -> Sim {
        let (ledger, points) = (Ledger::default(), Points::new());
        let ids = (1..=self.turns).map(|turn| format!("t{turn}")).collect::<Vec<_>>();
        let lines = ids.iter().enumerate().map(|(place, id)| {
            let line = StoryLine::say(&"word".repeat(self.deltas));
            let is_last = place + 1 == self.turns;
            let line = if is_last { line } else { line.with_call("look", json!({"up": place})) };
            (id.as_str(), line)
        });
        let model = StoryModel::new(lines, points.clone());
        let look = LedgerTool::new("look", EffectClass::Read, &ledger, &points);
        Sim::new(model, Toolbox::default().with_tool(look), points)
    }

    /// Runs the story for a viewer who reads everything, and counts. Start and end of the simulation count too.
    fn counts(self) -> Counts {
        let mut counts = Counts::new();
        let AllocationInfo { count_total, bytes_total, .. } = measure(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut sim = self.sim();
                let question = sim.make_question(RunSettings::default());
                sim.run_to_end(&question).await.unwrap();
                let log = MemoryStore::clone(&sim.ports.store).log();
                let writes = log.iter().filter(|op| op.kind.is_write()).count();
                let frames = sim.clients.iter().flat_map(|frames| frames.lock().unwrap().clone());
                let frame_bytes = frames.map(|(_, frame)| frame.len()).sum::<usize>();
                for (name, count) in [
                    ("writes", writes),
                    ("reads", log.len() - writes),
                    ("frame_bytes", frame_bytes),
                ] {
                    counts.insert(name.to_owned(), count as u64);
                }
            });
        });
        counts.insert("allocations".to_owned(), count_total);
        counts.insert("allocated_bytes".to_owned(), bytes_total);
        counts
    }
}

/// Returns the cost of each of `more` further parts, rounded up.
fn difference(with: &Counts, without: &Counts, more: usize) -> Counts {
    let part = |(name, count): (&String, &u64)| {
        (name.clone(), count.saturating_sub(without[name]).div_ceil(more as u64))
    };
    with.iter().map(part).collect()
}

/// A lower cost must be written down too, or the next change could use it up unnoticed.
#[test]
fn counted_cost_of_a_run_is_that_of_the_budget() {
    let story = Story { turns: 6, deltas: 40 };
    // What is built once in a process, as the texts of prompts, is not counted.
    story.counts();
    let run = story.counts();
    let longer = Story { deltas: 80, ..story }.counts();
    let more_turns = Story { turns: 12, ..story }.counts();
    let measured = BTreeMap::from([
        ("delta", difference(&longer, &run, 6 * 40)),
        ("turn", difference(&more_turns, &run, 6)),
        ("run", run),
    ]);
    let text = fs::read_to_string(BUDGET).unwrap();
    let budget = toml::from_str::<BTreeMap<String, Counts>>(&text).unwrap();
    let mut wrong = Vec::new();
    for (of, counts) in &measured {
        for (name, count) in counts {
            let planned = budget.get(*of).and_then(|counts| counts.get(name)).copied().unwrap_or(0);
            // Sizes differ a little between platforms.
            let slack = planned / 50;
            if !(planned - slack..=planned + slack).contains(count) {
                wrong.push(format!("[{of}] {name} = {count} (budget: {planned})"));
            }
        }
    }
    assert!(wrong.is_empty(), "infra/bench/budget.toml differs:\n{}", wrong.join("\n"));
}
