//! Events of calls: files, results and failures.

use serde_json::{Map, Value, json};

use super::notices::{failed_call_notice, no_rows_notice, refused_plan_notice};
use super::{AgentResponse, Translator};
use djinn_core::entry::Entry;
use djinn_core::file::ProductFile;
use djinn_core::id::CallId;
use djinn_core::settings::OutputStyle;
use djinn_core::tool::{ResultView, ToolFailure, ToolResult};
use djinn_text::images::{TextForm, unlink_images};

/// Maximum characters of a tool's error message.
const MAX_DETAIL: usize = 500;

/// A requested call.
pub(super) struct CallView {
    tool: String,
    /// The arguments visible to users; empty unless the result is visible.
    arguments: Value,
    visible: bool,
}

impl CallView {
    pub(super) fn of(tool: &str, arguments: &Value, visible: bool) -> Self {
        let arguments = if visible { arguments.clone() } else { Value::Null };
        Self { tool: tool.to_owned(), arguments, visible }
    }

    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    pub(super) fn arguments(&self) -> &Value {
        &self.arguments
    }
}

impl Translator {
    /// Completes a call, and returns the events for the result. The call is removed from the open calls.
    pub(super) fn complete_call(
        &mut self,
        entry: &Entry,
        call: &CallId,
        outcome: &ToolResult,
    ) -> Vec<AgentResponse> {
        let Some(call_view) = self.calls.remove(&(entry.path.clone(), call.clone())) else {
            return Vec::new();
        };
        let roles = self.employees.get(&entry.path);
        let role = roles.and_then(|roles| roles.get(&call_view.tool)).cloned();
        if let ToolResult::Done(output) = outcome {
            if let ResultView::FileRead { file } = &output.view {
                self.remember_file(file);
            }
            output.files.iter().for_each(|file| self.remember_file(file));
        }
        let tool = call_view.tool.as_str();
        let closing_events = self.end_failed_search(entry, call, outcome);
        let closing_events =
            closing_events.into_iter().chain(self.end_failed_report(entry, call, outcome));
        let closing_events: Vec<_> = closing_events.collect();
        let events = self.report_result_events(entry, call, tool, outcome);
        let events = events.or_else(|| self.code_result_events(entry, &call_view, outcome));
        let events = events.or_else(|| self.search_result_events(entry, call, tool, outcome));
        let events = events.unwrap_or_else(|| {
            self.result_of_call(entry, &call_view, outcome).into_iter().collect()
        });
        let with_role = |event: AgentResponse| {
            let digital_employee = role.clone().or_else(|| event.digital_employee.clone());
            AgentResponse { digital_employee, ..event }
        };
        closing_events.into_iter().chain(events).map(with_role).collect()
    }

    fn result_of_call(
        &mut self,
        entry: &Entry,
        call_view: &CallView,
        outcome: &ToolResult,
    ) -> Option<AgentResponse> {
        let id = &entry.id.to_string();
        let at_ms = entry.at_ms;
        let text = match outcome {
            ToolResult::Done(observation) => match &observation.view {
                ResultView::FileWritten { file } => {
                    return Some(self.written_file_event(id, file, at_ms));
                }
                ResultView::FileRead { file } => {
                    return Some(self.file_event(id, "读取文件", file, at_ms));
                }
                ResultView::UserAnswer => {
                    let tool = call_view.tool.as_str();
                    let reason = ToolFailure::Answered;
                    let text = failed_call_notice(tool, reason, &observation.text, self.language);
                    return Some(self.lane_thought(&entry.path, id, &text, at_ms));
                }
                ResultView::Text | ResultView::Rows { .. } if call_view.visible => {
                    observation.text.clone()
                }
                // A plan has a separate event.
                ResultView::Text
                | ResultView::Plan { .. }
                | ResultView::Searched { .. }
                | ResultView::Rows { .. } => return None,
            },
            ToolResult::Failed { reason, detail }
                if call_view.visible && is_tool_failure(*reason) =>
            {
                format!("{}: {detail}", reason.as_str())
            }
            ToolResult::PlanRefused { .. } => {
                let text = refused_plan_notice(&call_view.tool, self.language);
                return Some(self.lane_thought(&entry.path, id, &text, at_ms));
            }
            ToolResult::Failed { reason, detail } => {
                let detail: String = without_images(detail).chars().take(MAX_DETAIL).collect();
                let text = failed_call_notice(&call_view.tool, *reason, &detail, self.language);
                return Some(self.lane_thought(&entry.path, id, &text, at_ms));
            }
        };
        let mut event = self.new_event(id, "tool_result", at_ms);
        event.tool_result = Some(json!({
            "toolName": call_view.tool, "toolParam": call_view.arguments,
            "toolResult": without_images(&text),
        }));
        Some(event)
    }

    /// Returns the event of a written file: HTML is shown as a page, or as slides if slides were requested.
    fn written_file_event(&self, id: &str, file: &ProductFile, at_ms: i64) -> AgentResponse {
        let is_page = file.media_type == "text/html";
        let message_type = match (is_page, self.style) {
            (false, _) => return self.file_event(id, "写入文件", file, at_ms),
            (true, Some(OutputStyle::Ppt)) => "ppt",
            (true, _) => "html",
        };
        self.file_view_event(id, message_type, file, "", at_ms)
    }

    /// Returns the event for a command on a file.
    pub(super) fn file_event(
        &self,
        id: &str,
        command: &str,
        file: &ProductFile,
        at_ms: i64,
    ) -> AgentResponse {
        // The UI's table breaks on a file without rows.
        if file.has_rows == Some(false) {
            let text = no_rows_notice(file.name.as_str(), self.language);
            return self.file_view_event(id, "markdown", file, &text, at_ms);
        }
        let mut event = self.new_event(id, "file", at_ms);
        event.result_map = json!({
            "command": command, "fileInfo": [self.file_info(file)],
            "agentType": self.agent_type(),
        });
        event
    }

    /// Returns the event for a file with a text shown in its place.
    fn file_view_event(
        &self,
        id: &str,
        message_type: &'static str,
        file: &ProductFile,
        text: &str,
        at_ms: i64,
    ) -> AgentResponse {
        let mut event = self.new_event(id, message_type, at_ms);
        event.result_map = json!({
            "data": text, "fileInfo": [self.file_info(file)], "isFinal": true,
            "agentType": self.agent_type(),
        });
        event
    }

    /// Stores a file's URL, for texts with the file's name.
    pub(super) fn remember_file(&mut self, file: &ProductFile) {
        self.file_urls.insert(file.name.to_string(), self.links.preview_url(file));
    }

    pub(super) fn file_info(&self, file: &ProductFile) -> Map<String, Value> {
        let is_deck = file.name.as_str().to_ascii_lowercase().ends_with(".ppt");
        // The UI opens a file of type table as a table, and fails without rows. The UI opens a deck as a
        // page, and waits forever if the browser downloads the file.
        let name = if file.has_rows == Some(false) || (is_deck && file.media_type != "text/html") {
            format!("{}.txt", file.name)
        } else {
            file.name.to_string()
        };
        Map::from_iter([
            ("fileName".to_owned(), json!(name)),
            ("ossUrl".to_owned(), json!(self.links.download_url(file))),
            ("downloadUrl".to_owned(), json!(self.links.download_url(file))),
            ("domainUrl".to_owned(), json!(self.links.preview_url(file))),
            ("fileSize".to_owned(), json!(file.size)),
        ])
    }

    pub(super) fn file_list(&self, files: &[ProductFile]) -> Value {
        let entries = files.iter().map(|file| {
            let mut info = self.file_info(file);
            info.insert("description".to_owned(), json!(file.description));
            info.insert("isInternalFile".to_owned(), json!(file.internal));
            Value::Object(info)
        });
        entries.collect()
    }
}

/// Returns tool output without external images: the page renders Markdown and would load the images.
pub(super) fn without_images(text: &str) -> String {
    unlink_images(text, TextForm::Source, &|_| false)
}

/// Returns true if the tool itself failed; false if the call was not run.
fn is_tool_failure(reason: ToolFailure) -> bool {
    match reason {
        ToolFailure::Error
        | ToolFailure::TimedOut
        | ToolFailure::Crashed
        | ToolFailure::Uncertain => true,
        ToolFailure::UnknownTool
        | ToolFailure::Changed
        | ToolFailure::BadArguments
        | ToolFailure::TooMany
        | ToolFailure::TooDeep
        | ToolFailure::Untrusted
        | ToolFailure::Stopped
        | ToolFailure::Skipped
        | ToolFailure::Unanswered
        | ToolFailure::Answered => false,
    }
}
