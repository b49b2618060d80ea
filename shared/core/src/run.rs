//! The run's machine: what an input makes of it, and what it owes in each state.

mod child;
mod compaction;
mod deliverables;
mod employees;
mod ending;
mod final_state;
mod human_requests;
mod limit;
mod model_calls;
mod model_view;
mod plan_file;
mod plan_solve;
mod summary;
mod taint;
mod top_up;
mod user_messages;

use std::collections::BTreeSet;

use compaction::Compaction;
pub use deliverables::Deliverables;
use employees::Employees;
pub use final_state::FinalState;
use human_requests::HumanRequests;
pub use plan_file::PLAN_FILE;
use plan_file::PlanFile;
use plan_solve::Next;
pub use plan_solve::PlanSolve;
pub use summary::SummaryCall;
use user_messages::PendingMessages;

use crate::agent_loop::{AgentLoop, TurnUpdate};
use crate::budget::Spending;
use crate::conversation::Conversation;
use crate::crash::{ActiveEffects, isolate_suspect};
use crate::effect::{Delivery, Effect, Limit};
use crate::entry::{Entry, Event};
use crate::file::FileList;
use crate::id::{CallId, TaskId};
use crate::input::{FinishReason, Input, RunSpec};
use crate::settings::{Mode, Role};
use crate::status::RunStatus;
use crate::tool::ToolResult;
use crate::urls::Urls;

/// How often a run may be handed over from one invocation to the next. Lambda itself stops a chain
/// of about 16 unless the function allows recursion, so we count.
pub const MAX_HOPS: u32 = 1_000;

/// A run: the fold of its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    spec: RunSpec,
    started_at_ms: i64,
    conversation: Conversation,
    files: FileList,
    produced_files: FileList,
    seen_file_ids: BTreeSet<String>,
    spending: Spending,
    plan_file: PlanFile,
    compaction: Compaction,
    urls: Urls,
    employees: Employees,
    /// Tasks that were given up while they were at work, and have not been told so.
    children_to_stop: BTreeSet<TaskId>,
    human_requests: HumanRequests,
    pending_messages: PendingMessages,
    /// Whether it was tainted by what no agent of its own read.
    tainted: bool,
    /// What ended the newest reply that said something.
    last_finish: FinishReason,
    phase: Phase,
}

/// Where a run stands, with what is true only there.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// The agent works on the question.
    Reacting(AgentLoop),
    /// The planner and its tasks do.
    PlanSolving(Box<PlanSolve>),
    /// The work is done; the answer is being written.
    Summarizing(SummaryCall),
    /// The final entry is written.
    Ended(FinalState),
}

impl Run {
    /// The run that a question starts.
    #[must_use]
    pub fn start(asked: RunSpec, at_ms: i64) -> (Self, Vec<Entry>) {
        let mut run = Self {
            started_at_ms: at_ms,
            conversation: Conversation {
                compacted: asked.earlier.clone(),
                history: asked.history.clone(),
                question: asked.question.clone(),
                items: Vec::new(),
            },
            files: FileList::of(asked.files.iter().cloned()),
            produced_files: FileList::default(),
            seen_file_ids: BTreeSet::new(),
            spending: Spending::default(),
            plan_file: PlanFile::default(),
            compaction: Compaction::new(&asked),
            urls: Urls::default(),
            employees: Employees::new(&asked),
            children_to_stop: BTreeSet::new(),
            human_requests: HumanRequests::default(),
            pending_messages: PendingMessages::default(),
            tainted: false,
            last_finish: FinishReason::Done,
            phase: match (&asked.child, asked.settings.mode) {
                (Some(_), _) => Phase::Reacting(AgentLoop::new(Role::Executor)),
                (None, Mode::React) => Phase::Reacting(AgentLoop::new(Role::React)),
                (None, Mode::PlanSolve) => Phase::PlanSolving(Box::new(PlanSolve::new())),
            },
            spec: asked,
        };
        run.taint_at_start();
        run.register_initial_urls();
        run.compact_if_due();
        let entries = run.start_event().into_iter();
        (run, entries.map(|(id, event)| Entry { id, child: None, at_ms, event }).collect())
    }

    /// Takes an input and says what viewers see of it. `None` means that the input answers nothing
    /// that is owed, or was had already: the run is unchanged and nothing is to be recorded.
    pub fn apply_input(&mut self, input: &Input, at_ms: i64) -> Option<Vec<Entry>> {
        let known = self.urls.len();
        self.register_input_urls(input);
        let Some(events) = self.handle_input(input, at_ms) else {
            self.urls.truncate(known);
            return None;
        };
        self.update_pause(at_ms);
        let entry = |(id, event)| Entry { id, child: None, at_ms, event };
        Some(events.into_iter().map(entry).collect())
    }

    fn handle_input(&mut self, input: &Input, at_ms: i64) -> Option<Vec<(String, Event)>> {
        Some(match (&mut self.phase, input) {
            (_, Input::PlanSaved { version }) => {
                self.plan_file.mark_saved(*version)?;
                Vec::new()
            }
            (_, Input::Delivered { delivery: Delivery::StopChild(task) }) => {
                self.children_to_stop.remove(task).then(Vec::new)?
            }
            (_, Input::Delivered { delivery }) if self.human_requests.mark_delivered(delivery) => {
                Vec::new()
            }
            (Phase::Ended(ended), input) => ended.apply_input(input)?,
            (Phase::Reacting(_) | Phase::PlanSolving(_) | Phase::Summarizing(_), input) => {
                self.handle_while_working(input, at_ms)?
            }
        })
    }

    /// Everything the run owes now, in a stable order.
    #[must_use]
    pub fn due(&self) -> Vec<Effect> {
        let stops =
            self.children_to_stop.iter().cloned().map(Delivery::StopChild).map(Effect::Deliver);
        let mut due: Vec<Effect> = stops.collect();
        match (&self.phase, self.compaction.due_call()) {
            // The alarm brings the run back until its tasks have been told and its plan is kept.
            (Phase::Ended(_), _) if !due.is_empty() || self.plan_file.due_save().is_some() => {}
            (Phase::Ended(ended), _) => {
                due.extend(ended.undelivered.iter().cloned().map(Effect::Deliver));
            }
            // The turn that comes next waits for room.
            (_, Some(compaction)) => due.push(compaction),
            (Phase::Reacting(agent), None) => due.extend(agent.due()),
            (Phase::PlanSolving(solving), None) => due.extend(solving.due()),
            (Phase::Summarizing(summarizing), None) => due.push(summarizing.due_call()),
        }
        let mut due: Vec<Effect> = due
            .into_iter()
            .filter_map(|effect| self.human_requests.filter_effect(effect))
            .collect();
        due.extend(self.human_requests.due());
        due.extend(self.employees.due_call());
        due.extend(self.plan_file.due_save());
        // The end of the work is a moment on the way: the run waits on after it.
        let wait = |(_, until_ms)| Effect::Wait { limit: Limit::WallTime, until_ms };
        due.extend(self.next_limit().map(wait));
        isolate_suspect(&mut due);
        due
    }

    /// The tool of a call that is owed.
    #[must_use]
    pub fn owed_tool(&self, call: &CallId) -> Option<String> {
        self.due().into_iter().find_map(|effect| {
            let Effect::RunTool(run) = effect else { return None };
            (run.call.id == *call).then_some(run.call.tool)
        })
    }

    /// Where the run stands.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match &self.phase {
            Phase::Ended(ended) => ended.status,
            _ if self.human_requests.is_paused() => RunStatus::Paused,
            Phase::Reacting(_) | Phase::PlanSolving(_) | Phase::Summarizing(_) => {
                RunStatus::Running
            }
        }
    }

    /// The question, and all that was fixed when the run started.
    #[must_use]
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// When it was asked, Unix milliseconds.
    #[must_use]
    pub fn started_at_ms(&self) -> i64 {
        self.started_at_ms
    }

    /// The conversation so far; [`Self::model_view`] is what a model sees of it.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Every file the agent can read.
    #[must_use]
    pub fn files(&self) -> &FileList {
        &self.files
    }

    /// The files this run wrote.
    #[must_use]
    pub fn produced_files(&self) -> &FileList {
        &self.produced_files
    }

    /// What it has used up.
    #[must_use]
    pub fn spending(&self) -> &Spending {
        &self.spending
    }

    fn handle_while_working(&mut self, input: &Input, at_ms: i64) -> Option<Vec<(String, Event)>> {
        match input {
            // A run is asked once; nothing of an ended run is owed to one that is at work.
            Input::Started(_) | Input::Delivered { .. } | Input::PlanSaved { .. } => None,
            Input::Resumed { epoch, lost_usage, isolated } => {
                lost_usage.iter().for_each(|lost| self.charge_lost_calls(lost));
                let ran =
                    if *isolated { ActiveEffects::of(&self.due()) } else { ActiveEffects::All };
                Some(self.on_resumed(*epoch, &ran, at_ms))
            }
            Input::AttemptFailed {
                message,
                attempt,
                failure,
                usage,
                process_stalled,
                failed_attempts,
                silent,
            } => {
                let reset = (!silent).then_some(failure);
                let failed = (*failed_attempts, *process_stalled);
                self.on_attempt_failed(message, *attempt, failed, usage, reset, at_ms)
            }
            Input::ModelReplied(replied) => self.on_model_replied(replied, at_ms),
            Input::ModelChanged(changed) => self.on_model_changed(changed),
            Input::ModelFailed { message, failure } => {
                self.on_model_failed(message, failure, at_ms)
            }
            Input::ToolStarted { call } => match &mut self.phase {
                Phase::Reacting(agent) => agent.mark_started(call).then(Vec::new),
                Phase::PlanSolving(_) | Phase::Summarizing(_) | Phase::Ended(_) => None,
            },
            Input::ToolReturned { call, result, .. } => self.on_tool_returned(call, result, at_ms),
            Input::FileAdded { id, file } => self.seen_file_ids.insert(id.clone()).then(|| {
                self.taint();
                self.files.insert(file.clone());
                vec![(format!("file.{id}"), Event::FileAdded { file: file.clone() })]
            }),
            Input::StopRequested { partial, .. } => Some(self.stop_run(partial.as_ref(), at_ms)),
            Input::ChildEnded(ended) => {
                let mut events = self.on_child_ended(ended, at_ms)?;
                // A task is only stopped when its run is, which may not have heard of it yet.
                if ended.status == RunStatus::Stopped && !self.status().has_ended() {
                    events.extend(self.stop_run(None, at_ms));
                }
                Some(events)
            }
            Input::LimitReached { limit } => self.on_limit_reached(*limit, at_ms),
            Input::Interrupted { target, interrupt } => {
                self.on_interrupted(target, interrupt, at_ms)
            }
            Input::HumanResponded(answered) => self.on_human_responded(answered, at_ms),
            Input::HumanRequestExpired { request } => self.on_request_expired(request, at_ms),
            Input::ChildRequested(asks) => self.on_child_requested(asks, at_ms),
            Input::UserMessageAdded(said) => self.on_user_message(said),
            Input::PlanEdited(edited) => self.on_plan_edited(edited, at_ms),
        }
    }

    /// A call came to its end. `None` if nobody waits for it.
    fn on_tool_returned(
        &mut self,
        call: &CallId,
        outcome: &ToolResult,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let Phase::Reacting(agent) = &mut self.phase else { return None };
        let observed = agent.on_tool_returned(call, outcome)?;
        self.spending.tool_calls += 1;
        if let ToolResult::Done(observation) = outcome {
            for file in &observation.files {
                self.files.insert(file.clone());
                self.produced_files.insert(file.clone());
            }
        }
        Some(self.apply_turn_update(observed, at_ms))
    }

    /// Takes over what the loop observed, and decides whether the work goes on.
    fn apply_turn_update(&mut self, observed: TurnUpdate, at_ms: i64) -> Vec<(String, Event)> {
        let TurnUpdate { mut events, items, done, requests: asks, repeated_tool: repeated } =
            observed;
        events.extend(self.request_call_approvals(asks, at_ms));
        let turn_is_complete = !items.is_empty();
        let heard = self.append_items(items);
        let repeated = repeated.filter(|_| !heard);
        if heard && let Phase::Reacting(agent) = &mut self.phase {
            agent.forget_hint();
        }
        if done && !heard {
            self.conclude_work(&mut events, at_ms);
        } else if turn_is_complete {
            match self.work_end_reason(repeated) {
                Some(failure) => events.extend(self.budget_exhausted(failure, at_ms)),
                None => self.compact_if_due(),
            }
        }
        events
    }
}
