//! A search: what is asked in each round, what was found, and the report as it is written.
//!
//! The page adds every piece of a report to what it shows and can take nothing back. So each event holds what
//! was added, the last one what is missing in the end; and what does not go on a text has an id of its own, once
//! what was shown has ended.

use serde_json::{Value, json};

use super::{AgentResponse, Translator};
use crate::text_tracker::TextEdit;
use djinn_core::entry::Entry;
use djinn_core::id::{CallId, ChildId, MessageKey, Path};
use djinn_core::tool::search::QueryFindings;
use djinn_core::tool::{ResultView, ToolResult};

/// The agent that searches.
const SEARCH_AGENT: &str = "deep_search";
/// The tool of its rounds.
const ROUND_TOOL: &str = "search_round";

/// A search that is under way.
pub(super) struct SearchReport {
    /// What it is about.
    query: String,
    /// Whether a round has found something, so that what is said is the report.
    has_found: bool,
    /// Whether the last of it was shown: what its run says may come later still.
    has_ended: bool,
    /// The report as far as it was shown, and the number of its text: those before did not go on.
    shown: String,
    number: u32,
}

impl Translator {
    /// Whether this agent, called so, searches in its lane.
    pub(super) fn begin_search(&mut self, entry: &Entry, child: &ChildId, agent: &str) {
        if agent != SEARCH_AGENT {
            return;
        }
        let call = CallId::new(child.to_string()).ok();
        let requested = call.and_then(|call| self.calls.get(&(entry.path.clone(), call)));
        let query = requested.and_then(|call| call.arguments().get("query")?.as_str());
        let query = query.unwrap_or_default().to_owned();
        let (has_found, has_ended, shown, number) = (false, false, String::new(), 1);
        let search = SearchReport { query, has_found, has_ended, shown, number };
        self.searches.insert(entry.path.with_child(child.clone()), search);
    }

    /// A round that begins: what is asked.
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
        let found = json!({"query": queries, "docs": nothing});
        Some(self.findings_event(entry, call, search, "extend", &found))
    }

    /// What a round found; nothing for what else belongs to a search, and at its end what is missing of the
    /// report. `None` for any other call.
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
            let found = json!({
                "query": results.iter().map(|found| &found.query).collect::<Vec<_>>(),
                "docs": results.iter().map(list_documents).collect::<Vec<_>>(),
            });
            return Some(vec![self.findings_event(entry, call, search, "search", &found)]);
        }
        let path = entry.path.with_child(ChildId::new(call.to_string()).ok()?);
        self.searches.get(&path)?;
        let ToolResult::Done(output) = result else { return None };
        let mut events: Vec<_> = self.extend_report(&path, &output.text, true, entry.at_ms);
        let files = output.files.iter().enumerate().map(|(nth, file)| {
            let id = format!("{}.{nth}", entry.id);
            self.file_event(&id, "写入文件", file, entry.at_ms)
        });
        events.extend(files);
        Some(events)
    }

    /// The events of a piece of a report; `None` where none is written.
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
                let whole = format!("{}{text}", search.shown);
                self.extend_report(&key.path, &whole, false, at_ms)
            }
            TextEdit::Replace(text) => self.extend_report(&key.path, text, false, at_ms),
            TextEdit::Retract => self.close_report(&key.path, at_ms).into_iter().collect(),
        })
    }

    /// Takes a reply that is complete; `None` where it is no report.
    pub(super) fn add_to_search(
        &mut self,
        path: &Path,
        text: &str,
        at_ms: i64,
    ) -> Option<Vec<AgentResponse>> {
        self.searches.get(path).filter(|search| search.has_found)?;
        Some(self.extend_report(path, text, false, at_ms))
    }

    /// Forgets a search that came to nothing. The end of what was shown of its report.
    pub(super) fn end_failed_search(
        &mut self,
        entry: &Entry,
        call: &CallId,
        result: &ToolResult,
    ) -> Option<AgentResponse> {
        if let ToolResult::Done(_) = result {
            return None;
        }
        let path = entry.path.with_child(ChildId::new(call.to_string()).ok()?);
        let closed = self.close_report(&path, entry.at_ms);
        self.searches.remove(&path);
        closed
    }

    /// What is missing of a report whose text is now this one.
    fn extend_report(
        &mut self,
        path: &Path,
        text: &str,
        is_final: bool,
        at_ms: i64,
    ) -> Vec<AgentResponse> {
        let search = self.searches.get(path).filter(|search| !search.has_ended);
        let Some(search) = search else { return Vec::new() };
        // White space at the end, which nobody sees, is not missed there.
        let shown = if is_final { search.shown.trim_end() } else { &search.shown };
        let (closed, rest) = match text.strip_prefix(shown) {
            Some(rest) => (None, rest),
            None => (self.close_report(path, at_ms), text),
        };
        if let Some(search) = self.searches.get_mut(path) {
            search.has_ended = is_final;
            text.clone_into(&mut search.shown);
        }
        let is_news = is_final || !rest.is_empty();
        let extended = is_news.then(|| self.answer_event(path, rest, is_final, at_ms)).flatten();
        closed.into_iter().chain(extended).collect()
    }

    /// The end of what was shown of a report: it cannot be taken back, and what follows stands beside it.
    fn close_report(&mut self, path: &Path, at_ms: i64) -> Option<AgentResponse> {
        let shown = |search: &&SearchReport| !search.has_ended && !search.shown.is_empty();
        self.searches.get(path).filter(shown)?;
        let closed = self.answer_event(path, "", true, at_ms);
        let search = self.searches.get_mut(path)?;
        search.shown.clear();
        search.number += 1;
        closed
    }

    fn answer_event(
        &self,
        path: &Path,
        piece: &str,
        is_final: bool,
        at_ms: i64,
    ) -> Option<AgentResponse> {
        let search = self.searches.get(path)?;
        let map = json!({
            "requestId": self.request, "query": search.query, "searchResult": {"query": [], "docs": []},
            "answer": piece, "isFinal": is_final, "messageType": "report", "agentType": self.agent_type(),
        });
        let event = self.search_event(&format!("{path}.report{}", search.number), path, map, at_ms);
        Some(AgentResponse { is_final, ..event })
    }

    fn findings_event(
        &self,
        entry: &Entry,
        call: &CallId,
        search: &SearchReport,
        kind: &str,
        found: &Value,
    ) -> AgentResponse {
        let map = json!({
            "requestId": self.request, "query": search.query, "searchResult": found, "isFinal": false,
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

fn list_documents(found: &QueryFindings) -> Value {
    let documents = found.pages.iter().map(|page| {
        json!({"doc_type": "web_page", "content": page.excerpt, "title": page.title, "link": page.url})
    });
    documents.collect()
}
