//! The work of a run in lines, for clients that show one line for each event.

use std::collections::BTreeMap;

use djinn_core::entry::Event;
use djinn_core::human::ASK_USER;
use djinn_core::id::ChildId;
use djinn_core::plan::{PLANNING_TOOL, StepStatus};
use djinn_core::status::RunStatus;
use djinn_text::truncate::truncate_text;

/// The tools whose calls are shown as requests or as a plan.
const HIDDEN_TOOLS: [&str; 2] = [ASK_USER, PLANNING_TOOL];

/// Maximum bytes of a line.
const MAX_LINE: usize = 300;

/// The lines of a run's own events.
#[derive(Debug, Default)]
pub(crate) struct WorkLines {
    /// The children at work, by what they do.
    children: BTreeMap<ChildId, String>,
}

impl WorkLines {
    /// Returns the lines of an event of the run itself; none for events that are no work of tools and other agents.
    pub(crate) fn lines_of(&mut self, event: &Event) -> Vec<String> {
        match event {
            Event::CallRequested { tool, arguments, .. } if !HIDDEN_TOOLS.contains(&&**tool) => {
                vec![line(&format!("› {tool} {arguments}"))]
            }
            Event::PlanChanged { plan } => {
                let steps = plan.steps().iter().zip(1..);
                let steps = steps.map(|(step, n)| line(&format!("{n}. {}", step.label())));
                [line(&plan.title)].into_iter().chain(steps).collect()
            }
            Event::StepChanged { step, status, note } => {
                let mark = mark_of(*status == StepStatus::Completed);
                vec![line(&format!("{mark} {step} {note}"))]
            }
            Event::ChildStarted { child, description, agent } => {
                let words = [agent.as_str(), description].map(str::trim);
                let words = words.into_iter().filter(|words| !words.is_empty());
                let label = words.collect::<Vec<_>>().join(": ");
                let started = line(&format!("› {label}"));
                self.children.insert(child.clone(), label);
                vec![started]
            }
            Event::ChildEnded { child, status, .. } => {
                let label = self.children.remove(child).unwrap_or_else(|| child.to_string());
                vec![line(&format!("{} {label}", mark_of(*status == RunStatus::Finished)))]
            }
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::MessageReset { .. }
            | Event::MessageCompleted { .. }
            | Event::CallRequested { .. }
            | Event::CallCompleted { .. }
            | Event::HumanRequested { .. }
            | Event::HumanResolved(_)
            | Event::ModelChanged(_)
            | Event::AgentChanged { .. }
            | Event::ModelDelayed { .. }
            | Event::FileAdded { .. }
            | Event::ContextCompacted { .. }
            | Event::EmployeesNamed { .. }
            | Event::ReviewCompleted(_)
            | Event::UserMessageAdded { .. }
            | Event::VerdictGiven(_)
            | Event::RunEnded(_) => Vec::new(),
        }
    }
}

fn line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate_text(&text, MAX_LINE)
}

fn mark_of(is_done: bool) -> &'static str {
    if is_done { "✓" } else { "✗" }
}
