//! What the runs of bad weather tell: a plan or a plain question, or a tree of runs in which agents call
//! agents.

use std::time::Duration;

use djinn_core::entry::Event;
use djinn_core::settings::{Machine, RunSettings};
use djinn_core::tool::EffectClass;
use djinn_runtime::port::tool::{OfferedAgents, Tool, Toolbox};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

use super::outcome::Undisturbed;
use crate::market::{self, ONCE, seen};
use crate::{story, tree};

/// What one seed's run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tale {
    /// A question that is answered by calling tools.
    Plain,
    /// A plan whose tasks call tools.
    Market,
    /// An agent that calls two, of which one calls another that calls another.
    Tree,
    /// A plan whose tasks call agents.
    PlannedTree,
}

impl Tale {
    /// What the seed's run does in this mode; two in five are trees.
    pub(super) fn of(seed: u64, mode: Machine) -> Self {
        match (mode, [1, 4, 5, 8].contains(&(seed % 10))) {
            (Machine::React | Machine::Workflow, false) => Self::Plain,
            (Machine::PlanSolve, false) => Self::Market,
            (Machine::React | Machine::Workflow, true) => Self::Tree,
            (Machine::PlanSolve, true) => Self::PlannedTree,
        }
    }

    /// The same for a run that asks nobody. Without a tree it is always a plan.
    pub(super) fn alone(seed: u64) -> Self {
        let mode = if seed % 10 == 4 { Machine::React } else { Machine::PlanSolve };
        Self::of(seed, mode)
    }

    pub(super) fn is_tree(self) -> bool {
        matches!(self, Self::Tree | Self::PlannedTree)
    }

    pub(super) fn lines(self) -> Vec<(&'static str, StoryLine)> {
        match self {
            Self::Plain => story::lines(),
            Self::Market => market::lines(),
            Self::Tree => tree::lines(),
            Self::PlannedTree => planned_tree(),
        }
    }

    /// The calls that must not be repeated.
    pub(super) fn once(self) -> Vec<&'static str> {
        match self {
            Self::Plain => vec!["t2.c1"],
            Self::Market => ONCE.to_vec(),
            Self::Tree => vec!["t1.c1.t1.c1.t1.c1"],
            Self::PlannedTree => vec!["s1.1.t1.c1.t1.c1"],
        }
    }

    /// Messages for which its provider may not be paid at first.
    pub(super) fn payable(self) -> [&'static str; 3] {
        match self {
            Self::Plain => ["t1", "t2", "t3"],
            Self::Market => ["t2", "s2.1.t2", "s4.1.t1"],
            Self::Tree => ["t1", "t1.c1.t1.c1.t2", "t1.c2.t2"],
            Self::PlannedTree => ["t2", "s1.1.t1.c1.t1", "s2.1.t2"],
        }
    }

    /// These tools, and the agents that it calls.
    pub(super) fn tools(self, tools: impl IntoIterator<Item = impl Tool + 'static>) -> Toolbox {
        let tools = tools.into_iter().fold(Toolbox::default(), Toolbox::with_tool);
        if self.is_tree() {
            tree::with_agents(tools).with_offered_agents(OfferedAgents::All)
        } else {
            tools
        }
    }

    /// A simulation in which nobody is asked anything.
    pub(super) fn sim(self, points: Points, ledger: &Ledger) -> Sim {
        if self == Self::Market {
            return market::sim(points, ledger);
        }
        let model = StoryModel::new(self.lines(), points.clone());
        let tool = |(name, effect, takes_ms)| LedgerTool {
            duration: Duration::from_millis(takes_ms),
            // Processes stand still for longer.
            timeout_ms: 10_000,
            ..LedgerTool::new(name, effect, ledger, &points)
        };
        // Looking takes longer than the time between two renewals of a lease.
        let tools = [
            ("look", EffectClass::Read, 6_000),
            ("write", EffectClass::Idempotent, 200),
            ("send", EffectClass::Once, 400),
        ];
        let tools = self.tools(tools.map(tool));
        Sim::new(model, tools, points)
    }

    /// What is asked for where nobody is asked anything.
    pub(super) fn settings(self) -> RunSettings {
        let mode = match self {
            Self::Plain | Self::Tree => Machine::React,
            Self::Market | Self::PlannedTree => Machine::PlanSolve,
        };
        RunSettings { mode: mode.into(), ..RunSettings::default() }
    }

    /// The run without weather, of which nobody is asked anything.
    pub(super) async fn undisturbed(self) -> Undisturbed {
        if self == Self::Market {
            return Undisturbed::market();
        }
        let mut sim = self.sim(Points::new(), &Ledger::default());
        let entries = sim.run_to_end(&sim.make_question(self.settings())).await.unwrap();
        let Event::RunEnded(ending) = &entries.last().unwrap().event else { panic!("no end") };
        Undisturbed { once: self.once(), seen: seen(&entries), status: ending.status }
    }
}

/// Two steps at once, each an agent's that calls another; one of these sends, the other looks.
fn planned_tree() -> Vec<(&'static str, StoryLine)> {
    let ms = Duration::from_millis;
    let plans = |arguments| StoryLine::say("I plan.").with_call("planning", arguments);
    let steps = json!({"command": "create", "steps": ["tell", "see"], "depends_on": [[], []]});
    vec![
        ("t1", plans(steps)),
        ("s1.1.t1", StoryLine::say("They tell.").with_call("bottom", json!({"task": "tell"}))),
        (
            "s1.1.t1.c1.t1",
            StoryLine::say("I tell them.")
                .with_latency(ms(120))
                .with_call("send", json!({"to": 1})),
        ),
        ("s1.1.t1.c1.t2", StoryLine::say("They know.").with_latency(ms(300))),
        ("s1.1.t2", StoryLine::say("It is told.").with_latency(ms(40))),
        (
            "s2.1.t1",
            StoryLine::say("Two look.")
                .with_latency(ms(60))
                .with_call("side", json!({"task": "east"}))
                .with_call("side", json!({"task": "west"})),
        ),
        ("s2.1.t1.c1.t1", StoryLine::say("I look.").with_call("look", json!({"for": "east"}))),
        ("s2.1.t1.c1.t2", StoryLine::say("It is east.").with_latency(ms(80))),
        ("s2.1.t1.c2.t1", StoryLine::say("It is west.").with_latency(ms(700))),
        ("s2.1.t2", StoryLine::say("It is seen.")),
        ("t2", plans(json!({"command": "finish"})).with_latency(ms(50))),
        ("summary", StoryLine::say("It is seen and told.")),
    ]
}
