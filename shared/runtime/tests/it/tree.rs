//! Agents that call agents, across invocations: a tree of runs, each with a journal of its own.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_core::agent::{AgentContext, AgentSpec, AnswerFormat, CallBefore, ToolChoiceRule};
use djinn_core::entry::Entry;
use djinn_core::human::{HumanRequest, HumanResponse, HumanSettings};
use djinn_core::id::{Path, UserId};
use djinn_core::language::Language;
use djinn_core::settings::{Machine, Role, RunSettings};
use djinn_core::tool::{EffectClass, Risk, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::tool::{BoxFuture, OfferedAgents, Tool, ToolContext, ToolError, Toolbox};
use djinn_runtime::serve::{LoadedRun, request_stop};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::{Map, Value, json};

use crate::story::visible;

/// An agent with these tools.
struct Agent(&'static str, &'static [&'static str]);

impl Tool for Agent {
    fn spec(&self, _: Language) -> ToolSpec {
        ToolSpec {
            name: self.0.to_owned(),
            description: format!("is {}", self.0),
            schema: json!({"type": "object"}),
            effect: EffectClass::Agent,
            policy: ToolPolicy::default(),
            timeout_ms: 1,
            visible: true,
        }
    }

    fn run<'a>(
        &'a self,
        _: &'a ToolContext,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { panic!("an agent is not run") })
    }

    fn check_arguments(&self, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }

    fn agent(&self, _: Language) -> Option<AgentSpec> {
        Some(AgentSpec {
            name: self.0.to_owned(),
            description: format!("is {}", self.0),
            prompt: "Do it.".to_owned(),
            parameters: json!({"type": "object"}),
            tools: self.1.iter().map(|tool| (*tool).to_owned()).collect(),
            model: Role::Executor,
            machine: Machine::React,
            max_steps: 100,
            max_calls: None,
            before: self
                .around()
                .map(|tool| CallBefore::Name(tool.to_owned()))
                .into_iter()
                .collect(),
            after: self.around().map(str::to_owned),
            max_result_chars: None,
            first_tool: None,
            answer: AnswerFormat::Text,
            context: AgentContext::None,
            risk: Risk::Low,
            entry: false,
            title: None,
            agent_type: None,
            tool_choice: ToolChoiceRule::Auto,
            stop_at: Vec::new(),
            hands_over: Vec::new(),
            review: None,
            workflow: None,
        })
    }
}

impl Agent {
    /// What is called before the agent's first turn and with its answer.
    fn around(&self) -> Option<&'static str> {
        (self.0 == "side").then_some("look")
    }
}

/// The root calls two agents at once; one of them calls another, which sends; the other looks.
pub(crate) fn lines() -> Vec<(&'static str, StoryLine)> {
    let ms = Duration::from_millis;
    let call = |text: &'static str, agent: &'static str| {
        StoryLine::say(text).with_call(agent, json!({"task": text}))
    };
    vec![
        ("t1", call("Both at once.", "middle").with_call("side", json!({"task": "look"}))),
        ("t1.c1.t1", call("Further down.", "bottom").with_latency(ms(80))),
        (
            "t1.c1.t1.c1.t1",
            StoryLine::say("I tell them.").with_latency(ms(70)).with_call("send", json!({"to": 1})),
        ),
        ("t1.c1.t1.c1.t2", StoryLine::say("They know.").with_latency(ms(60))),
        ("t1.c1.t2", StoryLine::say("It went well.").with_latency(ms(50))),
        ("t1.c2.t1", StoryLine::say("I look.").with_call("look", json!({"for": "it"}))),
        ("t1.c2.t2", StoryLine::say("There it is.").with_latency(ms(90))),
        ("t2", StoryLine::say("All is done.")),
    ]
}

/// These tools and the agents of [`lines`], of which one sends with `send`, another looks with `look`.
pub(crate) fn with_agents(tools: Toolbox) -> Toolbox {
    tools
        .with_tool(Agent("top", &["middle"]))
        .with_tool(Agent("middle", &["bottom"]))
        .with_tool(Agent("bottom", &["send"]))
        .with_tool(Agent("side", &["look"]))
}

fn sim(points: Points, ledger: &Ledger, posts: bool) -> Sim {
    let tool = |name, effect, takes_ms| LedgerTool {
        duration: Duration::from_millis(takes_ms),
        ..LedgerTool::new(name, effect, ledger, &points)
    };
    let tools = Toolbox::default().with_tool(tool("look", EffectClass::Read, 300)).with_tool(tool(
        "send",
        EffectClass::Once,
        400,
    ));
    let tools = with_agents(tools).with_offered_agents(OfferedAgents::All);
    let model = StoryModel::new(lines(), points.clone());
    let mut sim = Sim::new(model, tools, points);
    sim.posts_only = posts;
    sim.person = Some(confirms);
    sim
}

fn confirms(_: &HumanRequest) -> HumanResponse {
    HumanResponse::Confirm
}

/// Sending is asked about.
fn settings() -> RunSettings {
    let asks = HumanSettings {
        enabled: true,
        timeout_s: 0,
        require: BTreeSet::from(["send".to_owned()]),
        ..HumanSettings::default()
    };
    RunSettings { human: asks, ..RunSettings::default() }
}

async fn told(sim: &mut Sim) -> Vec<Entry> {
    sim.run_to_end(&sim.make_question(settings())).await.unwrap()
}

fn ids(lines: &[String]) -> BTreeSet<String> {
    lines.iter().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn a_tree_is_one_history_in_which_each_run_stands_where_it_ended() {
    let ledger = Ledger::default();
    let mut sim = sim(Points::new(), &ledger, false);
    let seen = visible(&told(&mut sim).await);
    let place = |id: &str| {
        let start = format!("{id} ");
        seen.iter()
            .position(|line| line.starts_with(&start))
            .unwrap_or_else(|| panic!("{id}: {seen:#?}"))
    };
    let order = [
        "t1.c1.t1",
        "t1.c1.t1.c1.start",
        "t1.c1.t1.c1.t2",
        "t1.c1.t1.c1.end",
        "t1.c1.t2",
        "t1.c1.end",
        "t2",
    ];
    assert!(order.map(place).is_sorted(), "{seen:#?}");
    assert_eq!(ledger.count("send t1.c1.t1.c1.t1.c1"), 1);
    let asked = "t1.c1.t1.c1.t1.c1.requested asks t1.c1.t1.c1.t1: t1.c1.t1.c1.t1.c1";
    assert!(seen.iter().any(|line| line == asked), "{seen:#?}");
    assert!(seen.last().unwrap().starts_with("end finished: All is done. (8 steps"), "{seen:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_tree_survives_a_crash_of_any_process_at_every_point() {
    for (posts, one_machine) in [(false, false), (false, true), (true, false)] {
        let points = Points::new();
        let mut undisturbed = sim(points.clone(), &Ledger::default(), posts);
        let expected = ids(&visible(&told(&mut undisturbed).await));
        let passed = points.passed_points();
        assert!(passed.len() > 100, "{} points", passed.len());
        for (at, point) in passed.iter().enumerate() {
            let ledger = Ledger::default();
            let mut sim = sim(Points::killing_at(at), &ledger, posts);
            sim.one_machine = one_machine;
            let seen = visible(&told(&mut sim).await);
            let name = format!(
                "process {} dies at {} ({at}, posts {posts}, one machine {one_machine})",
                point.process, point.name
            );
            assert_eq!(ids(&seen), expected, "{name}");
            let sent = ledger.count("send t1.c1.t1.c1.t1.c1");
            let uncertain = "t1.c1.t1.c1.t1.c1.result fails: uncertain".to_owned();
            assert!(sent == 1 || (sent == 0 && seen.contains(&uncertain)), "{name}: {sent}");
            assert!(!sim.has_alarm(), "an alarm is left: {name}");
        }
    }
}

/// The paths of all runs of the tree, the lowest last.
const PATHS: [&str; 3] = ["t1.c1", "t1.c2", "t1.c1.t1.c1"];

async fn is_ended(sim: &Sim, key: &RunKey, path: &str) -> bool {
    let key = RunKey { path: path.parse::<Path>().unwrap(), ..key.clone() };
    let meta = sim.ports.store.find_meta(&key).await.unwrap();
    meta.is_none_or(|meta| meta.status.has_ended())
}

#[tokio::test(start_paused = true)]
async fn a_stop_at_any_moment_ends_every_run_below_and_nothing_is_sent_after_it() {
    let mut undisturbed = sim(Points::new(), &Ledger::default(), true);
    let began_ms = undisturbed.ports.clock.now_ms();
    told(&mut undisturbed).await;
    let lasts_ms = u64::try_from(undisturbed.ports.clock.now_ms() - began_ms).unwrap();
    for after_ms in (0..lasts_ms.min(3_000)).step_by(60) {
        let ledger = Ledger::default();
        let mut sim = sim(Points::new(), &ledger, true);
        sim.person = None;
        let question = sim.make_question(RunSettings::default());
        let key = question.run_key();
        sim.post_question(question);
        sim.pass_time(Duration::from_millis(after_ms)).await;
        let Ok(mut run) = LoadedRun::load(&sim.ports, &key).await else { continue };
        // It may have ended by then.
        let stopped = request_stop(&sim.ports, &mut run, UserId::new("bob").unwrap()).await;
        sim.pass_time(Duration::from_secs(180)).await;
        let meta = sim.ports.store.find_meta(&key).await.unwrap().unwrap();
        assert!(meta.status.has_ended(), "{after_ms}: {:?} {stopped:?}", meta.status);
        for path in PATHS {
            assert!(
                is_ended(&sim, &key, path).await,
                "{path} goes on, stopped after {after_ms} ms"
            );
        }
        let sent = ledger.lines();
        sim.pass_time(Duration::from_secs(600)).await;
        assert_eq!(ledger.lines(), sent, "{after_ms}");
        assert!(!sim.has_alarm() && sim.alive_count() == 0, "{after_ms}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stopped_tree_whose_drivers_die_on_the_way_is_closed_all_the_way_down() {
    let run = |points: Points| async move {
        let mut sim = sim(points, &Ledger::default(), false);
        sim.person = None;
        let question = sim.make_question(settings());
        // By then all but the one that asks have ended, or wait.
        sim.stop_at = Some((sim.ports.clock.now_ms() + 50_000, 1));
        let entries = sim.run_to_end(&question).await.unwrap();
        (sim, question.run_key(), entries)
    };
    let points = Points::new();
    run(points.clone()).await;
    let passed = points.passed_points();
    // Who stops is no process of the tree.
    for (at, point) in passed.iter().enumerate().filter(|(_, point)| point.process != 0) {
        let (sim, key, entries) = run(Points::killing_at(at)).await;
        let name = format!("process {} dies at {} ({at})", point.process, point.name);
        let end = visible(&entries).pop().unwrap();
        assert!(end.starts_with("end stopped"), "{end}: {name}");
        for path in PATHS {
            assert!(is_ended(&sim, &key, path).await, "{path} goes on: {name}");
        }
        assert!(!sim.has_alarm(), "an alarm is left: {name}");
    }
}
