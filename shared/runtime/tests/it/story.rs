//! The story that most tests tell, and how its history is compared.

use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::settings::RunSettings;
use djinn_core::tool::{EffectClass, ToolResult};
use djinn_runtime::port::tool::Toolbox;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

/// Looks something up and writes it down at the same time, sends it once, answers.
pub(crate) fn lines() -> Vec<(&'static str, StoryLine)> {
    vec![
        (
            "t1",
            StoryLine::say("I look it up and write it down.")
                .with_latency(Duration::from_millis(700))
                .with_call("look", json!({"up": "it"}))
                .with_call("write", json!({"down": "it"})),
        ),
        ("t2", StoryLine::say("Now I send it.").with_call("send", json!({"to": "all"}))),
        ("t3", StoryLine::say("It was looked up and sent.")),
    ]
}

pub(crate) fn tools(ledger: &Ledger, points: &Points) -> Toolbox {
    let tool = |name, effect, takes_ms| LedgerTool {
        duration: Duration::from_millis(takes_ms),
        ..LedgerTool::new(name, effect, ledger, points)
    };
    Toolbox::default()
        .with_tool(tool("look", EffectClass::Read, 300))
        .with_tool(tool("write", EffectClass::Idempotent, 200))
        .with_tool(tool("send", EffectClass::Once, 400))
}

pub(crate) fn sim(points: Points, ledger: &Ledger) -> Sim {
    let model = StoryModel::new(lines(), points.clone());
    let tools = tools(ledger, &points);
    Sim::new(model, tools, points)
}

/// Runs the story to its end.
pub(crate) async fn told(sim: &mut Sim) -> Vec<Entry> {
    let question = sim.make_question(RunSettings::default());
    sim.run_to_end(&question).await.unwrap()
}

/// What every viewer sees, a line an entry, without what may differ between two runs of a story: when
/// and how long, and that a driver died.
pub(crate) fn visible(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .filter(|entry| !matches!(entry.event, Event::RunResumed { .. }))
        .map(|entry| format!("{} {}", entry.id, line(&entry.event)))
        .collect()
}

fn line(event: &Event) -> String {
    match event {
        Event::RunStarted { question, .. } => format!("started: {question}"),
        Event::RunResumed { epoch } => format!("resumed {epoch}"),
        Event::MessageReset { attempt: Some(attempt), .. } => {
            format!("reset after attempt {attempt}")
        }
        Event::MessageReset { message, .. } => format!("{message} is not accepted"),
        Event::ModelChanged(changed) => {
            let (from, to, code) = (&changed.from, &changed.to, changed.failure.code.as_str());
            format!("{to} in place of {from}: {code}")
        }
        Event::AgentChanged { agent, .. } => format!("hands over to {agent}"),
        Event::VerdictGiven(verdict) => {
            let chosen = verdict.chosen.as_ref().map_or("none".to_owned(), ToString::to_string);
            format!("chooses {chosen}")
        }
        Event::ModelDelayed { until_ms, failure, .. } => {
            format!("waits until {until_ms}: {}", failure.code.as_str())
        }
        Event::MessageCompleted { text, truncated: cut, .. } => {
            format!("says: {text}{}", if *cut { " (cut)" } else { "" })
        }
        Event::CallRequested { tool, arguments, .. } => format!("calls {tool} {arguments}"),
        Event::CallCompleted { result: ToolResult::Done(observation), .. } => {
            format!("gets: {}", observation.text)
        }
        Event::CallCompleted { result: ToolResult::Failed { reason, detail }, .. } => {
            format!("fails: {} {detail}", reason.as_str()).trim_end().to_owned()
        }
        Event::CallCompleted { result: ToolResult::PlanRefused { error }, .. } => {
            format!("makes no plan: {error}")
        }
        Event::FileAdded { file } => format!("is given {}", file.name),
        Event::ContextCompacted { exchanges, turns, .. } => {
            format!("sums up {exchanges} exchanges and {turns} turns")
        }
        Event::EmployeesNamed { roles, .. } => {
            let roles = roles.iter().map(|(tool, role)| format!("{tool} {role}"));
            format!("employs: {}", roles.collect::<Vec<_>>().join(", "))
        }
        Event::ReviewCompleted(result) if result.failure.is_some() => "is not judged".to_owned(),
        Event::ReviewCompleted(result) if result.accepted => "is accepted".to_owned(),
        Event::ReviewCompleted(result) => format!("is criticized: {}", result.problems.join(", ")),
        Event::UserMessageAdded { text, .. } => format!("is told: {text}"),
        Event::HumanRequested { group, requests: asks, .. } => {
            let asked = asks.iter().map(|ask| ask.id.to_string());
            format!("asks {group}: {}", asked.collect::<Vec<_>>().join(", "))
        }
        Event::HumanResolved(answered) => format!("hears {}", answered.answer.as_str()),
        Event::PlanChanged { plan } => {
            let steps = plan.steps().iter();
            let steps = steps.map(|step| format!("{} {:?}", step.label(), step.status));
            format!("plan: {}", steps.collect::<Vec<_>>().join(", "))
        }
        Event::StepChanged { step, status, .. } => format!("{step} is {status:?}"),
        Event::ChildStarted { description: words, .. } => format!("task begins: {words}"),
        Event::ChildEnded { status, text, .. } => format!("task {}: {text}", status.as_str()),
        Event::RunEnded(ending) => format!(
            "{}: {} ({} steps, {} model calls, {} tool calls{})",
            ending.status.as_str(),
            ending.answer,
            ending.spent.steps,
            ending.spent.model_calls,
            ending.spent.tool_calls,
            ending.failure.as_ref().map(|f| format!(", {}", f.code.as_str())).unwrap_or_default(),
        ),
    }
}

/// The history of [`lines`], by hand.
pub(crate) const TOLD: [&str; 11] = [
    "start started: What is to be done?",
    "t1 says: I look it up and write it down.",
    r#"t1.c1 calls look {"up":"it"}"#,
    r#"t1.c2 calls write {"down":"it"}"#,
    "t1.c2.result gets: write is done",
    "t1.c1.result gets: look is done",
    "t2 says: Now I send it.",
    r#"t2.c1 calls send {"to":"all"}"#,
    "t2.c1.result gets: send is done",
    "t3 says: It was looked up and sent.",
    "end finished: It was looked up and sent. (3 steps, 3 model calls, 3 tool calls)",
];

/// The same where nobody knows whether it was sent.
pub(crate) const UNCERTAIN: [&str; 11] = [
    "start started: What is to be done?",
    "t1 says: I look it up and write it down.",
    r#"t1.c1 calls look {"up":"it"}"#,
    r#"t1.c2 calls write {"down":"it"}"#,
    "t1.c2.result gets: write is done",
    "t1.c1.result gets: look is done",
    "t2 says: Now I send it.",
    r#"t2.c1 calls send {"to":"all"}"#,
    "t2.c1.result fails: uncertain",
    "t3 says: It was looked up and sent.",
    "end finished: It was looked up and sent. (3 steps, 3 model calls, 2 tool calls)",
];
