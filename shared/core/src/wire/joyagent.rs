//! JoyAgent's raw protocol, as `POST /AutoAgent` speaks it.
//!
//! One JSON object an event; text arrives as deltas, then whole with `isFinal: true`, which replaces
//! the deltas. `data:heartbeat` keeps the connection open. The original never ends a message twice;
//! here an `isFinal: true` may come early with the text so far (empty after a failed attempt), and
//! deltas go on from there: that is how this protocol can take text back.

mod feedback;
mod model_changed;
mod planned;
mod raw;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::link::Links;
use super::{Change, Texts};
use crate::code::ErrorCode;
use crate::entry::{Ending, Entry, Event};
use crate::feedback::Ask;
use crate::file::ProductFile;
use crate::id::{CallId, FeedbackId, MessageId, RequestId, RunId, TaskId};
use crate::plan::Plan;
use crate::preview::{MessageKey, Preview, TextKind};
use crate::settings::{Language, Mode};
use crate::tool::{Outcome, Shown};
pub use raw::JoyAgent;

/// `agentType` of the ReAct agent.
pub const REACT: u8 = 5;

/// Steps of a plan that is shown again whenever one of them moves on.
const MAX_SHOWN_STEPS: usize = 100;

/// `agentType` of Plan-Solve.
pub const PLAN_SOLVE: u8 = 3;

/// One event of the raw protocol; nulls are written.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentResponse {
    /// The client's label of the question.
    pub request_id: String,
    /// Deltas and the whole of one text share it.
    pub message_id: String,
    /// Whether the payload replaces what came before under this id.
    pub is_final: bool,
    /// What kind of event it is.
    pub message_type: &'static str,
    /// The role of the tool whose event it is, if a model has named one for its task by then.
    pub digital_employee: Option<String>,
    /// Milliseconds since 1970, as a string: the UI breaks on a number.
    pub message_time: String,
    /// Plan-Solve only.
    pub plan_thought: Option<String>,
    /// Plan-Solve only.
    pub plan: Option<Value>,
    /// Plan-Solve only.
    pub task: Option<String>,
    /// Plan-Solve only.
    pub task_summary: Option<String>,
    /// What the agent says while it works.
    pub tool_thought: Option<String>,
    /// A visible tool's result.
    pub tool_result: Option<Value>,
    /// Payload of the typed events; always an object.
    pub result_map: Value,
    /// The answer.
    pub result: Option<String>,
    /// Whether the run has ended.
    pub finish: bool,
    /// The original never sets it; a hand-over says here how to go on.
    pub ext: Option<Value>,
    /// The task it belongs to: the UI's lanes. The raw protocol does not say.
    #[serde(skip)]
    pub lane: Option<TaskId>,
}

/// Turns entries and previews into raw events. Shared with the UI's projection, which wraps them.
pub struct Translator {
    run: RunId,
    request: RequestId,
    links: Links,
    language: Language,
    texts: Texts,
    calls: BTreeMap<(Option<TaskId>, CallId), RequestedCall>,
    /// The roles of a task's tools.
    employees: BTreeMap<Option<TaskId>, BTreeMap<String, String>>,
    mode: Mode,
    /// The plan as this client knows it.
    plan: Option<Plan>,
    /// What was asked and not answered.
    asks: BTreeMap<FeedbackId, Ask>,
    /// The models that others answer for, as far as that was said, and why.
    replaced: BTreeSet<(String, ErrorCode)>,
}

struct RequestedCall {
    tool: String,
    arguments: Value,
    visible: bool,
}

impl Translator {
    /// A translator for one connection.
    #[must_use]
    pub fn new(run: RunId, request: RequestId, links: Links, language: Language) -> Self {
        let (texts, calls, employees) = (Texts::default(), BTreeMap::new(), BTreeMap::new());
        let (mode, plan, asks) = (Mode::default(), None, BTreeMap::new());
        let replaced = BTreeSet::new();
        Self { run, request, links, language, texts, calls, employees, mode, plan, asks, replaced }
    }

    /// The run of this connection.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The client's label of the question.
    #[must_use]
    pub fn request(&self) -> &RequestId {
        &self.request
    }

    /// `agentType` of the run.
    #[must_use]
    pub fn agent_type(&self) -> u8 {
        match self.mode {
            Mode::React => REACT,
            Mode::PlanSolve => PLAN_SOLVE,
        }
    }

    /// The events of an entry.
    pub fn entry(&mut self, entry: &Entry) -> Vec<AgentResponse> {
        let at_ms = entry.at_ms;
        self.links.advance_to(at_ms);
        let mut events = match &entry.event {
            Event::RunStarted { mode, .. } => {
                self.mode = *mode;
                Vec::new()
            }
            Event::FileAdded { .. } | Event::UserSaid { .. } | Event::ContextCompacted { .. } => {
                Vec::new()
            }
            Event::EmployeesNamed { roles, .. } => {
                self.employees.insert(entry.within.clone(), roles.clone());
                Vec::new()
            }
            Event::RunResumed { .. } => self.take_back(entry, None),
            Event::ItemReset { message, .. } => self.take_back(entry, Some(message)),
            Event::ModelChanged(changed) => self.model_changed(entry, changed),
            Event::MessageCompleted { message, text, answer, .. } => {
                // The answer stands in `result`: what was shown of it as a thought makes room.
                let is_answer = *answer && entry.within.is_none();
                let text = if is_answer { self.answer_follows() } else { text.as_str() };
                self.message(entry, message, text).into_iter().collect()
            }
            Event::CallRequested { call, tool, arguments, visible } => {
                let (tool, arguments) = (tool.clone(), arguments.clone());
                let requested = RequestedCall { tool, arguments, visible: *visible };
                self.calls.insert((entry.within.clone(), call.clone()), requested);
                Vec::new()
            }
            Event::CallCompleted { call, outcome } => {
                self.forget_asks(entry.within.as_ref(), Some(call));
                self.completed(entry, call, outcome).into_iter().collect()
            }
            Event::PlanChanged { plan } => {
                self.plan = Some(plan.clone());
                vec![self.plan(&entry.id, plan, at_ms)]
            }
            Event::StepChanged { step, status, note } => {
                self.step(entry, *step, *status, note).into_iter().collect()
            }
            Event::TaskStarted { task, words } => self.task_started(entry, task, words),
            Event::TaskEnded { task, text, files, .. } => {
                self.forget_asks(Some(task), None);
                vec![self.task_summary(entry, task, text, files)]
            }
            Event::FeedbackAsked { reasoning, risk, estimate, asks, .. } => {
                self.asked(entry, reasoning, *risk, *estimate, asks)
            }
            Event::FeedbackAnswered(answered) => {
                self.asks.remove(&answered.feedback);
                Vec::new()
            }
            Event::RunEnded(ending) => vec![self.result(ending, at_ms)],
        };
        for event in &mut events {
            event.lane = event.lane.take().or_else(|| entry.within.clone());
        }
        events
    }

    /// The events of a piece of unfinished text. Thoughts of a reasoning model have no place in
    /// this protocol, nor has the summary before it is whole.
    pub fn preview(&mut self, preview: &Preview) -> Vec<AgentResponse> {
        if preview.kind == TextKind::Reasoning || preview.message.is_summary() {
            return Vec::new();
        }
        let (text, is_final) = match self.texts.preview(preview) {
            None => return Vec::new(),
            Some(Change::Append(text)) => (text, false),
            Some(Change::Replace(text)) => (text, true),
        };
        let mut event = self.thought(&preview.key(), &text, is_final, preview.at_ms);
        event.lane.clone_from(&preview.within);
        vec![event]
    }

    /// What is said when the response ends before the run.
    #[must_use]
    pub fn hand_over(&self, at_ms: i64) -> AgentResponse {
        let still_working = match self.language {
            Language::En => "Still working; send `continue` to follow.",
            Language::Zh => "仍在处理中；发送“继续”即可跟进。",
        };
        let mut event = self.event("hand_over", "result", at_ms);
        event.result = Some(self.question().unwrap_or_else(|| still_working.to_owned()));
        event.finish = true;
        event
    }

    /// See [`super::Projection::resume`].
    pub fn resume(&mut self) {
        self.texts.resumed = true;
    }

    /// A message is whole. The summary is shown as the result only.
    fn message(&mut self, entry: &Entry, message: &MessageId, text: &str) -> Option<AgentResponse> {
        let key = entry.key(message);
        self.texts.completed(&key);
        let shown = !message.is_summary() && !text.is_empty();
        shown.then(|| self.thought(&key, text, true, entry.at_ms))
    }

    fn answer_follows(&self) -> &'static str {
        match self.language {
            Language::En => "The answer is below.",
            Language::Zh => "回答见下方。",
        }
    }

    fn take_back(&mut self, entry: &Entry, message: Option<&MessageId>) -> Vec<AgentResponse> {
        let key = message.map(|message| entry.key(message));
        let void = self.texts.void(entry.within.as_ref(), key.as_ref());
        // Pieces of the summary were never shown.
        let shown = void.iter().filter(|key| !key.message.is_summary());
        shown.map(|key| self.thought(key, "", true, entry.at_ms)).collect()
    }

    fn completed(&self, entry: &Entry, call: &CallId, outcome: &Outcome) -> Option<AgentResponse> {
        let (id, at_ms) = (entry.id.as_str(), entry.at_ms);
        let requested = self.calls.get(&(entry.within.clone(), call.clone()))?;
        let roles = self.employees.get(&entry.within);
        let role = roles.and_then(|roles| roles.get(&requested.tool)).cloned();
        let shown = |event| Some(AgentResponse { digital_employee: role, ..event });
        let text = match outcome {
            Outcome::Done(observation) => match &observation.shown {
                Shown::FileWritten { file } => {
                    return shown(self.file(id, "写入文件", file, at_ms));
                }
                Shown::FileRead { file } => return shown(self.file(id, "读取文件", file, at_ms)),
                Shown::Text | Shown::UserAnswer => observation.text.clone(),
                // The plan has an event of its own.
                Shown::Plan { .. } => return None,
            },
            Outcome::Failed { reason, detail } => format!("{}: {detail}", reason.as_str()),
        };
        requested.visible.then_some(())?;
        let mut event = self.event(id, "tool_result", at_ms);
        event.tool_result = Some(json!({
            "toolName": requested.tool, "toolParam": requested.arguments, "toolResult": text,
        }));
        shown(event)
    }

    fn file(&self, id: &str, command: &str, file: &ProductFile, at_ms: i64) -> AgentResponse {
        let mut event = self.event(id, "file", at_ms);
        event.result_map = json!({
            "command": command, "fileInfo": [self.file_info(file)],
            "agentType": self.agent_type(),
        });
        event
    }

    fn file_info(&self, file: &ProductFile) -> Map<String, Value> {
        Map::from_iter([
            ("fileName".to_owned(), json!(file.name)),
            ("ossUrl".to_owned(), json!(self.links.download(file))),
            ("downloadUrl".to_owned(), json!(self.links.download(file))),
            ("domainUrl".to_owned(), json!(self.links.preview(file))),
            ("fileSize".to_owned(), json!(file.size)),
        ])
    }

    fn result(&self, ending: &Ending, at_ms: i64) -> AgentResponse {
        let sentence = ending.failure.as_ref().map(|failure| failure.sentence(self.language));
        let parts = [Some(ending.answer.clone()), sentence];
        let parts: Vec<String> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        let text = parts.join("\n\n");
        let mut map = Map::from_iter([("taskSummary".to_owned(), json!(text))]);
        if !ending.files.is_empty() {
            map.insert("fileList".to_owned(), self.file_list(&ending.files));
        }
        map.insert("agentType".to_owned(), json!(self.agent_type()));
        let mut event = self.event("end", "result", at_ms);
        event.result = Some(text);
        event.result_map = Value::Object(map);
        event.finish = true;
        event
    }

    fn file_list(&self, files: &[ProductFile]) -> Value {
        let listed = files.iter().map(|file| {
            let mut info = self.file_info(file);
            info.insert("description".to_owned(), json!(file.description));
            info.insert("isInternalFile".to_owned(), json!(file.internal));
            Value::Object(info)
        });
        listed.collect()
    }

    /// What an agent says while it works; the planner's words are thoughts about the plan.
    fn thought(&self, key: &MessageKey, text: &str, is_final: bool, at_ms: i64) -> AgentResponse {
        let text = Some(text.to_owned());
        let mut event = match (&key.within, self.mode) {
            (Some(task), _) => {
                let id = format!("{task}.{}", key.message);
                AgentResponse { tool_thought: text, ..self.event(&id, "tool_thought", at_ms) }
            }
            (None, Mode::React) => {
                let id = key.message.as_str();
                AgentResponse { tool_thought: text, ..self.event(id, "tool_thought", at_ms) }
            }
            (None, Mode::PlanSolve) => {
                let id = key.message.as_str();
                AgentResponse { plan_thought: text, ..self.event(id, "plan_thought", at_ms) }
            }
        };
        event.is_final = is_final;
        event
    }

    fn event(&self, id: &str, message_type: &'static str, at_ms: i64) -> AgentResponse {
        AgentResponse {
            request_id: self.request.to_string(),
            message_id: format!("{}.{id}", self.run),
            is_final: true,
            message_type,
            digital_employee: None,
            message_time: at_ms.to_string(),
            plan_thought: None,
            plan: None,
            task: None,
            task_summary: None,
            tool_thought: None,
            tool_result: None,
            result_map: json!({"agentType": self.agent_type()}),
            result: None,
            finish: false,
            ext: None,
            lane: None,
        }
    }
}
