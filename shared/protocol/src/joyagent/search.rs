//! A search: the queries and results of each round, and the report in progress.
//!
//! The page appends every piece of a report, so each event has only new text, and the last event the missing
//! rest. To retract text, an event of a search without queries is sent: the page shows no content for such an
//! event, and later pieces start the report anew.

use serde_json::{Value, json};

use super::{AgentResponse, Translator};
use crate::text_tracker::TextEdit;
use djinn_core::entry::Entry;
use djinn_core::id::{CallId, ChildId, MessageKey, Path};
use djinn_core::tool::search::QueryFindings;
use djinn_core::tool::{ResultView, ToolResult};
use djinn_text::citations::link_citations;

/// The agent that searches.
const SEARCH_AGENT: &str = "deep_search";
/// The tool for the agent's rounds.
const ROUND_TOOL: &str = "search_round";

/// A search in progress.
pub(super) struct SearchReport {
    /// The topic of the search.
    query: String,
    /// True once a round has results; text from then on is the report.
    has_found: bool,
    /// True once the end was shown; text of the run may still arrive.
    has_ended: bool,
    /// The text of the report shown so far.
    shown_text: String,
    /// The newest complete reply, kept after a failed search.
    complete: String,
    /// True if an earlier connection may have shown a part of the report.
    is_unknown: bool,
}

impl Translator {
    /// Starts a search if the agent is the search agent.
    pub(super) fn begin_search(&mut self, entry: &Entry, child: &ChildId, agent: &str) {
        if agent != SEARCH_AGENT {
            return;
        }
        let call = CallId::new(child.to_string()).ok();
        let view = call.and_then(|call| self.calls.get(&(entry.path.clone(), call)));
        let query = view.and_then(|call| call.arguments().get("query")?.as_str());
        let query = query.unwrap_or_default().to_owned();
        let search = SearchReport {
            query,
            has_found: false,
            has_ended: false,
            shown_text: String::new(),
            complete: String::new(),
            is_unknown: false,
        };
        self.searches.insert(entry.path.with_child(child.clone()), search);
    }

    /// Returns the event with the queries at the start of a round.
    pub(super) fn round_event(
        &self,
        entry: &Entry,
        call: &CallId,
        tool: &str,
        arguments: &Value,
    ) -> Option<AgentResponse> {
        let search = self.searches.get(&entry.path).filter(|_| tool == ROUND_TOOL)?;
        let queries: Vec<&str> =
            arguments.get("queries")?.as_array()?.iter().filter_map(Value::as_str).collect();
        let nothing: Vec<[&str; 0]> = queries.iter().map(|_| []).collect();
        let findings = json!({"query": queries, "docs": nothing});
        Some(self.findings_event(entry, call, search, "extend", &findings))
    }

    /// Returns the results of a round, or the rest of the report at the end of the search. `None` for any
    /// other call.
    pub(super) fn search_result_events(
        &mut self,
        entry: &Entry,
        call: &CallId,
        tool: &str,
        result: &ToolResult,
    ) -> Option<Vec<AgentResponse>> {
        if let ToolResult::Done(output) = result
            && let ResultView::Searched { results } = &output.view
            && let Some(search) = self.searches.get_mut(&entry.path).filter(|_| tool == ROUND_TOOL)
        {
            search.has_found = true;
            let search = self.searches.get(&entry.path)?;
            let findings = json!({
                "query": results.iter().map(|findings| &findings.query).collect::<Vec<_>>(),
                "docs": results.iter().map(list_documents).collect::<Vec<_>>(),
            });
            return Some(vec![self.findings_event(entry, call, search, "search", &findings)]);
        }
        let path = entry.path.with_child(ChildId::new(call.to_string()).ok()?);
        self.searches.get(&path)?;
        let ToolResult::Done(output) = result else { return None };
        let linked_text = link_citations(&output.text);
        let mut events: Vec<_> = self.extend_report(&path, &linked_text, true, entry.at_ms);
        let files = output.files.iter().enumerate().map(|(nth, file)| {
            let id = format!("{}.{nth}", entry.id);
            self.file_event(&id, "写入文件", file, entry.at_ms)
        });
        events.extend(files);
        Some(events)
    }

    /// Returns the events for a piece of a report; `None` without a report in progress.
    pub(super) fn search_piece(
        &mut self,
        key: &MessageKey,
        edit: &TextEdit,
        at_ms: i64,
    ) -> Option<Vec<AgentResponse>> {
        let search = self.searches.get(&key.path).filter(|search| search.has_found)?;
        Some(match edit {
            _ if search.has_ended => Vec::new(),
            TextEdit::Append(text) => {
                let whole = format!("{}{text}", search.shown_text);
                self.extend_report(&key.path, &whole, false, at_ms)
            }
            TextEdit::Replace(text) => self.extend_report(&key.path, text, false, at_ms),
            TextEdit::Retract => self.retract_report(&key.path, at_ms).into_iter().collect(),
        })
    }

    /// Adds a complete reply to the report; `None` before the first results.
    pub(super) fn add_to_search(
        &mut self,
        path: &Path,
        text: &str,
        at_ms: i64,
    ) -> Option<Vec<AgentResponse>> {
        let search = self.searches.get_mut(path).filter(|search| search.has_found)?;
        text.clone_into(&mut search.complete);
        Some(self.extend_report(path, text, false, at_ms))
    }

    /// Ends a failed search: complete replies stay, and a partial reply is retracted.
    pub(super) fn end_failed_search(
        &mut self,
        entry: &Entry,
        call: &CallId,
        result: &ToolResult,
    ) -> Vec<AgentResponse> {
        let path = ChildId::new(call.to_string()).ok().map(|child| entry.path.with_child(child));
        match (result, path) {
            (ToolResult::Done(_), _) | (_, None) => Vec::new(),
            (_, Some(path)) => self.end_search(&path, entry.at_ms),
        }
    }

    /// Ends every search in progress.
    pub(super) fn end_searches(&mut self, at_ms: i64) -> Vec<AgentResponse> {
        let paths: Vec<Path> = self.searches.keys().cloned().collect();
        paths.iter().flat_map(|path| self.end_search(path, at_ms)).collect()
    }

    /// Ends a search without a result, with the complete reply written so far.
    pub(super) fn end_search(&mut self, path: &Path, at_ms: i64) -> Vec<AgentResponse> {
        let search = self.searches.get(path).filter(|search| !search.has_ended);
        let Some(search) = search else { return Vec::new() };
        let report_text = search.complete.clone();
        let events = if report_text.is_empty() {
            self.retract_report(path, at_ms).into_iter().collect()
        } else {
            self.extend_report(path, &report_text, true, at_ms)
        };
        if let Some(search) = self.searches.get_mut(path) {
            search.has_ended = true;
        }
        events
    }

    /// Searches under way may have been shown in part by an earlier connection.
    pub(super) fn mark_unknown_searches(&mut self) {
        self.searches.values_mut().for_each(|search| search.is_unknown = !search.has_ended);
    }

    /// Returns the events that extend the report to the given text.
    fn extend_report(
        &mut self,
        path: &Path,
        text: &str,
        is_final: bool,
        at_ms: i64,
    ) -> Vec<AgentResponse> {
        let search = self.searches.get(path).filter(|search| !search.has_ended);
        let Some(search) = search else { return Vec::new() };
        // Invisible white space at the end does not count as missing.
        let prefix = if is_final { search.shown_text.trim_end() } else { &search.shown_text };
        let rest = text.strip_prefix(prefix).filter(|_| !search.is_unknown);
        let (retracted, rest) = match rest {
            Some(rest) => (None, rest),
            None => (self.retract_report(path, at_ms), text),
        };
        if let Some(search) = self.searches.get_mut(path) {
            search.has_ended = is_final;
            text.clone_into(&mut search.shown_text);
        }
        let is_news = is_final || !rest.is_empty();
        let search = self.searches.get(path).filter(|_| is_news);
        let answer = search.map(|search| {
            let map = json!({
                "requestId": self.request, "query": search.query, "searchResult": {"query": [], "docs": []},
                "answer": rest, "isFinal": is_final, "messageType": "report", "agentType": self.agent_type(),
            });
            let event = self.search_event(&format!("{path}.report"), path, map, at_ms);
            AgentResponse { is_final, ..event }
        });
        retracted.into_iter().chain(answer).collect()
    }

    /// Retracts the shown text of a report, if any.
    fn retract_report(&mut self, path: &Path, at_ms: i64) -> Option<AgentResponse> {
        let search = self.searches.get_mut(path).filter(|search| !search.has_ended)?;
        if search.shown_text.is_empty() && !search.is_unknown {
            return None;
        }
        search.shown_text.clear();
        search.is_unknown = false;
        let map = json!({
            "requestId": self.request, "query": search.query, "searchResult": {"query": [], "docs": []},
            "answer": "", "isFinal": true, "searchFinish": true, "messageType": "extend",
            "agentType": self.agent_type(),
        });
        Some(self.search_event(&format!("{path}.report"), path, map, at_ms))
    }

    fn findings_event(
        &self,
        entry: &Entry,
        call: &CallId,
        search: &SearchReport,
        kind: &str,
        findings: &Value,
    ) -> AgentResponse {
        let map = json!({
            "requestId": self.request, "query": search.query, "searchResult": findings, "isFinal": false,
            "searchFinish": kind == "search", "messageType": kind, "agentType": self.agent_type(),
        });
        let id = format!("{}.search", call.clone().below(&entry.path));
        self.search_event(&id, &entry.path, map, entry.at_ms)
    }

    fn search_event(&self, id: &str, path: &Path, map: Value, at_ms: i64) -> AgentResponse {
        let mut event = self.new_event(id, "deep_search", at_ms);
        event.result_map = map;
        event.digital_employee = Some(SEARCH_AGENT.to_owned());
        self.place_event(&mut event, path);
        event
    }
}

fn list_documents(findings: &QueryFindings) -> Value {
    let documents = findings.pages.iter().map(|page| {
        json!({"doc_type": "web_page", "content": page.excerpt, "title": page.title, "link": page.url})
    });
    documents.collect()
}
