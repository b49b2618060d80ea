//! The facts of an input that are useful for debugging.

use std::collections::BTreeMap;

use djinn_core::budget::Usage;
use djinn_core::entry::{Entry, Event};
use djinn_core::id::CallId;
use djinn_core::input::{AttemptFailed, ChildEnded, Input, InterruptTarget, ModelReplied, RunSpec};
use djinn_core::tool::ToolResult;
use serde::Serialize;

/// Maximum length of a displayed text, in characters.
const SHOWN: usize = 60;

/// The tools of the journal's calls so far.
#[derive(Default)]
pub(super) struct CallNames(BTreeMap<CallId, String>);

impl CallNames {
    /// Adds the calls of these entries.
    pub(super) fn add_entries(&mut self, entries: &[Entry]) {
        for entry in entries {
            if let Event::CallRequested { call, tool, .. } = &entry.event {
                self.0.insert(call.clone(), tool.clone());
            }
        }
    }

    fn call_label(&self, call: &CallId) -> String {
        match self.0.get(call) {
            Some(tool) => format!("{tool} ({call})"),
            None => call.to_string(),
        }
    }
}

/// Returns the facts of an input, apart from its name.
pub(super) fn list_facts(input: &Input, calls: &CallNames) -> Vec<String> {
    match input {
        Input::Started(spec) => start_facts(spec),
        Input::Resumed { epoch, .. } => vec![format!("epoch {epoch}")],
        Input::AttemptFailed(failed) => attempt_facts(failed),
        Input::ModelReplied(replied) => reply_facts(replied),
        Input::ModelChanged(changed) => vec![
            changed.message.to_string(),
            format!("{} in place of {}", changed.to, changed.from),
            changed.failure.code.as_str().to_owned(),
        ],
        Input::AgentChanged(changed) => {
            vec![calls.call_label(&changed.call), changed.agent.name.clone()]
        }
        Input::ModelFailed { message, failure } => {
            vec![message.to_string(), failure.code.as_str().to_owned(), excerpt(&failure.detail)]
        }
        Input::ToolStarted { call } => vec![calls.call_label(call)],
        Input::ToolStalled { call, attempt } => {
            vec![calls.call_label(call), format!("attempt {attempt}")]
        }
        Input::ToolReturned { call, result, took_ms } => {
            let mut facts = vec![calls.call_label(call), format!("{took_ms} ms")];
            facts.extend(result_facts(result));
            facts
        }
        Input::FileAdded { file, .. } => vec![file.name.to_string()],
        Input::StopRequested { by, .. } => vec![format!("by {by}")],
        Input::LimitReached { limit } => vec![wire_name(limit)],
        Input::ChildEnded(ended) => child_facts(ended),
        Input::Interrupted { target, interrupt } => {
            let target = match target {
                InterruptTarget::Call(call) => calls.call_label(call),
                InterruptTarget::Message(message) => message.to_string(),
            };
            vec![target, interrupt.code.clone(), excerpt(&interrupt.message)]
        }
        Input::HumanResponded(response) => {
            let by = response.by.as_ref().map(|by| format!("by {by}"));
            let answer = response.answer.as_str().to_owned();
            [Some(response.request.to_string()), Some(answer), by].into_iter().flatten().collect()
        }
        Input::HumanRequestExpired { request } => vec![request.to_string()],
        Input::UserMessageAdded(message) => {
            vec![format!("by {}", message.by), excerpt(&message.text)]
        }
        Input::PlanEdited(edit) => vec![
            format!("by {}", edit.by),
            format!("version {}, {} steps", edit.version, edit.steps.len()),
        ],
        Input::ChildRequested(request) => vec![
            request.child.to_string(),
            format!("version {}, {} requests", request.version, request.requests.len()),
        ],
        Input::PlanSaved { version } => vec![format!("version {version}")],
        Input::AnswerSaved { file } => file.iter().map(|file| file.name.to_string()).collect(),
        Input::Delivered { delivery } => vec![wire_name(delivery)],
    }
}

fn attempt_facts(failed: &AttemptFailed) -> Vec<String> {
    vec![
        format!("{} attempt {}", failed.message, failed.attempt),
        failed.failure.code.as_str().to_owned(),
        excerpt(&failed.failure.detail),
        format_tokens(&failed.usage),
    ]
}

fn child_facts(ended: &ChildEnded) -> Vec<String> {
    vec![
        ended.report.child.to_string(),
        ended.status.as_str().to_owned(),
        format!("{} model calls", ended.spent.model_calls),
        format_tokens(&ended.spent.usage),
        excerpt(&ended.report.text),
    ]
}

fn start_facts(spec: &RunSpec) -> Vec<String> {
    let mut models: Vec<&str> = spec.settings.models.values().map(String::as_str).collect();
    models.sort_unstable();
    models.dedup();
    let what = match &spec.child {
        Some(child) => excerpt(&child.description),
        None => excerpt(&spec.question),
    };
    vec![spec.settings.mode.clone(), format!("model {}", models.join(", ")), what]
}

fn reply_facts(replied: &ModelReplied) -> Vec<String> {
    let ModelReplied { message, reply, .. } = replied;
    let mut facts = vec![message.to_string(), format_tokens(&reply.usage)];
    let calls: Vec<&str> = reply.calls.iter().map(|call| call.tool.as_str()).collect();
    if !calls.is_empty() {
        facts.push(format!("calls {}", calls.join(", ")));
    }
    if !reply.text.is_empty() {
        facts.push(excerpt(&reply.text));
    }
    facts
}

fn result_facts(result: &ToolResult) -> Vec<String> {
    match result {
        ToolResult::Done(output) => vec!["done".to_owned(), excerpt(&output.text)],
        ToolResult::Failed { reason, detail } => vec![reason.as_str().to_owned(), excerpt(detail)],
        ToolResult::PlanRefused { error } => vec!["plan refused".to_owned(), wire_name(error)],
    }
}

/// Formats tokens as `1200 + 30 tokens`, input and output.
fn format_tokens(usage: &Usage) -> String {
    format!("{} + {} tokens", usage.input_tokens, usage.output_tokens)
}

/// Returns the beginning of a text, on one line and in quotes; empty for an empty text.
fn excerpt(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let printable = || text.chars().filter(|c| !c.is_control());
    let start: String = printable().take(SHOWN).collect();
    match (start.is_empty(), printable().nth(SHOWN)) {
        (true, _) => start,
        (false, None) => format!("\"{start}\""),
        (false, Some(_)) => format!("\"{start}…\""),
    }
}

/// Returns a value's name in the journal: a word, or JSON.
fn wire_name(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_its_first_characters_on_one_line() {
        assert_eq!(excerpt(""), "");
        assert_eq!(excerpt(" East\n grew \u{1b}[2J"), "\"East grew [2J\"");
        assert_eq!(excerpt(&"é".repeat(60)), format!("\"{}\"", "é".repeat(60)));
        assert_eq!(excerpt(&"é".repeat(61)), format!("\"{}…\"", "é".repeat(60)));
    }
}
