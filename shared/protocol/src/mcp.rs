//! The Model Context Protocol, with Djinn as the server: the stream of one call of a tool.
//!
//! A call ends with the state of its run: an answer, open requests, or "still running". Until then each piece of work is
//! a notification of progress, if the client asked for these.

mod message;
mod outcome;
mod tools;

use djinn_core::entry::{Entry, Event, RunResult};
use djinn_core::id::RunId;
use djinn_core::language::Language;
use djinn_core::status::RunStatus;
use serde_json::{Value, json};

use crate::connection::{Frame, Projection};
use crate::cursor::Cursor;
use crate::link::SessionLinks;
use crate::open_requests::{OpenRequests, request_line};
use crate::preview::Preview;
use crate::work_lines::WorkLines;
use message::result_body;
pub use message::{
    INITIALIZED_VERSIONS, METHOD_HEADER, MODERN_VERSION, McpErrorKind, McpHeaders, McpMessage,
    McpRefusal, McpRequest, NAME_HEADER, VERSION_HEADER, discovery, error_body, failed_call,
    initialization,
};
pub use outcome::{McpAnswerFile, McpHumanRequest, McpOutcome, McpWords};
pub use tools::{DEFAULT_WAIT_S, MAX_WAIT_S, McpServerTool};

/// A call of a tool whose result is the state of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerCall {
    /// The id of the request.
    pub id: Value,
    /// The token for notifications of progress, if the client wants any.
    pub progress_token: Option<Value>,
    /// True for a request of [`MODERN_VERSION`].
    pub is_modern: bool,
    /// True if the client reads server-sent events, false for one JSON document.
    pub is_stream: bool,
    /// The beginning of the call, Unix milliseconds: earlier work is no progress.
    pub called_at_ms: i64,
}

/// The projection to the stream of a call.
pub struct Mcp {
    call: McpServerCall,
    run: RunId,
    session: String,
    links: SessionLinks,
    words: McpWords,
    language: Language,
    work: WorkLines,
    /// The number of notifications so far.
    progress: u64,
    requests: OpenRequests,
    /// True once the result was sent.
    is_complete: bool,
}

impl Mcp {
    /// Creates the projection of a call. Texts of our own use the language of the question, by default `language`.
    #[must_use]
    pub fn new(
        call: McpServerCall,
        run: RunId,
        session: String,
        links: SessionLinks,
        words: McpWords,
        language: Language,
    ) -> Self {
        Self {
            call,
            run,
            session,
            links,
            words,
            language,
            work: WorkLines::default(),
            progress: 0,
            requests: OpenRequests::default(),
            is_complete: false,
        }
    }

    /// Returns the notification of a piece of work, if the client wants it.
    fn notify(&mut self, line: &str) -> Option<Frame> {
        let token = self.call.progress_token.as_ref().filter(|_| self.call.is_stream)?;
        self.progress += 1;
        let params = json!({"progressToken": token, "progress": self.progress, "message": line});
        let method = "notifications/progress";
        Some(event(&json!({"jsonrpc": "2.0", "method": method, "params": params})))
    }

    fn complete(&mut self, outcome: &McpOutcome) -> Vec<Frame> {
        if std::mem::replace(&mut self.is_complete, true) {
            return Vec::new();
        }
        let result = outcome.to_result(&self.words, self.language);
        let body = result_body(&self.call.id, self.call.is_modern, result);
        vec![if self.call.is_stream { event(&body) } else { Frame::Raw(body.to_string()) }]
    }

    fn outcome(&self, status: RunStatus) -> McpOutcome {
        let request = |request: &djinn_core::human::HumanRequest| McpHumanRequest {
            id: request.id.to_string(),
            text: request_line(request, self.language),
            may_say: request.subject.is_question(),
            link: self.requests.link(&request.id).map(str::to_owned),
        };
        let requests = self.requests.iter().map(request).collect();
        let base = McpOutcome::new(self.run.to_string(), self.session.clone(), status);
        McpOutcome { requests, ..base }
    }

    fn end_run(&mut self, ending: &RunResult) -> Vec<Frame> {
        self.requests = OpenRequests::default();
        let files = ending.files.iter().map(|file| McpAnswerFile {
            name: file.name.to_string(),
            description: file.description.clone(),
            media_type: file.media_type.clone(),
            url: self.links.download_url(file),
        });
        let files = files.collect();
        let failure = ending.failure.as_ref().map(|failure| failure.sentence(self.language));
        let answer = Some(ending.answer.trim().to_owned());
        let outcome = McpOutcome { answer, files, failure, ..self.outcome(ending.status) };
        self.complete(&outcome)
    }
}

/// Returns a message as a server-sent event. It has no id, because no client can resume a call.
fn event(message: &Value) -> Frame {
    Frame::Raw(format!("event: message\ndata: {message}\n\n"))
}

impl Projection for Mcp {
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        self.links.advance_to(entry.at_ms);
        self.requests.apply_entry(entry, &self.links);
        if !entry.path.is_root() {
            return Vec::new();
        }
        if let Event::RunStarted { question, .. } = &entry.event {
            self.language = Language::of_text(question).unwrap_or(self.language);
        }
        if let Event::RunEnded(ending) = &entry.event {
            return self.end_run(ending);
        }
        let lines = self.work.lines_of(&entry.event);
        if entry.at_ms < self.call.called_at_ms {
            return Vec::new();
        }
        lines.iter().filter_map(|line| self.notify(line)).collect()
    }

    fn project_preview(&mut self, _: &Preview) -> Vec<Frame> {
        Vec::new()
    }

    fn heartbeat(&self) -> Frame {
        if self.call.is_stream {
            Frame::Comment("heartbeat")
        } else {
            // White space before a document is part of no value.
            Frame::Raw(" ".to_owned())
        }
    }

    /// Ends the call before the run ends: with the open requests, or as still running.
    fn hand_over(&mut self, _: Option<&Cursor>, _: i64) -> Vec<Frame> {
        let is_waiting = self.requests.iter().next().is_some();
        let status = if is_waiting { RunStatus::Paused } else { RunStatus::Running };
        let outcome = self.outcome(status);
        self.complete(&outcome)
    }

    fn resume(&mut self) {}

    fn has_large_frames(&self) -> bool {
        false
    }

    fn can_resume(&self) -> bool {
        false
    }
}
