//! A report while it is written, and the file that came of it.

use serde_json::{Value, json};

use super::{AgentResponse, Translator};
use crate::text_tracker::TextEdit;
use djinn_core::entry::Entry;
use djinn_core::file::ProductFile;
use djinn_core::id::{CallId, ChildId, Path};
use djinn_core::tool::ToolResult;

/// The agent that writes reports.
const REPORT_AGENT: &str = "report_tool";
/// The tools that its file has called: what they come to is a part of the report's own events.
const OWN_TOOLS: [&str; 2] = ["collect", "render"];

/// A report that is written, or was: what its run says may be shown after the call that it answers is.
pub(super) struct Report {
    /// The type of its events.
    message_type: &'static str,
    /// The replies that are complete: a report that is cut off goes on in the next.
    text: String,
    /// Its file, and the moment of the call's result, once they are known.
    files: Option<(Vec<ProductFile>, i64)>,
}

impl Translator {
    /// Whether this agent, called so, writes a report in its lane.
    pub(super) fn begin_report(&mut self, entry: &Entry, child: &ChildId, agent: &str) {
        if agent != REPORT_AGENT {
            return;
        }
        let call = CallId::new(child.to_string()).ok();
        let requested = call.and_then(|call| self.calls.get(&(entry.path.clone(), call)));
        let file_type = requested.and_then(|call| call.arguments().get("fileType")?.as_str());
        let message_type = message_type_of(file_type.unwrap_or_default());
        let path = entry.path.with_child(child.clone());
        self.reports.insert(path, Report { message_type, text: String::new(), files: None });
    }

    /// The event of a piece of a report; `None` where none is written.
    pub(super) fn report_piece(
        &self,
        path: &Path,
        change: &TextEdit,
        at_ms: i64,
    ) -> Option<AgentResponse> {
        let report = self.reports.get(path)?;
        let (text, is_final) = match change {
            TextEdit::Append(text) => (text.clone(), false),
            TextEdit::Replace(text) => (format!("{}{text}", report.text), true),
            TextEdit::Retract => (report.text.clone(), true),
        };
        let text = if is_final { self.with_file_urls(&text, report.message_type) } else { text };
        let data = json!({"data": text, "isFinal": is_final, "agentType": self.agent_type()});
        let event = self.report_event(path, report.message_type, data, at_ms);
        Some(AgentResponse { is_final, ..event })
    }

    /// Takes a reply that is complete. The events of it if it is a part of a report: none before the file is
    /// known, then the whole again.
    pub(super) fn add_to_report(&mut self, path: &Path, text: &str) -> Option<Vec<AgentResponse>> {
        self.reports.get_mut(path)?.text.push_str(text);
        Some(self.whole_report(path).into_iter().collect())
    }

    /// The whole of a report with its file; `None` before there is one, and without a text.
    fn whole_report(&self, path: &Path) -> Option<AgentResponse> {
        let Report { message_type, text, files } = self.reports.get(path)?;
        let (files, at_ms) = files.as_ref().filter(|_| !text.is_empty())?;
        let shown: Vec<_> = files.iter().map(|file| self.file_info(file)).collect();
        let data = json!({
            "data": self.with_file_urls(text, message_type), "fileInfo": shown, "isFinal": true,
            "agentType": self.agent_type(),
        });
        Some(self.report_event(path, message_type, data, *at_ms))
    }

    /// Markdown whose images lead to the files that they name: the page shows it where no file lies beside it.
    fn with_file_urls(&self, text: &str, message_type: &str) -> String {
        if message_type != "markdown" {
            return text.to_owned();
        }
        self.product_urls.iter().fold(text.to_owned(), |text, (name, url)| {
            let escaped = name.replace(' ', "%20");
            text.replace(&format!("]({name})"), &format!("]({url})"))
                .replace(&format!("]({escaped})"), &format!("]({url})"))
        })
    }

    /// The whole report with its file, where a call came to one; nothing for what belongs to it. `None` for
    /// any other call.
    pub(super) fn report_result_events(
        &mut self,
        entry: &Entry,
        call: &CallId,
        tool: &str,
        outcome: &ToolResult,
    ) -> Option<Vec<AgentResponse>> {
        if self.reports.contains_key(&entry.path) && OWN_TOOLS.contains(&tool) {
            return Some(Vec::new());
        }
        let path = entry.path.with_child(ChildId::new(call.to_string()).ok()?);
        let ToolResult::Done(output) = outcome else {
            self.reports.remove(&path)?;
            return None;
        };
        self.reports.get_mut(&path)?.files = Some((output.files.clone(), entry.at_ms));
        Some(self.whole_report(&path).into_iter().collect())
    }

    fn report_event(
        &self,
        path: &Path,
        message_type: &'static str,
        data: Value,
        at_ms: i64,
    ) -> AgentResponse {
        let mut event = self.new_event(&format!("{path}.report"), message_type, at_ms);
        event.result_map = data;
        event.digital_employee = Some(REPORT_AGENT.to_owned());
        self.place_event(&mut event, path);
        event
    }
}

/// The page knows no other documents: of those it is shown the Markdown that they are made of.
fn message_type_of(file_type: &str) -> &'static str {
    match file_type {
        "html" => "html",
        "ppt" => "ppt",
        _ => "markdown",
    }
}
