//! The protocol of JoyAgent's data questions, as in `POST /data/chatQuery`: small events, always ending with
//! `READY`.

mod chart_fields;

use serde_json::{Value, json};

use djinn_core::entry::{Entry, Event, RunResult};
use djinn_core::error_code::Failure;
use djinn_core::id::{MessageId, RunId};
use djinn_core::language::Language;
use djinn_core::tool::query::QueryRows;
use djinn_core::tool::{ResultView, ToolResult};
use djinn_messages::Wording;

pub use self::chart_fields::{chart_fields, data_type, neutralize, show_cell};
use crate::connection::{Frame, Projection};
use crate::cursor::Cursor;
use crate::open_requests::OpenRequests;
use crate::preview::{OpenText, Preview, TextChange, TextKind};

/// The code of a note that is of no interest to users.
const FACTS_UNKNOWN: &str = "facts_unknown";

/// Returns the whole stream for a rejected question: a thought with the reason, the error, and the event that
/// unlocks the page's input. For `ERROR` the page shows its own sentence without a cause. The code is for
/// other clients.
#[must_use]
pub fn refusal_stream(failure: &Failure, language: Language) -> String {
    let sentence = failure.sentence(language);
    let thought = json!({"eventType": "THINK", "data": sentence, "code": failure.code.as_str()});
    let error = json!({"eventType": "ERROR", "data": sentence});
    let ready = json!({"eventType": "READY", "data": ""});
    format!("data:{thought}\n\ndata:{error}\n\ndata:{ready}\n\n")
}

/// The projection to the events of JoyAgent's data page.
pub struct JoyAgentData {
    run: RunId,
    language: Language,
    /// The complete texts of the model.
    texts: Vec<String>,
    /// The message being written, with its text so far.
    open_message: Option<(MessageId, OpenText)>,
    /// The results of the last call with rows.
    results: Vec<QueryRows>,
    requests: OpenRequests,
    /// The last `THINK`, which the page replaces with the next.
    shown_thought: String,
}

impl JoyAgentData {
    /// Creates the projection of a connection. Texts of our own use the language of the question, by default
    /// `language`.
    #[must_use]
    pub fn new(run: RunId, language: Language) -> Self {
        Self {
            run,
            language,
            texts: Vec::new(),
            open_message: None,
            results: Vec::new(),
            requests: OpenRequests::default(),
            shown_thought: String::new(),
        }
    }

    /// Applies an event of the run itself.
    fn apply_own_event(&mut self, event: &Event) -> Vec<Frame> {
        match event {
            Event::RunStarted { question, .. } => {
                self.language = Language::of_text(question).unwrap_or(self.language);
                vec![frame("DEBUG", &json!(self.run.as_str()))]
            }
            Event::MessageCompleted { text, .. } => {
                self.open_message = None;
                self.texts.push(text.clone());
                self.think()
            }
            Event::RunResumed { .. } | Event::MessageReset { .. } => {
                self.open_message = None;
                self.think()
            }
            Event::CallCompleted { result: ToolResult::Done(output), .. } => {
                if let ResultView::Rows { results } = &output.view {
                    self.results.clone_from(results);
                }
                Vec::new()
            }
            Event::HumanRequested { requests, .. } => {
                for request in requests {
                    self.requests.add(request, None);
                }
                Vec::new()
            }
            Event::HumanResolved(response) => {
                self.requests.remove(&response.request);
                Vec::new()
            }
            Event::RunEnded(ending) => self.end_run(ending),
            Event::CallRequested { .. }
            | Event::CallCompleted { .. }
            | Event::ModelChanged(_)
            | Event::AgentChanged { .. }
            | Event::ModelDelayed { .. }
            | Event::FileAdded { .. }
            | Event::ContextCompacted { .. }
            | Event::EmployeesNamed { .. }
            | Event::PlanChanged { .. }
            | Event::StepChanged { .. }
            | Event::ChildStarted { .. }
            | Event::ChildEnded { .. }
            | Event::ReviewCompleted(_)
            | Event::UserMessageAdded { .. }
            | Event::VerdictGiven(_) => Vec::new(),
        }
    }

    /// Returns all text so far, if the page does not show it.
    fn think(&mut self) -> Vec<Frame> {
        let open = self.open_message.as_ref().map(|(_, open)| open.text_of(TextKind::Text));
        let texts = self.texts.iter().map(String::as_str).chain(open);
        let texts = texts.map(str::trim).filter(|text| !text.is_empty());
        let thought = texts.collect::<Vec<_>>().join("\n\n");
        if thought == self.shown_thought {
            return Vec::new();
        }
        self.shown_thought.clone_from(&thought);
        vec![frame("THINK", &json!(thought))]
    }

    fn end_run(&mut self, ending: &RunResult) -> Vec<Frame> {
        self.open_message = None;
        let sentence = ending.failure.as_ref().map(|failure| failure.sentence(self.language));
        // Rows that the model looked at again are not the answer.
        let results =
            if sentence.is_none() { std::mem::take(&mut self.results) } else { Vec::new() };
        let needs_answer = results.is_empty()
            || results.iter().any(|it| it.notes.iter().any(|note| note != FACTS_UNKNOWN));
        let below = if needs_answer { ending.answer.clone() } else { show_queries(&results) };
        if !self.texts.contains(&below) {
            self.texts.push(below);
        }
        self.texts.extend(sentence.clone());
        let mut frames = self.think();
        frames.push(frame("finished_stream", &json!("finished_stream")));
        if !results.is_empty() {
            let charts: Vec<Value> = results.iter().map(chart_fields).collect();
            frames.push(frame("CHART_DATA", &json!(charts)));
        }
        frames.extend(sentence.map(|sentence| frame("ERROR", &json!(sentence))));
        frames.push(ready());
        frames
    }
}

fn frame(event: &str, data: &Value) -> Frame {
    Frame::Data { event: None, data: json!({"eventType": event, "data": data}).to_string() }
}

fn ready() -> Frame {
    frame("READY", &json!(""))
}

/// Returns the queries as blocks of SQL.
fn show_queries(results: &[QueryRows]) -> String {
    let blocks = results.iter().map(|result| format!("```sql\n{}\n```", result.sql.trim()));
    blocks.collect::<Vec<_>>().join("\n\n")
}

impl Projection for JoyAgentData {
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        if entry.path.is_root() { self.apply_own_event(&entry.event) } else { Vec::new() }
    }

    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame> {
        let message = &preview.message;
        if !preview.is_own_text() {
            return Vec::new();
        }
        if self.open_message.as_ref().is_none_or(|(open, _)| open != message) {
            self.open_message = Some((message.clone(), OpenText::default()));
        }
        let Some((_, open)) = &mut self.open_message else { return Vec::new() };
        match open.apply_preview(preview) {
            TextChange::Nothing => Vec::new(),
            TextChange::Appended(_) | TextChange::Restarted(_) => self.think(),
        }
    }

    fn heartbeat(&self) -> Frame {
        Frame::Comment("heartbeat")
    }

    fn hand_over(&mut self, _: Option<&Cursor>, _: i64) -> Vec<Frame> {
        let requests = self.requests.describe(self.language);
        let words =
            requests.unwrap_or_else(|| Wording::StillWorking.text(self.language).to_owned());
        self.texts.push(words);
        let mut frames = self.think();
        self.texts.pop();
        frames.push(ready());
        frames
    }

    fn resume(&mut self) {}

    fn has_large_frames(&self) -> bool {
        true
    }

    fn can_resume(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::error_code::ErrorCode;

    #[test]
    fn page_shows_the_reason_and_is_unlocked() {
        let stream = refusal_stream(&ErrorCode::QueryMissing.into(), Language::En);
        let events: Vec<Value> = stream
            .trim()
            .split("\n\n")
            .map(|frame| serde_json::from_str(frame.strip_prefix("data:").unwrap()).unwrap())
            .collect();
        let kinds: Vec<_> =
            events.iter().map(|event| event["eventType"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["THINK", "ERROR", "READY"]);
        assert_eq!(events[0]["code"], "query_missing");
        assert_eq!(events[0]["data"], events[1]["data"]);
    }
}
