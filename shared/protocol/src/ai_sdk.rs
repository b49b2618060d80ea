//! The UI message stream of Vercel's AI SDK, as `useChat` reads it.
//!
//! The run's own text and reasoning are parts of a message, and its tool calls are dynamic tools with approvals. The
//! plan, children and files are data parts, each replaced as a whole. A response is one step of a message: when text
//! becomes void, `reset-step` drops the step, and the valid parts follow again.

mod calls;
mod parts;
mod text;

use serde_json::{Value, json};

use calls::{Calls, call_to_approve};
use djinn_core::entry::{Entry, Event, ResetReason, RunResult};
use djinn_core::file::ProductFile;
use djinn_core::human::HumanRequest;
use djinn_core::id::{RunId, StepId};
use djinn_core::input::FinishReason;
use djinn_core::language::Language;
use djinn_core::plan::{Plan, StepStatus};
use djinn_core::status::RunStatus;
use djinn_core::tool::ToolResult;
use djinn_messages::Wording;
use djinn_text::citations::list_sources;
use parts::{ResponseParts, TextPart};
use text::Texts;

use crate::call_progress::CallKey;
use crate::child_work::WorkingChildren;
use crate::connection::{Frame, Projection};
use crate::cursor::Cursor;
use crate::link::SessionLinks;
use crate::open_requests::OpenRequests;
use crate::preview::Preview;

/// The id of the last text, about the end of the run or its pause.
const CLOSING: &str = "closing";

/// The message that the client builds from a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AiSdkOptions {
    /// The id of the message. `None` leaves the client's own.
    pub message: Option<String>,
    /// True if the client already shows the message, with the calls of the records before.
    pub is_known: bool,
    /// True if the client asks for the rest of a stream that ends without `finish`.
    pub reconnects: bool,
    /// True if the client drops what it has of the response.
    pub is_repeat: bool,
}

/// The projection to the AI SDK's UI message stream.
pub struct AiSdk {
    run: RunId,
    options: AiSdkOptions,
    links: SessionLinks,
    language: Language,
    parts: ResponseParts,
    texts: Texts,
    calls: Calls,
    /// The open requests without a call to approve: the user's next message is the response.
    requests: OpenRequests,
    plan: Option<Plan>,
    children: WorkingChildren,
}

impl AiSdk {
    /// Creates the projection of a connection. Texts of our own use the language of the question, by default
    /// `language`.
    #[must_use]
    pub fn new(run: RunId, options: AiSdkOptions, links: SessionLinks, language: Language) -> Self {
        Self {
            run,
            options,
            links,
            language,
            parts: ResponseParts::default(),
            texts: Texts::default(),
            calls: Calls::default(),
            requests: OpenRequests::default(),
            plan: None,
            children: WorkingChildren::default(),
        }
    }

    fn start(&mut self) {
        let Self { run, options, .. } = self;
        let mut start = json!({"type": "start", "messageMetadata": {"run": run}});
        if let (Some(message), Some(members)) = (&options.message, start.as_object_mut()) {
            members.insert("messageId".to_owned(), json!(message));
        }
        // A client that drops what it has of the response keeps the step.
        let step = if options.is_repeat { "reset-step" } else { "start-step" };
        self.parts.send(start);
        self.parts.send(json!({"type": step}));
    }

    fn apply_entry(&mut self, entry: &Entry) {
        self.links.advance_to(entry.at_ms);
        if let Event::HumanRequested { requests, .. } = &entry.event {
            for request in requests {
                self.add_request(request, entry.at_ms);
            }
        } else if let Event::HumanResolved(response) = &entry.event {
            self.requests.remove(&response.request);
            self.calls.close_approval(&response.request, &mut self.parts);
        } else if let Event::CallCompleted { call, result } = &entry.event {
            self.requests.forget(&entry.path, Some(call));
            let key = CallKey { path: entry.path.clone(), call: call.clone() };
            self.calls.complete(&key, result, &mut self.parts);
            if let ToolResult::Done(output) = result {
                self.add_files(&output.files);
            }
        } else if let Event::ChildStarted { child, description, agent } = &entry.event {
            if let Some(task) = child.task().filter(|_| entry.path.is_root()) {
                self.set_step_status(task.step_id(), StepStatus::InProgress, "");
            }
            let path = entry.path.with_child(child.clone());
            let data = self.children.start(&path, description, agent);
            self.parts.add_child(&path, &data);
        } else if let Event::ChildEnded { child, status, text, files, .. } = &entry.event {
            let path = entry.path.with_child(child.clone());
            // Nobody responds to the requests of a child that has ended.
            self.requests.forget(&path, None);
            self.calls.forget_child(&path);
            if let Some(data) = self.children.end(&path, *status, text) {
                self.parts.add_child(&path, &data);
            }
            self.add_files(files);
        } else if entry.path.is_root() {
            self.apply_own_event(&entry.event);
        } else if let Event::MessageCompleted { text, .. } = &entry.event
            && let Some(data) = self.children.write(&entry.path, text)
        {
            self.parts.add_child(&entry.path, &data);
        }
    }

    /// Applies an event of the run itself, except the events that count for children as well.
    fn apply_own_event(&mut self, event: &Event) {
        match event {
            Event::RunStarted { question, .. } => {
                self.language = Language::of_text(question).unwrap_or(self.language);
                self.start();
            }
            Event::RunResumed { .. } | Event::MessageReset { reason: ResetReason::Failure, .. } => {
                self.texts.void_open_message(&mut self.parts);
            }
            Event::MessageReset { message, reason: ResetReason::Review, .. } => {
                self.texts.remove_message(message, &mut self.parts);
            }
            Event::MessageCompleted { message, text, reasoning, .. } => {
                let reasoning = reasoning.as_deref().unwrap_or_default();
                self.texts.complete_message(message, text, reasoning, &mut self.parts);
            }
            Event::CallRequested { call, tool, arguments, visible } => {
                self.calls.request(call, tool, arguments, *visible, &mut self.parts);
            }
            Event::PlanChanged { plan } => {
                self.plan = Some(plan.clone());
                self.send_plan();
            }
            Event::StepChanged { step, status, note } => {
                self.set_step_status(*step, *status, note);
            }
            Event::RunEnded(ending) => self.end_run(ending),
            Event::HumanRequested { .. }
            | Event::HumanResolved(_)
            | Event::CallCompleted { .. }
            | Event::ChildStarted { .. }
            | Event::ChildEnded { .. }
            | Event::ModelChanged(_)
            | Event::AgentChanged { .. }
            | Event::ModelDelayed { .. }
            | Event::FileAdded { .. }
            | Event::ContextCompacted { .. }
            | Event::EmployeesNamed { .. }
            | Event::ReviewCompleted(_)
            | Event::UserMessageAdded { .. }
            | Event::VerdictGiven(_) => {}
        }
    }

    fn add_request(&mut self, request: &HumanRequest, at_ms: i64) {
        if let Some((key, tool, arguments)) = call_to_approve(request) {
            self.calls.ask_approval(&key, tool, &arguments, &request.id, &mut self.parts);
            return;
        }
        self.requests.add(request, self.links.response_link(request, at_ms));
    }

    /// Sends a complete text of our own.
    fn send_text(&mut self, id: &str, text: &str) {
        if !text.is_empty() {
            let part = TextPart::Text;
            for chunk in [part.start(id), part.delta(id, text), part.end(id)] {
                self.parts.add(chunk);
            }
        }
    }

    fn set_step_status(&mut self, step: StepId, status: StepStatus, note: &str) {
        if self.plan.as_mut().is_some_and(|plan| plan.set_status(step, status, note).is_ok()) {
            self.send_plan();
        }
    }

    fn send_plan(&mut self) {
        let Some(plan) = &self.plan else { return };
        let steps: Vec<Value> = plan
            .steps()
            .iter()
            .map(|step| json!({"id": step.id, "label": step.label(), "status": step.status}))
            .collect();
        let data = json!({"title": plan.title, "steps": steps});
        self.parts.add(json!({"type": "data-plan", "id": "plan", "data": data}));
    }

    fn add_files(&mut self, files: &[ProductFile]) {
        for file in files.iter().filter(|file| !file.internal) {
            let data = json!({
                "name": file.name, "media_type": file.media_type, "size": file.size,
                "url": self.links.download_url(file), "preview_url": self.links.preview_url(file),
            });
            self.parts.add(json!({"type": "data-file", "id": file.name, "data": data}));
        }
    }

    fn end_run(&mut self, ending: &RunResult) {
        let answer = ending.answer.trim();
        if let Some(answer) = self.texts.end_with(answer, &mut self.parts) {
            self.send_text("answer", answer);
        }
        for source in list_sources(&ending.answer) {
            let title = if source.title.is_empty() { source.url } else { source.title.as_str() };
            let id = source.number.to_string();
            self.parts.add(
                json!({"type": "source-url", "sourceId": id, "url": source.url, "title": title}),
            );
        }
        self.add_files(&ending.files);
        let failure = ending.failure.as_ref();
        let sentence = failure.map(|failure| failure.sentence(self.language)).unwrap_or_default();
        self.send_text(CLOSING, &sentence);
        let reason = match ending.finish {
            _ if ending.status == RunStatus::Failed => "error",
            FinishReason::Done => "stop",
            FinishReason::Length => "length",
            FinishReason::Filtered => "content-filter",
        };
        let usage = &ending.spent.usage;
        let metadata = json!({
            "run": self.run, "status": ending.status, "code": failure.map(|failure| failure.code),
            "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
            "micro_usd": usage.micro_usd, "took_ms": ending.took_ms,
        });
        self.finish(reason, &metadata);
    }

    fn finish(&mut self, reason: &str, metadata: &Value) {
        self.parts.send(json!({"type": "finish-step"}));
        let finish = json!({"type": "finish", "finishReason": reason, "messageMetadata": metadata});
        self.parts.send(finish);
    }

    /// Returns the frames since the last call.
    fn take_frames(&mut self) -> Vec<Frame> {
        self.parts.take_frames()
    }
}

impl Projection for AiSdk {
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        self.apply_entry(entry);
        self.take_frames()
    }

    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame> {
        self.texts.apply_preview(preview, &mut self.parts);
        self.take_frames()
    }

    fn heartbeat(&self) -> Frame {
        Frame::Comment("heartbeat")
    }

    /// A paused run finishes the message, whose approvals or whose next message continue the run. A run at work leaves
    /// the message open for clients that reconnect.
    fn hand_over(&mut self, cursor: Option<&Cursor>, _: i64) -> Vec<Frame> {
        let requests = self.requests.describe(self.language);
        let is_paused = requests.is_some() || self.calls.has_approvals();
        if !is_paused && self.options.reconnects {
            return Vec::new();
        }
        let links: Vec<String> = self.requests.links().map(str::to_owned).collect();
        let words = match requests {
            Some(words) => [vec![words], links].concat().join("\n\n"),
            None if is_paused => String::new(),
            None => Wording::StillWorking.text(self.language).to_owned(),
        };
        self.send_text(CLOSING, &words);
        let (reason, status) =
            if is_paused { ("stop", RunStatus::Paused) } else { ("length", RunStatus::Running) };
        let record = cursor.map(|cursor| cursor.record);
        self.finish(reason, &json!({"run": self.run, "status": status, "record": record}));
        self.take_frames()
    }

    /// The client asks for all frames again: a count of frames names no record.
    fn resume(&mut self) {}

    fn begin_late(&mut self, _: i64) -> Vec<Frame> {
        self.parts = ResponseParts::default();
        self.texts.begin_response();
        self.start();
        self.calls.begin_response(self.options.is_known, &mut self.parts);
        if !self.options.is_known {
            self.send_plan();
            self.children.objects().for_each(|(path, data)| self.parts.add_child(path, &data));
        }
        self.take_frames()
    }

    fn has_large_frames(&self) -> bool {
        false
    }

    fn can_resume(&self) -> bool {
        false
    }
}
