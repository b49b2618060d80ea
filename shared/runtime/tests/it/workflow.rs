//! A workflow across invocations: a list becomes steps, one of which sends, and nothing plans.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_core::agent::{AgentContext, AgentSpec, AnswerFormat, ToolChoiceRule};
use djinn_core::entry::{Entry, Event};
use djinn_core::human::{HumanRequest, HumanResponse};
use djinn_core::settings::{Machine, Role, RunSettings};
use djinn_core::status::RunStatus;
use djinn_core::tool::{EffectClass, Risk};
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::question::UserQuestion;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::{Value, json};

use crate::story::visible;

/// The workflow: with `confirm`, its last step needs approval.
fn workflow(confirm: bool) -> Value {
    json!({
        "title": "Tell the regions",
        "steps": [
            {"id": "split", "task": "List the regions of {{ file }}.", "depends_on": [], "retry": 1},
            {"id": "look", "task": "Look around.", "depends_on": [], "retry": 1, "on_error": "skip"},
            {"id": "tell", "task": "Tell {{ item }}.", "depends_on": [0, 1], "retry": 1, "for_each": "steps.split"},
            {"id": "close", "task": "Close with {{ steps.tell }} and {{ steps.look }}.", "depends_on": [2],
             "retry": 1, "confirm": confirm},
        ],
        "answer": "All were told. {{ steps.close }}",
    })
}

/// The calls that must not be repeated.
pub(crate) const ONCE: [&str; 2] = ["s5.1.t1.c1", "s6.1.t1.c1"];

pub(crate) fn lines() -> Vec<(&'static str, StoryLine)> {
    let ms = Duration::from_millis;
    let sends = |text: &'static str, to: &'static str| {
        StoryLine::say(text).with_call("send", json!({"to": to}))
    };
    vec![
        ("s1.1.t1", StoryLine::say(r#"["north", "south"]"#).with_latency(ms(90))),
        ("s2.1.t1", StoryLine::say("I look.").with_call("look", json!({"for": "it"}))),
        ("s2.1.t2", StoryLine::say("There it is.").with_latency(ms(60))),
        ("s5.1.t1", sends("I tell the north.", "north").with_latency(ms(40))),
        ("s5.1.t2", StoryLine::say("The north knows.").with_latency(ms(110))),
        ("s6.1.t1", sends("I tell the south.", "south")),
        ("s6.1.t2", StoryLine::say("The south knows.").with_latency(ms(30))),
        ("s4.1.t1", StoryLine::say("It is done.").with_latency(ms(70))),
    ]
}

/// The question to the workflow.
pub(crate) fn ask(sim: &Sim, confirm: bool) -> UserQuestion {
    let settings = RunSettings { mode: "tell".to_owned(), ..RunSettings::default() };
    let mut question = sim.make_question(settings);
    question.spec.arguments.insert("file".to_owned(), "sales.csv".into());
    question.spec.agent = Some(Box::new(AgentSpec {
        name: "tell".to_owned(),
        description: "Tells the regions.".to_owned(),
        prompt: "Tell.".to_owned(),
        parameters: json!({"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}),
        tools: vec!["all".to_owned()],
        model: Role::Executor,
        machine: Machine::Workflow,
        max_steps: 1_000,
        max_calls: None,
        max_result_chars: None,
        first_tool: None,
        before: Vec::new(),
        after: None,
        answer: AnswerFormat::Text,
        context: AgentContext::Conversation,
        risk: Risk::Low,
        entry: true,
        title: None,
        agent_type: None,
        tool_choice: ToolChoiceRule::Auto,
        stop_at: Vec::new(),
        hands_over: Vec::new(),
        review: None,
        workflow: Some(Box::new(serde_json::from_value(workflow(confirm)).unwrap())),
    }));
    question
}

pub(crate) fn sim(points: Points, ledger: &Ledger) -> Sim {
    let tool = |name, effect, takes_ms| LedgerTool {
        duration: Duration::from_millis(takes_ms),
        timeout_ms: 10_000,
        ..LedgerTool::new(name, effect, ledger, &points)
    };
    let tools = Toolbox::default().with_tool(tool("look", EffectClass::Read, 600)).with_tool(tool(
        "send",
        EffectClass::Once,
        400,
    ));
    Sim::new(StoryModel::new(lines(), points.clone()), tools, points)
}

fn confirms(_: &HumanRequest) -> HumanResponse {
    HumanResponse::Confirm
}

async fn told(sim: &mut Sim) -> Vec<Entry> {
    sim.person = Some(confirms);
    sim.run_to_end(&ask(sim, true)).await.unwrap()
}

fn ids(entries: &[Entry]) -> BTreeSet<String> {
    let lines = visible(entries);
    lines.iter().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn a_workflow_is_told_by_its_steps_alone() {
    let ledger = Ledger::default();
    let mut sim = sim(Points::new(), &ledger);
    let entries = told(&mut sim).await;
    let Event::RunEnded(result) = &entries.last().unwrap().event else { panic!("{entries:?}") };
    assert_eq!(
        (result.status, result.answer.as_str()),
        (RunStatus::Finished, "All were told. It is done.")
    );
    assert_eq!(result.spent.model_calls, 8, "those of the steps");
    for call in ONCE {
        assert_eq!(ledger.count(&format!("send {call}")), 1, "{call}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_workflow_survives_a_crash_of_any_process_at_every_point() {
    for (posts, one_machine) in [(false, false), (false, true), (true, false)] {
        let points = Points::new();
        let mut undisturbed = sim(points.clone(), &Ledger::default());
        undisturbed.posts_only = posts;
        let expected = ids(&told(&mut undisturbed).await);
        let passed = points.passed_points();
        assert!(passed.len() > 100, "{} points", passed.len());
        for (at, point) in passed.iter().enumerate() {
            let ledger = Ledger::default();
            let mut sim = sim(Points::killing_at(at), &ledger);
            (sim.posts_only, sim.one_machine) = (posts, one_machine);
            let entries = told(&mut sim).await;
            let name = format!(
                "process {} dies at {} ({at}, posts {posts}, one machine {one_machine})",
                point.process, point.name
            );
            let missing: Vec<_> = expected.difference(&ids(&entries)).cloned().collect();
            assert_eq!(missing, [""; 0], "{name}");
            let seen = visible(&entries);
            for call in ONCE {
                let sent = ledger.count(&format!("send {call}"));
                let uncertain = format!("{call}.result fails: uncertain");
                assert!(sent == 1 || (sent == 0 && seen.contains(&uncertain)), "{name}: {sent}");
            }
            assert!(!sim.has_alarm(), "an alarm is left: {name}");
        }
    }
}
