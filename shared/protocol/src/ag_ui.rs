//! The events of AG-UI, the protocol of CopilotKit and others between an agent and its user interface.
//!
//! The run's own text, reasoning and tool calls are messages; the plan, children and files are activities, each replaced
//! as a whole. A pause ends the response with an interrupt for each human request. When text becomes void, a snapshot of
//! all valid messages drops it. A client that joins an existing run drops the messages that follow again.

mod interrupts;
mod texts;
mod transcript;
mod work;

use std::collections::BTreeMap;

use djinn_core::entry::{Entry, Event, ResetReason, RunResult};
use djinn_core::file::ProductFile;
use djinn_core::human::{ASK_USER, HumanRequest};
use djinn_core::id::{CallId, RunId};
use djinn_core::language::Language;
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::status::RunStatus;
use djinn_core::tool::{ToolOutput, ToolResult};
use djinn_messages::Wording;
use djinn_text::truncate::truncate_text;
use serde_json::{Map, Value, json};

pub use interrupts::InterruptId;
use interrupts::describe_interrupt;
use texts::Texts;
use transcript::Transcript;
use work::CurrentPlan;

use crate::child_work::WorkingChildren;
use crate::connection::{Frame, Projection};
use crate::cursor::Cursor;
use crate::link::SessionLinks;
use crate::open_requests::OpenRequests;
use crate::preview::Preview;

/// The version of the protocol.
const VERSION: &str = "1.0";

/// The field of the client's state with the state of the run.
const STATE: &str = "djinn";

/// Maximum bytes of a result in a message.
const MAX_OUTPUT: usize = 20_000;

/// The request that a response belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgUiOptions {
    /// The client's id of the conversation.
    pub thread: String,
    /// The client's id of this request.
    pub request: String,
    /// The messages of the client.
    pub messages: Vec<Value>,
    /// The state of the client, which passes through.
    pub state: Value,
    /// True if the run existed before, so that the client may show a part of what follows.
    pub is_join: bool,
    /// True if the request brought responses to interrupts.
    pub is_resume: bool,
}

impl AgUiOptions {
    /// Sets whether the run existed before.
    #[must_use]
    pub fn with_join(self, is_join: bool) -> Self {
        Self { is_join, ..self }
    }
}

/// The projection to the events of AG-UI.
pub struct AgUi {
    run: RunId,
    options: AgUiOptions,
    links: SessionLinks,
    language: Language,
    transcript: Transcript,
    texts: Texts,
    /// The calls without a result, with the visibility of the result.
    calls: BTreeMap<CallId, bool>,
    requests: OpenRequests,
    plan: CurrentPlan,
    children: WorkingChildren,
    /// The newest message of the run, which has the calls that follow.
    newest_message: String,
}

impl AgUi {
    /// Creates the projection of a connection. Texts of our own use the language of the question, by default
    /// `language`.
    #[must_use]
    pub fn new(run: RunId, options: AgUiOptions, links: SessionLinks, language: Language) -> Self {
        Self {
            transcript: Transcript::new(&run),
            run,
            options,
            links,
            language,
            texts: Texts::default(),
            calls: BTreeMap::new(),
            requests: OpenRequests::default(),
            plan: CurrentPlan::default(),
            children: WorkingChildren::default(),
            newest_message: String::new(),
        }
    }

    fn start(&mut self) {
        let Self { run, options, transcript, .. } = self;
        transcript.adopt(&options.messages);
        transcript.send(json!({
            "type": "RUN_STARTED", "threadId": options.thread, "runId": options.request, "protocolVersion": VERSION,
        }));
        if options.is_join {
            transcript.send_snapshot();
        }
        let mut state = options.state.clone();
        if state.is_null() {
            state = Value::Object(Map::new());
        }
        if let Some(fields) = state.as_object_mut() {
            let plan = self.plan.to_json();
            fields.insert(STATE.to_owned(), json!({"run": run, "plan": plan}));
        }
        transcript.send(json!({"type": "STATE_SNAPSHOT", "snapshot": state}));
    }

    fn apply_entry(&mut self, entry: &Entry) {
        self.links.advance_to(entry.at_ms);
        self.requests.apply_entry(entry, &self.links);
        if let Event::CallCompleted { call, result } = &entry.event {
            if entry.path.is_root() {
                self.complete_call(call, result);
            }
            if let ToolResult::Done(ToolOutput { files, .. }) = result {
                self.add_files(files);
            }
        } else if let Event::ChildStarted { child, description, agent } = &entry.event {
            if let Some(task) = child.task().filter(|_| entry.path.is_root()) {
                self.plan.begin_step(task.step_id());
                self.send_plan();
            }
            let path = entry.path.with_child(child.clone());
            let content = self.children.start(&path, description, agent);
            self.transcript.send_child(&path, &content);
        } else if let Event::ChildEnded { child, status, text, files, .. } = &entry.event {
            let path = entry.path.with_child(child.clone());
            if let Some(content) = self.children.end(&path, *status, text) {
                self.transcript.send_child(&path, &content);
            }
            self.add_files(files);
        } else if entry.path.is_root() {
            self.apply_own_event(&entry.event);
        } else if let Event::MessageCompleted { text, .. } = &entry.event
            && let Some(content) = self.children.write(&entry.path, text)
        {
            self.transcript.send_child(&entry.path, &content);
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
                self.texts.void_open_message(&mut self.transcript);
            }
            Event::MessageReset { message, reason: ResetReason::Review, .. } => {
                self.texts.remove_message(message, &mut self.transcript);
            }
            Event::MessageCompleted { message, text, reasoning, .. } => {
                let reasoning = reasoning.as_deref().unwrap_or_default();
                self.texts.complete_message(message, text, reasoning, &mut self.transcript);
                self.newest_message = self.transcript.id("text", message);
            }
            Event::CallRequested { call, tool, arguments, visible } => {
                self.request_call(call, tool, arguments, *visible);
            }
            Event::PlanChanged { plan } => {
                self.plan.replace(plan);
                self.send_plan();
            }
            Event::StepChanged { step, status, note } => {
                self.plan.set_status(*step, *status, note);
                self.send_plan();
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

    /// Shows a call, except questions to the user and plans, which are shown as such.
    fn request_call(&mut self, call: &CallId, tool: &str, arguments: &Value, visible: bool) {
        if [ASK_USER, PLANNING_TOOL].contains(&tool) {
            return;
        }
        self.calls.insert(call.clone(), visible);
        let id = self.transcript.id("call", call);
        self.transcript.add_call(&self.newest_message, &id, tool, &arguments.to_string());
    }

    fn complete_call(&mut self, call: &CallId, result: &ToolResult) {
        let Some(is_visible) = self.calls.remove(call) else { return };
        let text = match result {
            ToolResult::Done(output) if is_visible => truncate_text(&output.text, MAX_OUTPUT),
            ToolResult::Done(_) => String::new(),
            ToolResult::Failed { reason, detail } => {
                let text = [reason.as_str(), &truncate_text(detail, MAX_OUTPUT)].join(": ");
                text.trim_end_matches(": ").to_owned()
            }
            ToolResult::PlanRefused { error } => error.to_string(),
        };
        let message = self.transcript.id("result", call);
        let call = self.transcript.id("call", call);
        self.transcript.add_result(&message, &call, &text);
    }

    fn send_plan(&mut self) {
        let Some(plan) = self.plan.to_json() else { return };
        let patch = json!([{"op": "add", "path": format!("/{STATE}/plan"), "value": plan}]);
        self.transcript.send_activity("PLAN", "plan", &plan);
        // Any other state of the client is not ours to change.
        if self.options.state.is_null() || self.options.state.is_object() {
            self.transcript.send(json!({"type": "STATE_DELTA", "delta": patch}));
        }
    }

    fn add_files(&mut self, files: &[ProductFile]) {
        for file in files.iter().filter(|file| !file.internal) {
            let content = json!({
                "name": file.name, "media_type": file.media_type, "size": file.size,
                "url": self.links.download_url(file), "preview_url": self.links.preview_url(file),
            });
            self.transcript.send_activity("FILE", &format!("file:{}", file.name), &content);
        }
    }

    fn end_run(&mut self, ending: &RunResult) {
        let answer = ending.answer.trim();
        if let Some(answer) = self.texts.end_with(answer, &mut self.transcript) {
            self.transcript.send_text("answer", answer);
        }
        self.add_files(&ending.files);
        let usage = &ending.spent.usage;
        let tokens =
            json!([{"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}]);
        let failure = ending.failure.as_ref();
        let sentence = failure.map(|failure| failure.sentence(self.language)).unwrap_or_default();
        let code = failure.map(|failure| failure.code);
        let result = json!({
            "run": self.run, "status": ending.status, "code": code, "micro_usd": usage.micro_usd,
            "took_ms": ending.took_ms,
        });
        let has_failed = ending.status == RunStatus::Failed;
        if !has_failed {
            self.transcript.send_closing_text(&sentence);
        }
        // Clients keep the interrupts of a pause until a run finishes, also those that were resolved.
        if !has_failed || self.options.is_resume {
            self.finish(&json!({"result": result, "usage": tokens}));
        }
        if has_failed {
            self.transcript.settle();
            self.transcript.send(json!({
                "type": "RUN_ERROR", "message": sentence, "code": code, "usage": tokens,
            }));
        }
    }

    /// Ends the response with these further fields of its last event.
    fn finish(&mut self, fields: &Value) {
        self.transcript.settle();
        let AgUiOptions { thread, request, .. } = &self.options;
        let mut event = json!({"type": "RUN_FINISHED", "threadId": thread, "runId": request});
        if let (Some(event), Some(fields)) = (event.as_object_mut(), fields.as_object()) {
            event.extend(fields.clone());
        }
        self.transcript.send(event);
    }
}

impl Projection for AgUi {
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        self.apply_entry(entry);
        self.transcript.take_frames()
    }

    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame> {
        self.texts.apply_preview(preview, &mut self.transcript);
        self.transcript.take_frames()
    }

    fn heartbeat(&self) -> Frame {
        Frame::Comment("heartbeat")
    }

    /// A paused run ends the response with its interrupts. A run at work is joined by the same request.
    fn hand_over(&mut self, cursor: Option<&Cursor>, _: i64) -> Vec<Frame> {
        self.texts.close_open_message(&mut self.transcript);
        let record = cursor.map_or(0, |cursor| cursor.record);
        let describe = |request: &HumanRequest| {
            let id = InterruptId { run: self.run.clone(), record, request: request.id.clone() };
            let link = self.requests.link(&request.id).map(str::to_owned);
            describe_interrupt(request, &id, link, self.language)
        };
        let interrupts: Vec<Value> = self.requests.iter().map(describe).collect();
        let is_paused = !interrupts.is_empty();
        let status = if is_paused { RunStatus::Paused } else { RunStatus::Running };
        let result = json!({"run": self.run, "status": status});
        if is_paused {
            let outcome = json!({"type": "interrupt", "interrupts": interrupts});
            self.finish(&json!({"result": result, "outcome": outcome}));
        } else {
            self.transcript.send_closing_text(Wording::StillWorking.text(self.language));
            self.finish(&json!({"result": result}));
        }
        self.transcript.take_frames()
    }

    /// The client sends the same request again: a count of frames names no record.
    fn resume(&mut self) {}

    fn begin_late(&mut self, _: i64) -> Vec<Frame> {
        self.transcript.discard_waiting();
        self.texts.begin_response();
        self.start();
        self.send_plan();
        for (path, content) in self.children.objects() {
            self.transcript.send_child(path, &content);
        }
        self.transcript.take_frames()
    }

    fn has_large_frames(&self) -> bool {
        false
    }

    fn can_resume(&self) -> bool {
        false
    }
}
