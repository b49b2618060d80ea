//! JoyAgent's raw protocol, as `POST /AutoAgent` speaks it.
//!
//! One JSON object an event; text arrives as deltas, then whole with `isFinal: true`, which replaces
//! the deltas. `data:heartbeat` keeps the connection open. The original never ends a message twice;
//! here an `isFinal: true` may come early with the text so far (empty after a failed attempt), and
//! deltas go on from there: that is how this protocol can take text back.

mod call;
mod event;
mod feedback;
mod model_changed;
mod planned;
mod question;
mod raw;
mod reply;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use call::RequestedCall;
use reply::{Reply, ResultText};
use serde_json::{Map, json};

use super::link::Links;
use super::texts::Texts;
use super::turns::Turns;
use crate::code::ErrorCode;
use crate::entry::{Ending, Entry, Event};
use crate::feedback::Ask;
use crate::id::{CallId, FeedbackId, RequestId, RunId, TaskId};
use crate::input::Finish;
use crate::plan::Plan;
use crate::settings::{Language, Mode, OutputStyle};
pub use event::AgentResponse;
pub use feedback::Schemas;
pub use raw::JoyAgent;

/// `agentType` of the ReAct agent.
pub const REACT: u8 = 5;

/// Steps of a plan that is shown again whenever one of them moves on.
const MAX_SHOWN_STEPS: usize = 100;

/// `agentType` of Plan-Solve.
pub const PLAN_SOLVE: u8 = 3;

/// Turns entries and previews into raw events. Shared with the UI's projection, which wraps them.
pub struct Translator {
    run: RunId,
    request: RequestId,
    /// The label of the question that the run answers, which that of a later message is not.
    asked_as: RequestId,
    links: Links,
    language: Language,
    mode: Mode,
    style: Option<OutputStyle>,
    texts: Texts,
    turns: BTreeMap<Option<TaskId>, Turns>,
    /// The newest reply of each lane.
    replies: BTreeMap<Option<TaskId>, Reply>,
    summary_finish: Finish,
    calls: BTreeMap<(Option<TaskId>, CallId), RequestedCall>,
    /// The roles of a task's tools.
    employees: BTreeMap<Option<TaskId>, BTreeMap<String, String>>,
    /// The plan as this client knows it.
    plan: Option<Plan>,
    /// The tasks at work and what they are to do, in the order they began.
    tasks: Vec<(TaskId, String)>,
    /// What was asked and not answered.
    asks: BTreeMap<FeedbackId, Ask>,
    schemas: Option<Schemas>,
    /// The models that others answer for, as far as that was said, and why.
    replaced: BTreeSet<(String, ErrorCode)>,
}

impl Translator {
    /// A translator for one connection.
    #[must_use]
    pub fn new(run: RunId, request: RequestId, links: Links, language: Language) -> Self {
        Self {
            run,
            asked_as: request.clone(),
            request,
            links,
            language,
            mode: Mode::default(),
            style: None,
            texts: Texts::default(),
            turns: BTreeMap::new(),
            replies: BTreeMap::new(),
            summary_finish: Finish::Done,
            calls: BTreeMap::new(),
            employees: BTreeMap::new(),
            plan: None,
            tasks: Vec::new(),
            asks: BTreeMap::new(),
            schemas: None,
            replaced: BTreeSet::new(),
        }
    }

    /// The same, which says of each argument that people may change what its tool's schema says.
    #[must_use]
    pub fn with_schemas(self, schemas: Schemas) -> Self {
        Self { schemas: Some(schemas), ..self }
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
        self.turns.entry(entry.within.clone()).or_default().entry(&entry.event);
        let mut events = self.of_event(entry);
        for event in &mut events {
            event.lane = event.lane.take().or_else(|| entry.within.clone());
        }
        events
    }

    fn of_event(&mut self, entry: &Entry) -> Vec<AgentResponse> {
        let at_ms = entry.at_ms;
        self.links.advance_to(at_ms);
        match &entry.event {
            Event::RunStarted { mode, request, output_style, .. } => {
                (self.mode, self.style) = (*mode, *output_style);
                self.asked_as = request.clone();
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
            Event::MessageCompleted { message, text, reasoning, finish, answer, .. } => {
                let reply = Reply::of(entry, message, text, *finish, *answer);
                self.reply(reply, reasoning.as_deref(), at_ms)
            }
            Event::CallRequested { call, tool, arguments, visible } => {
                let requested = RequestedCall::of(tool, arguments, *visible);
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
            Event::TaskEnded { task, text, files, failure, .. } => {
                self.forget_asks(Some(task), None);
                self.calls.retain(|(lane, _), _| lane.as_ref() != Some(task));
                self.task_ended(entry, task, (text, files), failure.as_ref())
            }
            Event::FeedbackAsked { reasoning, risk, estimate, asks, .. } => {
                self.asked(entry, reasoning, *risk, *estimate, asks)
            }
            Event::FeedbackAnswered(answered) => vec![self.answered(entry, answered)],
            Event::RunEnded(ending) => self.ended(entry, ending),
        }
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

    /// What a client is sent first that begins here: the plan, and the tasks at work.
    #[must_use]
    pub fn begin_late(&self, at_ms: i64) -> Vec<AgentResponse> {
        let plan = self.plan.iter().map(|plan| self.plan("plan", plan, at_ms));
        let tasks = self
            .tasks
            .iter()
            .map(|(task, words)| self.task(&format!("{task}.start"), task, words, at_ms));
        plan.chain(tasks).collect()
    }

    fn ended(&mut self, entry: &Entry, ending: &Ending) -> Vec<AgentResponse> {
        let (mut events, answer) = self.end_lane(entry, None, &ending.answer);
        let finish = match answer.finish {
            Finish::Done => self.summary_finish,
            finish @ (Finish::Length | Finish::Filtered) => finish,
        };
        events.push(self.result(ending, finish, entry.at_ms));
        events
    }

    fn result(&self, ending: &Ending, finish: Finish, at_ms: i64) -> AgentResponse {
        let sentence = ending.failure.as_ref().map(|failure| failure.sentence(self.language));
        let parts = [Some(words::marked(&ending.answer, finish, self.language)), sentence];
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
        event.result_map = serde_json::Value::Object(map);
        event.finish = true;
        event
    }
}
