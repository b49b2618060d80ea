//! Digital employees are for show: whatever becomes of the call that names them, a plan goes on as it
//! would without, and no later.

use std::time::Duration;

use djinn_core::budget::Usage;
use djinn_core::entry::{Entry, Event};
use djinn_core::id::ChildId;
use djinn_core::input::Input;
use djinn_core::journal::Journal;
use djinn_core::language::Language;
use djinn_core::settings::Role;
use djinn_core::tool::ToolSetHash;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::model::{Message, ModelErrorKind};
use djinn_testkit::ledger::Ledger;
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::StoryLine;

use crate::market::{EMPLOYED, seen, settings, sim, sim_with, told_with, with_employees};
use crate::story::visible;

const TASKS: [&str; 4] = ["s1.1.employees", "s2.1.employees", "s3.1.employees", "s4.1.employees"];

/// What is seen when, without the employees and without what it cost.
fn timed(entries: &[Entry]) -> Vec<(i64, String)> {
    let lines = entries.iter().filter_map(|entry| match &entry.event {
        Event::EmployeesNamed { .. } => None,
        Event::RunEnded(_) => Some((entry.at_ms, "end".to_owned())),
        Event::RunStarted { .. }
        | Event::RunResumed { .. }
        | Event::MessageReset { .. }
        | Event::ModelChanged(_)
        | Event::ModelDelayed { .. }
        | Event::AgentChanged { .. }
        | Event::VerdictGiven(_)
        | Event::MessageCompleted { .. }
        | Event::CallRequested { .. }
        | Event::CallCompleted { .. }
        | Event::FileAdded { .. }
        | Event::ContextCompacted { .. }
        | Event::PlanChanged { .. }
        | Event::HumanRequested { .. }
        | Event::ReviewCompleted(_)
        | Event::UserMessageAdded { .. }
        | Event::HumanResolved(_)
        | Event::StepChanged { .. }
        | Event::ChildStarted { .. }
        | Event::ChildEnded { .. } => {
            Some((entry.at_ms, visible(std::slice::from_ref(entry)).concat()))
        }
    });
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines
}

fn model_calls(entries: &[Entry]) -> u32 {
    let Some(Event::RunEnded(ending)) = entries.last().map(|entry| &entry.event) else {
        panic!("no end")
    };
    ending.spent.model_calls
}

#[tokio::test(start_paused = true)]
async fn a_plan_goes_on_as_without_employees_and_no_later_whatever_becomes_of_them() {
    let plain = told_with(&mut sim(Points::new(), &Ledger::default()), settings()).await;
    let named = r#"{"look": "Analyst"}"#;
    let again = || {
        let kind = ModelErrorKind::Overloaded;
        (0..99).fold(StoryLine::say(named), |line, _| line.failing_after(0, kind))
    };
    let broken_off = || StoryLine::say(named).failing_after(9, ModelErrorKind::BrokenOff);
    let endless = format!(r#"{{"look": "{}"}}"#, "Analyst ".repeat(90));
    // How many of the four calls come to an end, and how many of those give a role.
    for (about, line, calls, roles) in [
        ("at once", StoryLine::say(named), 4, 4),
        ("an hour late", StoryLine::say(named).with_latency(Duration::from_secs(3_600)), 0, 0),
        ("no JSON", StoryLine::say("I would rather not."), 4, 0),
        ("too long", StoryLine::say(&endless), 4, 0),
        ("refused", StoryLine::say(named).failing_after(0, ModelErrorKind::KeyRefused), 0, 0),
        ("overloaded for good", again(), 0, 0),
        ("broken off in its middle", broken_off(), 4, 4),
    ] {
        let employees = TASKS.map(|message| (message, line.clone())).into();
        let mut sim = sim_with(Points::new(), &Ledger::default(), employees);
        let entries = told_with(&mut sim, with_employees()).await;
        assert_eq!(timed(&entries), timed(&plain), "{about}");
        assert_eq!(model_calls(&entries), 12 + calls, "{about}");
        assert_eq!(named_by(&entries), roles, "{about}");
    }
}

fn named_by(entries: &[Entry]) -> usize {
    let named = |entry: &&Entry| matches!(entry.event, Event::EmployeesNamed { .. });
    entries.iter().filter(named).count()
}

/// The story with employees, told to its end.
async fn employed() -> (Sim, Vec<Entry>) {
    let mut sim = sim(Points::new(), &Ledger::default());
    let entries = told_with(&mut sim, with_employees()).await;
    (sim, entries)
}

#[tokio::test(start_paused = true)]
async fn roles_are_shown_and_the_reply_that_names_them_is_not() {
    let (sim, entries) = employed().await;
    let employees: Vec<_> =
        seen(&entries).into_iter().filter(|line| line.contains(".employees ")).collect();
    assert_eq!(employees, EMPLOYED);
    let frames = sim.clients[0].lock().unwrap().clone();
    assert!(frames.iter().any(|(_, frame)| frame.contains("event: employees.named")));
    assert!(frames.iter().all(|(_, frame)| !frame.contains("```json")), "{frames:#?}");
    assert!(frames.iter().all(|(_, frame)| !frame.contains("There is nobody.")), "{frames:#?}");
}

#[tokio::test(start_paused = true)]
async fn the_model_is_told_of_the_tools_and_may_call_none() {
    let (sim, _) = employed().await;
    let asked = sim.ports.model.requests();
    let calls: Vec<_> = asked.iter().filter(|request| request.role == Role::Employees).collect();
    // The one that is refused is not tried again.
    assert_eq!(calls.len(), 4);
    for call in &calls {
        assert!(call.tools.is_empty() && call.system.is_empty());
        let [Message::User(text)] = &call.messages[..] else { panic!("{call:#?}") };
        for tool in ["look", "write", "send"] {
            assert!(text.contains(&format!("\n- {tool}: ")), "{text}");
        }
    }
    // The record of the reply says which tools it was told of.
    let key = sim.make_question(settings()).run_key();
    let task = key.with_child(ChildId::for_step(1, 1));
    let records = sim.ports.store.read_from(&task, 0).await.unwrap();
    let inputs = records.iter().flat_map(|record| &record.inputs);
    let replied = inputs.filter_map(|input| match input {
        Input::ModelReplied(replied) if replied.message.is_employees() => Some(replied),
        _ => None,
    });
    let sets: Vec<_> = replied.map(|replied| replied.tool_set.as_ref().unwrap()).collect();
    let tools = sim.ports.tools.own_tools().map(|tool| tool.spec(Language::En).to_offered());
    assert_eq!(sets.len(), 1);
    assert_eq!(sets[0].hash, ToolSetHash::of(&tools.collect::<Vec<_>>()));
    let spent = Usage { input_tokens: 300, output_tokens: 30, ..Usage::default() };
    let journal = Journal::fold(&records).unwrap();
    assert_eq!(journal.run().spending().usage, spent, "two turns and the employees");
}
