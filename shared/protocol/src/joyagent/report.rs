//! A document while an agent writes it, and the file that came of it: a report, or what a writer writes.

use serde_json::{Value, json};

use super::file_links::link_files;
use super::reply::LaneReply;
use super::{AgentResponse, Translator};
use crate::text_tracker::TextEdit;
use djinn_core::entry::Entry;
use djinn_core::file::ProductFile;
use djinn_core::id::{CallId, ChildId, Path};
use djinn_core::input::FinishReason;
use djinn_core::tool::ToolResult;
use djinn_messages::Wording;

/// The agent that writes reports.
const REPORT_AGENT: &str = "report_tool";
/// The agent whose answer is a document.
const WRITER_AGENT: &str = "writer";
/// The tools that the file of [`REPORT_AGENT`] has called: what they come to is a part of the report's own events.
const OWN_TOOLS: [&str; 2] = ["collect", "render"];

/// A document that is written, or was: entries of its run may be shown after the call that it answers.
pub(super) struct Report {
    agent: &'static str,
    /// The type of its events.
    message_type: &'static str,
    /// The parts that are complete: a document that is cut off continues in the next reply.
    text: String,
    /// True if its newest part was cut off, so that the next reply continues it.
    is_cut_off: bool,
    /// True if its newest event said that more follows.
    is_open: bool,
    /// Its files and the time of its end, once it has ended.
    end: Option<(Vec<ProductFile>, i64)>,
}

impl Report {
    /// Returns true if a reply is a part of the document. Those of a writer that call tools are thoughts.
    fn is_part(&self, reply: &LaneReply) -> bool {
        let is_cut_off = reply.finish == FinishReason::Length;
        self.agent == REPORT_AGENT || reply.is_answer || is_cut_off || self.is_cut_off
    }
}

impl Translator {
    /// Begins a document if this agent writes one in its lane.
    pub(super) fn begin_report(&mut self, entry: &Entry, child: &ChildId, agent: &str) {
        let call = CallId::new(child.to_string()).ok();
        let requested = call.and_then(|call| self.calls.get(&(entry.path.clone(), call)));
        let argument = |name: &str| {
            let value = requested.and_then(|call| call.arguments().get(name)?.as_str());
            value.unwrap_or_default()
        };
        let (agent, message_type) = match agent {
            REPORT_AGENT => (REPORT_AGENT, message_type_of(argument("fileType"))),
            WRITER_AGENT => {
                let ending = argument("file_name").rsplit('.').next().unwrap_or_default();
                (WRITER_AGENT, message_type_of(&ending.to_ascii_lowercase()))
            }
            _ => return,
        };
        let path = entry.path.with_child(child.clone());
        let report = Report {
            agent,
            message_type,
            text: String::new(),
            is_cut_off: false,
            is_open: false,
            end: None,
        };
        self.reports.insert(path, report);
    }

    /// Returns the events of a piece of a document; `None` where none is written.
    pub(super) fn report_piece(
        &mut self,
        path: &Path,
        change: &TextEdit,
        at_ms: i64,
    ) -> Option<Vec<AgentResponse>> {
        let report = self.reports.get_mut(path)?;
        if report.end.is_some() {
            return Some(Vec::new());
        }
        let (text, is_final) = match change {
            TextEdit::Append(text) => (text.clone(), false),
            TextEdit::Replace(text) => (format!("{}{text}", report.text), true),
            TextEdit::Retract => (report.text.clone(), true),
        };
        report.is_open = !is_final;
        let message_type = report.message_type;
        let text = if is_final { self.with_file_urls(&text, message_type) } else { text };
        let data = json!({"data": text, "isFinal": is_final, "agentType": self.agent_type()});
        let event = self.report_event(path, data, at_ms)?;
        Some(vec![AgentResponse { is_final, ..event }])
    }

    /// Takes back the pieces of a reply that turns out to be no part of a document, since they were shown as one.
    pub(super) fn retract_thought(
        &mut self,
        reply: &LaneReply,
        at_ms: i64,
    ) -> Option<Vec<AgentResponse>> {
        let report = self.reports.get(&reply.key.path)?;
        if report.is_part(reply) {
            return None;
        }
        self.report_piece(&reply.key.path, &TextEdit::Retract, at_ms)
    }

    /// Adds a complete reply to its document. Returns the events if it is a part of one: none before the file
    /// is known, then the whole again.
    pub(super) fn add_to_report(&mut self, reply: &LaneReply) -> Option<Vec<AgentResponse>> {
        let path = &reply.key.path;
        let report = self.reports.get_mut(path).filter(|report| report.is_part(reply))?;
        report.text.push_str(&reply.text);
        report.is_cut_off = reply.finish == FinishReason::Length;
        Some(self.whole_report(path).into_iter().collect())
    }

    /// Ends a document with its files. Returns the whole of it, or the end of a panel in which nothing is left.
    pub(super) fn end_report(
        &mut self,
        path: &Path,
        files: &[ProductFile],
        at_ms: i64,
    ) -> Option<AgentResponse> {
        self.reports.get_mut(path)?.end = Some((files.to_vec(), at_ms));
        self.whole_report(path)
    }

    /// Ends every document that is being written.
    pub(super) fn end_reports(&mut self, at_ms: i64) -> Vec<AgentResponse> {
        let open = self.reports.iter().filter(|(_, report)| report.end.is_none());
        let open: Vec<Path> = open.map(|(path, _)| path.clone()).collect();
        open.iter().filter_map(|path| self.end_report(path, &[], at_ms)).collect()
    }

    /// The whole of a document that has ended, with its files; `None` if nothing of it was shown or is known.
    fn whole_report(&mut self, path: &Path) -> Option<AgentResponse> {
        let report = self.reports.get_mut(path)?;
        let (files, at_ms) = report.end.clone()?;
        if report.text.is_empty() && !report.is_open {
            return None;
        }
        report.is_open = false;
        let report = self.reports.get(path)?;
        let shown: Vec<_> = files.iter().map(|file| self.file_info(file)).collect();
        let data = json!({
            "data": self.with_file_urls(&report.text, report.message_type), "fileInfo": shown, "isFinal": true,
            "agentType": self.agent_type(),
        });
        self.report_event(path, data, at_ms)
    }

    /// One line that stands for a writer's document in its lane's result; `None` where there is no document.
    pub(super) fn document_line(&self, path: &Path, files: &[ProductFile]) -> Option<String> {
        let report = self.reports.get(path)?;
        let is_written = report.agent == WRITER_AGENT && !report.text.is_empty();
        let file = files.first().filter(|_| is_written)?;
        let values = [("file", file.name.as_str())];
        Some(Wording::DocumentWritten.fill(self.language, &values))
    }

    /// Markdown whose images lead to the files that they name: the page has no file beside it.
    pub(super) fn with_file_urls(&self, text: &str, message_type: &str) -> String {
        if message_type != "markdown" {
            return text.to_owned();
        }
        link_files(text, &self.file_urls)
    }

    /// The whole document with its files, where a call came to one; nothing for what belongs to it. `None` for
    /// any other call.
    pub(super) fn report_result_events(
        &mut self,
        entry: &Entry,
        call: &CallId,
        tool: &str,
        outcome: &ToolResult,
    ) -> Option<Vec<AgentResponse>> {
        let is_own = OWN_TOOLS.contains(&tool);
        if self.reports.get(&entry.path).is_some_and(|of| of.agent == REPORT_AGENT && is_own) {
            return Some(Vec::new());
        }
        let path = entry.path.with_child(ChildId::new(call.to_string()).ok()?);
        self.reports.get(&path)?;
        let ToolResult::Done(output) = outcome else { return None };
        Some(self.end_report(&path, &output.files, entry.at_ms).into_iter().collect())
    }

    /// Ends the document of a call that failed, as far as it was written.
    pub(super) fn end_failed_report(
        &mut self,
        entry: &Entry,
        call: &CallId,
        outcome: &ToolResult,
    ) -> Option<AgentResponse> {
        if let ToolResult::Done(_) = outcome {
            return None;
        }
        let path = entry.path.with_child(ChildId::new(call.to_string()).ok()?);
        self.end_report(&path, &[], entry.at_ms)
    }

    fn report_event(&self, path: &Path, data: Value, at_ms: i64) -> Option<AgentResponse> {
        let report = self.reports.get(path)?;
        let mut event = self.new_event(&format!("{path}.report"), report.message_type, at_ms);
        event.result_map = data;
        event.digital_employee = Some(report.agent.to_owned());
        self.place_event(&mut event, path);
        Some(event)
    }
}

/// The page knows no other documents: of those it is shown the Markdown that they are made of.
fn message_type_of(file_type: &str) -> &'static str {
    match file_type {
        "html" | "htm" => "html",
        "ppt" => "ppt",
        _ => "markdown",
    }
}
