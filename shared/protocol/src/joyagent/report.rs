//! A document in progress, and its file: a report, a writer's document, or an analysis with its queries.

use serde_json::{Value, json};

use super::file_links::link_files;
use super::query_text::show_results;
use super::reply::LaneReply;
use super::{AgentResponse, Translator};
use crate::text_tracker::TextEdit;
use djinn_core::entry::Entry;
use djinn_core::file::ProductFile;
use djinn_core::id::{CallId, ChildId, Path};
use djinn_core::input::FinishReason;
use djinn_core::tool::{ResultView, ToolResult};
use djinn_messages::Wording;
use djinn_text::truncate::truncate_text;

/// The agent that writes reports.
const REPORT_AGENT: &str = "report_tool";
/// The agent with a document as its answer.
const WRITER_AGENT: &str = "writer";
/// The agent that analyses tables: its thoughts and queries are a document, which its answer replaces.
const ANALYSIS_AGENT: &str = "data_analysis";
/// Tools called by the file of [`REPORT_AGENT`]; their results are shown within the report's own events.
const OWN_TOOLS: [&str; 2] = ["collect", "render"];
/// The tool that returns the answer of [`ANALYSIS_AGENT`].
const ANSWER_TOOL: &str = "cite_queries";
/// Maximum bytes of the task of an analysis.
const MAX_TASK: usize = 300;

/// A document in progress or ended: entries of its run may be shown after its call.
pub(super) struct Report {
    agent: &'static str,
    /// The type of the document's events.
    message_type: &'static str,
    /// The task of an analysis.
    task: Option<String>,
    /// The complete parts: a reply cut off continues in the next reply.
    text: String,
    /// The text on the client's display.
    shown: String,
    /// True if an earlier connection may have shown another text, which the next event replaces.
    is_unknown: bool,
    /// True if the newest part was cut off and continues in the next reply.
    is_cut_off: bool,
    /// True if the newest event was not final.
    is_open: bool,
    /// The files and the time of the end, once ended.
    end: Option<(Vec<ProductFile>, i64)>,
}

impl Report {
    /// Returns true if a reply is a part of the document. A writer's replies with tool calls are thoughts.
    fn is_part(&self, reply: &LaneReply) -> bool {
        let is_cut_off = reply.finish == FinishReason::Length;
        self.agent != WRITER_AGENT || reply.is_answer || is_cut_off || self.is_cut_off
    }
}

impl Translator {
    /// Starts a document if the agent writes documents.
    pub(super) fn begin_report(
        &mut self,
        entry: &Entry,
        child: &ChildId,
        description: &str,
        agent: &str,
    ) {
        let call = CallId::new(child.to_string()).ok();
        let view = call.and_then(|call| self.calls.get(&(entry.path.clone(), call)));
        let argument = |name: &str| {
            let value = view.and_then(|call| call.arguments().get(name)?.as_str());
            value.unwrap_or_default()
        };
        let (agent, message_type) = match agent {
            REPORT_AGENT => (REPORT_AGENT, message_type_of(argument("fileType"))),
            WRITER_AGENT => {
                let ending = argument("file_name").rsplit('.').next().unwrap_or_default();
                (WRITER_AGENT, message_type_of(&ending.to_ascii_lowercase()))
            }
            ANALYSIS_AGENT => (ANALYSIS_AGENT, "data_analysis"),
            _ => return,
        };
        let words = Some(argument("task")).filter(|task| !task.is_empty()).unwrap_or(description);
        let task = (agent == ANALYSIS_AGENT).then(|| truncate_text(words, MAX_TASK));
        let path = entry.path.with_child(child.clone());
        let report = Report {
            agent,
            message_type,
            task,
            text: String::new(),
            shown: String::new(),
            is_unknown: false,
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
            TextEdit::Replace(text) => {
                let whole = format!("{}{text}", report.text);
                let can_append = report.agent == ANALYSIS_AGENT && !report.is_unknown;
                match whole.strip_prefix(&report.shown).filter(|_| can_append) {
                    Some(rest) => (rest.to_owned(), false),
                    None => (whole, true),
                }
            }
            TextEdit::Retract => (report.text.clone(), true),
        };
        report.is_open = !is_final;
        if is_final {
            report.shown.clear();
            report.is_unknown = false;
        }
        report.shown.push_str(&text);
        let message_type = report.message_type;
        let text = if is_final { self.with_file_urls(&text, message_type) } else { text };
        let data = json!({"data": text, "isFinal": is_final, "agentType": self.agent_type()});
        let event = self.report_event(path, data, at_ms)?;
        Some(vec![AgentResponse { is_final, ..event }])
    }

    /// Retracts pieces shown as part of a document, if the reply is not a part.
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

    /// Adds a complete reply to its document. Returns `None` if the reply is not a part. The events are empty
    /// until the file is known, then contain the whole document. An analysis grows by the text that is not shown yet.
    pub(super) fn add_to_report(
        &mut self,
        reply: &LaneReply,
        at_ms: i64,
    ) -> Option<Vec<AgentResponse>> {
        let path = &reply.key.path;
        let report = self.reports.get_mut(path).filter(|report| report.is_part(reply))?;
        report.text.push_str(&reply.text);
        report.is_cut_off = reply.finish == FinishReason::Length;
        if report.agent != ANALYSIS_AGENT {
            return Some(self.whole_report(path).into_iter().collect());
        }
        if !report.is_cut_off && !reply.text.trim().is_empty() {
            report.text.push_str("\n\n");
        }
        if report.text == report.shown && !report.is_unknown {
            return Some(Vec::new());
        }
        self.report_piece(path, &TextEdit::Replace(String::new()), at_ms)
    }

    /// Returns the events of a result within an analysis: the queries with their first rows, or none for the
    /// analysis itself, which replaces the document. `None` for other results.
    fn analysis_result_events(
        &mut self,
        entry: &Entry,
        tool: &str,
        outcome: &ToolResult,
    ) -> Option<Vec<AgentResponse>> {
        let path = &entry.path;
        let report = self.reports.get_mut(path).filter(|of| of.agent == ANALYSIS_AGENT)?;
        let ToolResult::Done(output) = outcome else { return None };
        if tool == ANSWER_TOOL {
            report.text.clone_from(&output.text);
            return Some(Vec::new());
        }
        let ResultView::Rows { results } = &output.view else { return None };
        let text = show_results(results);
        report.text.push_str(&text);
        self.report_piece(path, &TextEdit::Replace(String::new()), entry.at_ms)
    }

    /// Ends a document with its files. Returns the whole document, or an empty final event for an open panel
    /// without text.
    pub(super) fn end_report(
        &mut self,
        path: &Path,
        files: &[ProductFile],
        at_ms: i64,
    ) -> Option<AgentResponse> {
        self.reports.get_mut(path)?.end = Some((files.to_vec(), at_ms));
        self.whole_report(path)
    }

    /// Marks documents in progress as possibly shown in part: see [`crate::connection::Projection::resume`].
    pub(super) fn mark_unknown_reports(&mut self) {
        self.reports.values_mut().for_each(|report| report.is_unknown = report.end.is_none());
    }

    /// Ends every document in progress.
    pub(super) fn end_reports(&mut self, at_ms: i64) -> Vec<AgentResponse> {
        let open = self.reports.iter().filter(|(_, report)| report.end.is_none());
        let open: Vec<Path> = open.map(|(path, _)| path.clone()).collect();
        open.iter().filter_map(|path| self.end_report(path, &[], at_ms)).collect()
    }

    /// Returns an ended document with its files; `None` if the document has not ended, or has no text and no
    /// open panel.
    fn whole_report(&mut self, path: &Path) -> Option<AgentResponse> {
        let report = self.reports.get_mut(path)?;
        let (files, at_ms) = report.end.clone()?;
        if report.text.is_empty() && !report.is_open {
            return None;
        }
        report.is_open = false;
        let report = self.reports.get(path)?;
        let file_infos: Vec<_> = files.iter().map(|file| self.file_info(file)).collect();
        let data = json!({
            "data": self.with_file_urls(&report.text, report.message_type), "fileInfo": file_infos, "isFinal": true,
            "agentType": self.agent_type(),
        });
        self.report_event(path, data, at_ms)
    }

    /// Returns a line in place of a document or an analysis in its lane's result; `None` without one.
    pub(super) fn document_line(&self, path: &Path, files: &[ProductFile]) -> Option<String> {
        let report = self.reports.get(path)?;
        let has_text = [WRITER_AGENT, ANALYSIS_AGENT].contains(&report.agent);
        let is_written = has_text && !report.text.is_empty();
        let file = files.first().filter(|_| is_written)?;
        let values = [("file", file.name.as_str())];
        Some(Wording::DocumentWritten.fill(self.language, &values))
    }

    /// Returns Markdown with the images linked to the files' URLs, because the page has no adjacent files.
    pub(super) fn with_file_urls(&self, text: &str, message_type: &str) -> String {
        if !["markdown", "data_analysis"].contains(&message_type) {
            return text.to_owned();
        }
        link_files(text, &self.file_urls)
    }

    /// Returns the whole document with its files for a call with a document. Empty for calls of a report's
    /// own tools, `None` for any other call.
    pub(super) fn report_result_events(
        &mut self,
        entry: &Entry,
        call: &CallId,
        tool: &str,
        outcome: &ToolResult,
    ) -> Option<Vec<AgentResponse>> {
        if let Some(events) = self.analysis_result_events(entry, tool, outcome) {
            return Some(events);
        }
        let is_own = OWN_TOOLS.contains(&tool);
        if self.reports.get(&entry.path).is_some_and(|of| of.agent == REPORT_AGENT && is_own) {
            return Some(Vec::new());
        }
        let path = entry.path.with_child(ChildId::new(call.to_string()).ok()?);
        self.reports.get(&path)?;
        let ToolResult::Done(output) = outcome else { return None };
        Some(self.end_report(&path, &output.files, entry.at_ms).into_iter().collect())
    }

    /// Ends the document of a failed call with the text so far.
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
        if let (Some(task), Some(data)) = (&report.task, event.result_map.as_object_mut()) {
            data.insert("requestId".to_owned(), json!(self.request));
            data.insert("task".to_owned(), json!(task));
        }
        event.digital_employee = Some(report.agent.to_owned());
        self.place_event(&mut event, path);
        Some(event)
    }
}

/// Returns the type of document event. The page has no other documents, so other types are shown as their
/// Markdown source.
fn message_type_of(file_type: &str) -> &'static str {
    match file_type {
        "html" | "htm" => "html",
        "ppt" => "ppt",
        _ => "markdown",
    }
}
