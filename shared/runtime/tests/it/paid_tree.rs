//! Two hundred runs below one, against one day's budget of their user.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::id::UserId;
use djinn_core::settings::RunSettings;
use djinn_core::status::RunStatus;
use djinn_core::tool::EffectClass;
use djinn_runtime::port::budget::{Budgets as _, DayKey};
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::port::tool::{OfferedAgents, Toolbox};
use djinn_runtime::port::{RunKey, UserKey};
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{LoadedRun, request_stop};
use djinn_runtime::settings::{Settings, UserLimits};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::memory::MemoryStore;
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

use crate::tree;

/// Turns of the root, and the agents that each calls at once. Each of them has two turns.
const TURNS: usize = 20;
const AT_ONCE: usize = 10;

/// What a call of the model's really costs, tokens; and more than one holds: its reply may have 8 192, and
/// the longest request has some 2 400.
const COST: u64 = 110;
const HELD: u64 = 12_000;

/// All calls of the model's, if there is enough for them.
const CALLS: usize = TURNS + 1 + 2 * TURNS * AT_ONCE;

fn lines() -> Vec<(String, StoryLine)> {
    let look = |about: &str| StoryLine::say("I look.").with_call("look", json!({"for": about}));
    let mut lines = vec![(format!("t{}", TURNS + 1), StoryLine::say("All is seen."))];
    for turn in 1..=TURNS {
        let mut asks = StoryLine::say("Many look.");
        for nth in 1..=AT_ONCE {
            let child = format!("t{turn}.c{nth}");
            asks = asks.with_call("side", json!({"task": child}));
            let latency = Duration::from_millis(nth as u64 * 20);
            lines.push((format!("{child}.t1"), look(&child).with_latency(latency)));
            lines.push((format!("{child}.t2"), StoryLine::say("There it is.")));
        }
        lines.push((format!("t{turn}"), asks));
    }
    lines
}

fn sim(points: Points, day_tokens: u64) -> Sim {
    let lines = lines();
    let lines = lines.iter().map(|(message, line)| (message.as_str(), line.clone()));
    let model = StoryModel::new(lines, points.clone());
    let look = LedgerTool::new("look", EffectClass::Read, &Ledger::default(), &points);
    let tools = tree::with_agents(Toolbox::default().with_tool(look));
    let mut sim = Sim::new(model, tools.with_offered_agents(OfferedAgents::All), points);
    let user = UserLimits { day_tokens: Some(day_tokens), ..UserLimits::default() };
    sim.ports.settings = Arc::new(Settings { user, ..Settings::default() });
    sim
}

/// A question whose run has enough of everything but its user's day.
fn question(sim: &Sim) -> UserQuestion {
    let mut settings = RunSettings::default();
    settings.budget.steps = 10_000;
    settings.budget.tool_calls = 10_000;
    settings.budget.tokens = 100_000_000;
    sim.make_question(settings)
}

/// The tokens that the day has of a run, and those that its model served.
async fn used_and_served(sim: &Sim, question: &UserQuestion) -> (u64, u64) {
    let store = MemoryStore::clone(&sim.ports.store);
    store.without_faults();
    let user = UserKey::of(&question.spec);
    let day = DayKey::at_time(user, sim.ports.clock.now_ms());
    let used = store.read_day_total(&day).await.unwrap().tokens;
    (used, sim.ports.model.requests().len() as u64 * COST)
}

#[tokio::test(start_paused = true)]
async fn two_hundred_runs_below_one_are_paid_to_the_token() {
    let mut sim = sim(Points::new(), 10_000_000);
    let question = question(&sim);
    let entries = sim.run_to_end(&question).await.unwrap();
    let (used, served) = used_and_served(&sim, &question).await;
    let is_end = |entry: &&Entry| matches!(entry.event, Event::ChildEnded { .. });
    assert_eq!(entries.iter().filter(is_end).count(), TURNS * AT_ONCE);
    assert_eq!(sim.ports.model.requests().len(), CALLS);
    assert_eq!(used, served);
    let end = entries.last().unwrap().event.run_result().unwrap();
    assert_eq!((end.status, end.spent.steps), (RunStatus::Finished, u32::try_from(CALLS).unwrap()));
}

async fn status_of(sim: &Sim, key: &RunKey) -> RunStatus {
    sim.ports.store.find_meta(key).await.unwrap().unwrap().status
}

#[tokio::test(start_paused = true)]
async fn a_tree_passes_its_users_day_by_one_call_at_most_and_leaves_no_hold() {
    for day_tokens in [3_000, 8_000, 15_000, 30_000] {
        let mut sim = sim(Points::new(), day_tokens);
        let question = question(&sim);
        let key = question.run_key();
        sim.post_question(question.clone());
        sim.pass_time(Duration::from_secs(600)).await;
        assert_eq!(status_of(&sim, &key).await, RunStatus::Paused, "it waits for a top-up");
        let (used, served) = used_and_served(&sim, &question).await;
        assert!(served <= day_tokens + COST, "{day_tokens}: {served} were served");
        assert!(served + HELD > day_tokens, "{day_tokens}: only {served} were served");
        assert_eq!(used, served, "{day_tokens}: a hold is left while it waits");
        let mut run = LoadedRun::load(&sim.ports, &key).await.unwrap();
        request_stop(&sim.ports, &mut run, UserId::new("bob").unwrap()).await.unwrap();
        sim.pass_time(Duration::from_secs(600)).await;
        assert_eq!(status_of(&sim, &key).await, RunStatus::Stopped, "{day_tokens}");
        assert_eq!(used_and_served(&sim, &question).await, (served, served), "{day_tokens}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tree_whose_processes_die_leaks_one_hold_a_death_at_most() {
    const DAY: u64 = 60_000;
    let points = Points::new();
    let mut undisturbed = sim(points.clone(), DAY);
    let question = question(&undisturbed);
    undisturbed.run_to_end(&question).await.unwrap();
    let passed = points.passed_points();
    for (at, point) in passed.iter().enumerate().step_by(passed.len() / 5) {
        let mut sim = sim(Points::killing_at(at), DAY);
        sim.run_to_end(&question).await.unwrap();
        let (used, served) = used_and_served(&sim, &question).await;
        let name = format!("process {} dies at {} ({at})", point.process, point.name);
        assert!(served <= DAY + COST, "{name}: {served} were served");
        assert!((served..=served + HELD).contains(&used), "{name}: {used} for {served}");
    }
}
