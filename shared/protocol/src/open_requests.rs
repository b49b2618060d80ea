//! The open human requests of a run with their links, and as text for chat-only clients.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use djinn_core::budget::format_dollars;
use djinn_core::entry::{Entry, Event};
use djinn_core::human::{ASK_USER, HumanRequest, Subject, parse_questions};
use djinn_core::id::{CallId, FileName, HumanRequestId, Path};
use djinn_core::language::Language;
use djinn_core::plan::{PLANNING_TOOL, PlanCommand};
use djinn_core::tool::Risk;
use djinn_messages::Wording;

use crate::link::SessionLinks;

/// Maximum arguments of a call in a chat, and maximum characters of each.
const MAX_ARGUMENTS: usize = 20;
const MAX_VALUE: usize = 200;

/// The open human requests of a run.
#[derive(Default)]
pub(crate) struct OpenRequests(BTreeMap<HumanRequestId, OpenRequest>);

struct OpenRequest {
    request: HumanRequest,
    /// The link to a page for the response, if the deployment signs links.
    link: Option<String>,
}

impl OpenRequests {
    /// Adds or drops the requests that an entry of the run or of a child opens or closes.
    pub(crate) fn apply_entry(&mut self, entry: &Entry, links: &SessionLinks) {
        if let Event::HumanRequested { requests, .. } = &entry.event {
            for request in requests {
                self.add(request, links.response_link(request, entry.at_ms));
            }
        } else if let Event::HumanResolved(response) = &entry.event {
            self.remove(&response.request);
        } else if let Event::CallCompleted { call, .. } = &entry.event {
            self.forget(&entry.path, Some(call));
        } else if let Event::ChildEnded { child, .. } = &entry.event {
            // Nobody responds to the requests of a child that has ended.
            self.forget(&entry.path.with_child(child.clone()), None);
        }
    }

    pub(crate) fn add(&mut self, request: &HumanRequest, link: Option<String>) {
        self.0.insert(request.id.clone(), OpenRequest { request: request.clone(), link });
    }

    pub(crate) fn remove(&mut self, request: &HumanRequestId) {
        self.0.remove(request);
    }

    /// Returns the open requests, in the order of their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &HumanRequest> {
        self.0.values().map(|open| &open.request)
    }

    /// Returns the link of an open request.
    pub(crate) fn link(&self, request: &HumanRequestId) -> Option<&str> {
        self.0.get(request)?.link.as_deref()
    }

    /// Returns the links of the open requests, in the order of their ids.
    pub(crate) fn links(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(|open| open.link.as_deref())
    }

    /// Drops obsolete requests: of a call, or of a whole child.
    pub(crate) fn forget(&mut self, path: &Path, call: Option<&CallId>) {
        self.0.retain(|_, OpenRequest { request: ask, .. }| {
            let about = ask.subject.call().map(|(about, ..)| about);
            let is_there = match (call, &ask.child) {
                (None, Some(_)) => ask.id.path().is_within(path),
                (Some(_), Some(_)) => ask.id.path() == path,
                (_, None) => path.is_root(),
            };
            !is_there || (call.is_some() && about != call)
        });
    }

    /// Returns the open requests with instructions for a response; `None` without open requests.
    pub(crate) fn describe(&self, language: Language) -> Option<String> {
        let questions: Vec<String> = self.iter().map(|ask| request_line(ask, language)).collect();
        if questions.is_empty() {
            return None;
        }
        let is_question = |ask: &HumanRequest| matches!(&ask.subject, Subject::Call { tool, .. } if tool == ASK_USER);
        let all_are_questions = self.iter().all(is_question);
        let mut can_change = self.iter().filter(|ask| !is_question(ask));
        let one_can_change = self.0.len() == 1
            && can_change.all(|ask| changeable_parameters(&ask.subject).is_some())
            && !all_are_questions;
        let how = if all_are_questions { Wording::JustAnswer } else { Wording::AnswerByWord };
        let mut hint = how.text(language).to_owned();
        if one_can_change {
            hint.push_str(Wording::ChangeByWord.text(language));
        }
        Some(format!("{}\n\n{hint}", questions.join("\n")))
    }
}

/// Returns the parameters that a response can change. An interrupted call is repeated unchanged.
pub(crate) fn changeable_parameters(about: &Subject) -> Option<Map<String, Value>> {
    match about {
        Subject::Call { .. }
        | Subject::StepReview { .. }
        | Subject::ResultReview { .. }
        | Subject::BudgetExtension { .. } => about.parameters(),
        Subject::CallInterrupt { .. } | Subject::ModelInterrupt { .. } => None,
    }
}

/// Returns a request as lines of a list.
pub(crate) fn request_line(ask: &HumanRequest, language: Language) -> String {
    match &ask.subject {
        Subject::Call { tool, arguments, .. } if tool == ASK_USER => {
            let questions = parse_questions(arguments);
            questions.iter().map(|question| format!("- {question}")).collect::<Vec<_>>().join("\n")
        }
        Subject::Call { tool, arguments, .. } => {
            if tool == PLANNING_TOOL
                && let Some(plan) = plan_lines(arguments, language)
            {
                return plan;
            }
            let risk = match ask.risk {
                Risk::Low => Wording::LowRisk,
                Risk::Medium => Wording::MediumRisk,
                Risk::High => Wording::HighRisk,
            };
            let lines = argument_lines(arguments);
            format!("- `{tool}` ({}){lines}", risk.text(language))
        }
        Subject::CallInterrupt { tool, interrupt, .. } => {
            format!("- `{tool}`: {} ({})", interrupt.message, interrupt.code)
        }
        Subject::ModelInterrupt { interrupt, .. } => {
            format!("- {} ({})", interrupt.message, interrupt.code)
        }
        Subject::BudgetExtension { used_up, offer: more } => {
            let tokens = more.tokens.to_string();
            let dollars = format_dollars(more.micro_usd);
            let spent = used_up.detail.as_str();
            let values = [("spent", spent), ("tokens", &tokens), ("dollars", &dollars)];
            Wording::ExtendBudget.fill(language, &values)
        }
        Subject::StepReview { step, details } => {
            let question = Wording::MayStepBegin.text(language);
            format!("- {step} {details}: {question}")
        }
        Subject::ResultReview { step, details, text, files } => {
            let question = Wording::IsResultWanted.text(language);
            let files: Vec<&str> = files.iter().map(FileName::as_str).collect();
            let files =
                if files.is_empty() { String::new() } else { format!("\n\n{}", files.join(", ")) };
            format!("- {step} {details}\n\n{text}{files}\n\n{question}")
        }
    }
}

/// Returns a plan to review, with a line for each step; `None` for arguments without a valid plan.
fn plan_lines(arguments: &Map<String, Value>, language: Language) -> Option<String> {
    let plan = PlanCommand::parse(arguments).ok()?.apply_to(None, usize::MAX).ok()?;
    let title = Wording::IsPlanRight.fill(language, &[("title", &plan.title)]);
    let steps = plan.steps().iter().zip(1..).map(|(step, nth)| format!("{nth}. {}", step.label()));
    Some([title].into_iter().chain(steps).collect::<Vec<_>>().join("\n"))
}

/// Returns the arguments of a call, an argument per line.
fn argument_lines(arguments: &Map<String, Value>) -> String {
    let first_arguments = arguments.iter().take(MAX_ARGUMENTS);
    let lines = first_arguments.map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MAX_VALUE) {
            Some((end, _)) => {
                format!("\n  - {name}: {}…", line.get(..end).unwrap_or_default())
            }
            None => format!("\n  - {name}: {line}"),
        }
    });
    let mut lines: String = lines.collect();
    if arguments.len() > MAX_ARGUMENTS {
        lines.push_str("\n  - …");
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_lines_and_no_value_looks_like_another() {
        let call = json!({
            "command": "upload", "content": "# East\n  - filename: west.md", "limit": 3,
            "tags": ["a", "b"], "text": "x".repeat(250),
        });
        let lines = argument_lines(call.as_object().unwrap());
        let cut = "x".repeat(MAX_VALUE);
        let expected = format!(
            "\n  - command: upload\n  - content: # East - filename: west.md\n  - limit: 3\n  \
             - tags: [\"a\",\"b\"]\n  - text: {cut}…"
        );
        assert_eq!(lines, expected);
    }
}
