//! JoyAgent's raw protocol, as in `POST /AutoAgent`.
//!
//! Each event is a JSON object. Text arrives as deltas, then whole with `isFinal: true` in place of the
//! deltas. `data:heartbeat` keeps the connection open. The original sends a single `isFinal: true` per
//! message. Here an early `isFinal: true` may replace the text so far (empty after a failed attempt), and
//! deltas continue after the new text. This is the only way to retract text in this protocol.

mod call;
mod code;
mod event;
mod fallback;
mod file_links;
mod human_request;
mod notices;
mod plan_events;
mod query_text;
mod raw;
mod reply;
mod report;
mod review;
mod search;

use std::collections::{BTreeMap, BTreeSet};

use call::CallView;
use reply::{LaneReply, ResultText};
use report::Report;
use review::is_of_review;
use search::SearchReport;
use serde_json::{Map, json};

use super::link::SessionLinks;
use super::text_tracker::TextTracker;
use super::turn_tracker::TurnTracker;
use crate::mode_support::agent_type_of;
use crate::open_requests::OpenRequests;
use djinn_core::entry::{Entry, Event, ResetReason, RunResult};
use djinn_core::error_code::ErrorCode;
use djinn_core::id::{CallId, Path, RequestId, RunId, TaskId};
use djinn_core::input::FinishReason;
use djinn_core::language::Language;
use djinn_core::plan::Plan;
use djinn_core::settings::{Machine, OutputStyle};
use djinn_messages::Wording;
pub use event::AgentResponse;
pub use human_request::ToolSchemas;
pub use raw::JoyAgent;

/// Maximum steps of a plan shown again after every change of a step.
const MAX_SHOWN_STEPS: usize = 100;

/// The translation of entries and previews into raw events. Shared with the UI's projection, an envelope
/// around raw events.
pub struct Translator {
    run: RunId,
    request: RequestId,
    /// The label of the run's question; a later message has another label.
    question_label: RequestId,
    links: SessionLinks,
    language: Language,
    machine: Machine,
    agent_type: Option<u16>,
    style: Option<OutputStyle>,
    texts: TextTracker,
    turns: BTreeMap<Path, TurnTracker>,
    /// The newest reply of each run.
    replies: BTreeMap<Path, LaneReply>,
    summary_finish: FinishReason,
    calls: BTreeMap<(Path, CallId), CallView>,
    /// The roles of a task's tools.
    employees: BTreeMap<Path, BTreeMap<String, String>>,
    /// The called agents with runs that may still be shown.
    agents: BTreeMap<Path, String>,
    /// The reports in progress, by path.
    reports: BTreeMap<Path, Report>,
    /// The searches in progress, by path.
    searches: BTreeMap<Path, SearchReport>,
    /// The URL of the newest known file by name.
    file_urls: BTreeMap<String, String>,
    /// The plan shown to this client.
    plan: Option<Plan>,
    /// The tasks at work with their descriptions, in order of start.
    tasks: Vec<(TaskId, String)>,
    /// The open human requests.
    open_requests: OpenRequests,
    schemas: Option<ToolSchemas>,
    /// The announced fallback models, with the reason.
    announced_fallbacks: BTreeSet<(String, ErrorCode)>,
}

impl Translator {
    /// Creates a translator for one connection. Texts use the language of the question, by default
    /// `language`.
    #[must_use]
    pub fn new(run: RunId, request: RequestId, links: SessionLinks, language: Language) -> Self {
        Self {
            run,
            question_label: request.clone(),
            request,
            links,
            language,
            machine: Machine::default(),
            agent_type: None,
            style: None,
            texts: TextTracker::default(),
            turns: BTreeMap::new(),
            replies: BTreeMap::new(),
            summary_finish: FinishReason::Done,
            calls: BTreeMap::new(),
            employees: BTreeMap::new(),
            agents: BTreeMap::new(),
            reports: BTreeMap::new(),
            searches: BTreeMap::new(),
            file_urls: BTreeMap::new(),
            plan: None,
            tasks: Vec::new(),
            open_requests: OpenRequests::default(),
            schemas: None,
            announced_fallbacks: BTreeSet::new(),
        }
    }

    /// Adds descriptions from tool schemas to the arguments that users may change.
    #[must_use]
    pub fn with_schemas(self, schemas: ToolSchemas) -> Self {
        Self { schemas: Some(schemas), ..self }
    }

    /// Returns the run of this connection.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the client's label of the question.
    #[must_use]
    pub fn request(&self) -> &RequestId {
        &self.request
    }

    /// Returns the `agentType` of the run.
    #[must_use]
    pub fn agent_type(&self) -> u16 {
        self.agent_type.unwrap_or_else(|| agent_type_of(self.machine))
    }

    /// Returns the events for an entry.
    pub fn translate_entry(&mut self, entry: &Entry) -> Vec<AgentResponse> {
        self.turns.entry(entry.path.clone()).or_default().apply_event(&entry.event);
        let mut events = self.translate_event(entry);
        for event in &mut events {
            self.place_event(event, &entry.path);
        }
        events
    }

    /// Places an event on the page: in the lane of the task at the start of the path, or in the root's own
    /// lane, under the name of the called agent.
    fn place_event(&self, event: &mut AgentResponse, path: &Path) {
        event.lane = event.lane.take().or_else(|| lane_of(path));
        event.digital_employee =
            event.digital_employee.take().or_else(|| self.agents.get(path).cloned());
    }

    fn translate_event(&mut self, entry: &Entry) -> Vec<AgentResponse> {
        let at_ms = entry.at_ms;
        self.links.advance_to(at_ms);
        match &entry.event {
            Event::RunStarted {
                mode,
                machine,
                agent_type,
                request,
                output_style,
                question,
                ..
            } => {
                self.machine = machine.or_else(|| Machine::parse(mode)).unwrap_or_default();
                self.agent_type = *agent_type;
                self.style = *output_style;
                self.language = Language::of_text(question).unwrap_or(self.language);
                self.question_label = request.clone();
                Vec::new()
            }
            Event::FileAdded { file } => {
                self.remember_file(file);
                Vec::new()
            }
            Event::EmployeesNamed { roles, .. } => {
                self.employees.insert(entry.path.clone(), roles.clone());
                Vec::new()
            }
            Event::UserMessageAdded { .. } | Event::ContextCompacted { .. } => Vec::new(),
            Event::RunResumed { .. } => self.void_entry_texts(entry, None),
            Event::MessageReset { message, reason: ResetReason::Failure, .. } => {
                self.void_entry_texts(entry, Some(message))
            }
            Event::MessageReset { message, reason: ResetReason::Review, .. } => {
                self.reject_answer(entry, message)
            }
            Event::ReviewCompleted(result) => self.announce_review(entry, result),
            Event::ModelChanged(changed) => self.announce_fallback(entry, changed),
            Event::AgentChanged { machine, .. } => {
                if entry.path.is_root() {
                    self.machine = *machine;
                }
                Vec::new()
            }
            Event::ModelDelayed { .. } => self.announce_delay(entry),
            Event::MessageCompleted { .. } if is_of_review(&entry.path) => Vec::new(),
            Event::MessageCompleted { message, text, reasoning, finish, answer, .. } => {
                let reply = LaneReply::of(entry, message, text, *finish, *answer);
                self.complete_reply(reply, reasoning.as_deref(), at_ms)
            }
            Event::CallRequested { call, tool, arguments, visible } => {
                let view = CallView::of(tool, arguments, *visible);
                self.calls.insert((entry.path.clone(), call.clone()), view);
                let event = self.code_event(entry, tool, arguments);
                let event = event.or_else(|| self.round_event(entry, call, tool, arguments));
                event.into_iter().collect()
            }
            Event::CallCompleted { call, result: outcome } => {
                self.open_requests.forget(&entry.path, Some(call));
                self.complete_call(entry, call, outcome)
            }
            // The page shows a single plan.
            Event::PlanChanged { .. } | Event::StepChanged { .. } if !entry.path.is_root() => {
                Vec::new()
            }
            Event::PlanChanged { plan } => vec![self.change_plan(entry, plan)],
            Event::StepChanged { step, status, note } => {
                self.apply_step(entry, *step, *status, note).into_iter().collect()
            }
            Event::ChildStarted { child, description, agent } => {
                self.begin_child(entry, child, description, agent)
            }
            Event::ChildEnded { child, text, files, failure, .. } => {
                self.end_child(entry, child, (text, files), failure.as_ref())
            }
            Event::HumanRequested { reasoning, risk, estimate, requests, .. } => {
                self.request_events(entry, reasoning, *risk, *estimate, requests)
            }
            Event::HumanResolved(response) => vec![self.response_event(entry, response)],
            Event::VerdictGiven(verdict) => vec![self.verdict_event(entry, verdict)],
            Event::RunEnded(ending) => self.end_run(entry, ending),
        }
    }

    /// Returns the event for the end of the response before the end of the run.
    #[must_use]
    pub fn hand_over(&self, at_ms: i64) -> AgentResponse {
        let still_working = Wording::StillWorking.text(self.language);
        let mut event = self.new_event("hand_over", "result", at_ms);
        let open_questions = self.open_requests.describe(self.language);
        event.result = Some(open_questions.unwrap_or_else(|| still_working.to_owned()));
        event.finish = true;
        event
    }

    /// Returns the first events for a late client: the plan, and the tasks at work.
    #[must_use]
    pub fn begin_late(&self, at_ms: i64) -> Vec<AgentResponse> {
        let plan = self.plan.iter().map(|plan| self.plan_event("plan", plan, at_ms));
        let tasks = self
            .tasks
            .iter()
            .map(|(task, words)| self.task_event(&format!("{task}.start"), task, words, at_ms));
        plan.chain(tasks).collect()
    }

    fn end_run(&mut self, entry: &Entry, ending: &RunResult) -> Vec<AgentResponse> {
        let (mut events, answer) = self.end_lane(entry, &Path::default(), &ending.answer);
        events.extend(self.end_reports(entry.at_ms));
        events.extend(self.end_searches(entry.at_ms));
        let finish = match answer.finish {
            FinishReason::Done => self.summary_finish,
            finish @ (FinishReason::Length | FinishReason::Filtered) => finish,
        };
        events.push(self.result_event(ending, finish, entry.at_ms));
        events
    }

    fn result_event(&self, ending: &RunResult, finish: FinishReason, at_ms: i64) -> AgentResponse {
        let sentence = ending.failure.as_ref().map(|failure| failure.sentence(self.language));
        let parts = [Some(notices::mark_cut(&ending.answer, finish, self.language)), sentence];
        let parts: Vec<String> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        let text = parts.join("\n\n");
        let mut map = Map::from_iter([("taskSummary".to_owned(), json!(text))]);
        if !ending.files.is_empty() {
            map.insert("fileList".to_owned(), self.file_list(&ending.files));
        }
        map.insert("agentType".to_owned(), json!(self.agent_type()));
        let mut event = self.new_event("end", "result", at_ms);
        event.result = Some(text);
        event.result_map = serde_json::Value::Object(map);
        event.finish = true;
        event
    }
}

/// Returns the task with the lane for the run at this path.
fn lane_of(path: &Path) -> Option<TaskId> {
    path.split_first()?.0.task().cloned()
}
