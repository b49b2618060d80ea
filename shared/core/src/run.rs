//! The run's machine: what an input makes of it, and what it owes in each state.

mod asking;
mod compacting;
mod deliverables;
mod employees;
mod ended;
mod ending;
mod limit;
mod plan_file;
mod plan_solve;
mod replying;
mod said;
mod seen;
mod summary;
mod taint;
mod task;
mod top_up;

use std::collections::BTreeSet;

use asking::Asking;
use compacting::Compacting;
pub use deliverables::Deliverables;
use employees::Employees;
pub use ended::Ended;
pub use plan_file::PLAN_FILE;
use plan_file::PlanFile;
pub use plan_solve::PlanSolve;
use plan_solve::Then;
use said::Unread;
pub use summary::Summarizing;

use crate::agent_loop::{AgentLoop, Observed};
use crate::budget::Spent;
use crate::conversation::Conversation;
use crate::crash::{Ran, keep_apart};
use crate::effect::{Delivery, Effect, Limit};
use crate::entry::{Entry, Event};
use crate::file::FileList;
use crate::id::{CallId, TaskId};
use crate::input::{Asked, Finish, Input};
use crate::settings::{Mode, Role};
use crate::status::RunStatus;
use crate::tool::Outcome;
use crate::urls::Urls;

/// How often a run may be handed over from one invocation to the next. Lambda itself stops a chain
/// of about 16 unless the function allows recursion, so we count.
pub const MAX_HOPS: u32 = 1_000;

/// A run: the fold of its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    asked: Asked,
    started_at_ms: i64,
    conversation: Conversation,
    files: FileList,
    produced: FileList,
    files_heard_of: BTreeSet<String>,
    spent: Spent,
    plan_file: PlanFile,
    compacting: Compacting,
    urls: Urls,
    employees: Employees,
    /// Tasks that were given up while they were at work, and have not been told so.
    to_stop: BTreeSet<TaskId>,
    asking: Asking,
    said: Unread,
    /// Whether it was tainted by what no agent of its own read.
    tainted: bool,
    /// What ended the newest reply that said something.
    finish: Finish,
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
    Summarizing(Summarizing),
    /// The final entry is written.
    Ended(Ended),
}

impl Run {
    /// The run that a question starts.
    #[must_use]
    pub fn start(asked: Asked, at_ms: i64) -> (Self, Vec<Entry>) {
        let mut run = Self {
            started_at_ms: at_ms,
            conversation: Conversation {
                compacted: asked.earlier.clone(),
                history: asked.history.clone(),
                question: asked.question.clone(),
                items: Vec::new(),
            },
            files: FileList::of(asked.files.iter().cloned()),
            produced: FileList::default(),
            files_heard_of: BTreeSet::new(),
            spent: Spent::default(),
            plan_file: PlanFile::default(),
            compacting: Compacting::new(&asked),
            urls: Urls::default(),
            employees: Employees::new(&asked),
            to_stop: BTreeSet::new(),
            asking: Asking::default(),
            said: Unread::default(),
            tainted: false,
            finish: Finish::Done,
            phase: match (&asked.task, asked.settings.mode) {
                (Some(_), _) => Phase::Reacting(AgentLoop::new(Role::Executor)),
                (None, Mode::React) => Phase::Reacting(AgentLoop::new(Role::React)),
                (None, Mode::PlanSolve) => Phase::PlanSolving(Box::new(PlanSolve::new())),
            },
            asked,
        };
        run.taint_from_start();
        run.learn_from_start();
        run.compact_if_due();
        let entries = run.started().into_iter();
        (run, entries.map(|(id, event)| Entry { id, within: None, at_ms, event }).collect())
    }

    /// Takes an input and says what viewers see of it. `None` means that the input answers nothing
    /// that is owed, or was had already: the run is unchanged and nothing is to be recorded.
    pub fn next(&mut self, input: &Input, at_ms: i64) -> Option<Vec<Entry>> {
        let known = self.urls.len();
        self.learn_from(input);
        let Some(events) = self.events(input, at_ms) else {
            self.urls.truncate(known);
            return None;
        };
        self.note_pause(at_ms);
        let entry = |(id, event)| Entry { id, within: None, at_ms, event };
        Some(events.into_iter().map(entry).collect())
    }

    fn events(&mut self, input: &Input, at_ms: i64) -> Option<Vec<(String, Event)>> {
        Some(match (&mut self.phase, input) {
            (_, Input::PlanKept { version }) => {
                self.plan_file.kept(*version)?;
                Vec::new()
            }
            (_, Input::Delivered { delivery: Delivery::Stop(task) }) => {
                self.to_stop.remove(task).then(Vec::new)?
            }
            (_, Input::Delivered { delivery }) if self.asking.delivered(delivery) => Vec::new(),
            (Phase::Ended(ended), input) => ended.next(input)?,
            (Phase::Reacting(_) | Phase::PlanSolving(_) | Phase::Summarizing(_), input) => {
                self.work(input, at_ms)?
            }
        })
    }

    /// Everything the run owes now, in a stable order.
    #[must_use]
    pub fn due(&self) -> Vec<Effect> {
        let stops = self.to_stop.iter().cloned().map(Delivery::Stop).map(Effect::Deliver);
        let mut due: Vec<Effect> = stops.collect();
        match (&self.phase, self.compacting.due()) {
            // The alarm brings the run back until its tasks have been told and its plan is kept.
            (Phase::Ended(_), _) if !due.is_empty() || self.plan_file.due().is_some() => {}
            (Phase::Ended(ended), _) => {
                due.extend(ended.undelivered.iter().cloned().map(Effect::Deliver));
            }
            // The turn that comes next waits for room.
            (_, Some(compaction)) => due.push(compaction),
            (Phase::Reacting(agent), None) => due.extend(agent.due()),
            (Phase::PlanSolving(solving), None) => due.extend(solving.due()),
            (Phase::Summarizing(summarizing), None) => due.push(summarizing.due()),
        }
        let mut due: Vec<Effect> =
            due.into_iter().filter_map(|effect| self.asking.held_back(effect)).collect();
        due.extend(self.asking.due());
        due.extend(self.employees.due());
        due.extend(self.plan_file.due());
        // The end of the work is a moment on the way: the run waits on after it.
        let wait = |(_, until_ms)| Effect::Wait { limit: Limit::WallTime, until_ms };
        due.extend(self.next_limit().map(wait));
        keep_apart(&mut due);
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
            _ if self.asking.is_paused() => RunStatus::Paused,
            Phase::Reacting(_) | Phase::PlanSolving(_) | Phase::Summarizing(_) => {
                RunStatus::Running
            }
        }
    }

    /// What started it.
    #[must_use]
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// When it was asked, Unix milliseconds.
    #[must_use]
    pub fn started_at_ms(&self) -> i64 {
        self.started_at_ms
    }

    /// What was said.
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
    pub fn produced(&self) -> &FileList {
        &self.produced
    }

    /// What it has used up.
    #[must_use]
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    fn work(&mut self, input: &Input, at_ms: i64) -> Option<Vec<(String, Event)>> {
        match input {
            // A run is asked once; nothing of an ended run is owed to one that is at work.
            Input::Asked(_) | Input::Delivered { .. } | Input::PlanKept { .. } => None,
            Input::Resumed { epoch, lost, apart } => {
                lost.iter().for_each(|lost| self.charge_lost(lost));
                let ran = if *apart { Ran::of(&self.due()) } else { Ran::Anything };
                Some(self.resumed(*epoch, &ran, at_ms))
            }
            Input::AttemptFailed {
                message,
                attempt,
                failure,
                usage,
                stood_still,
                times,
                silent,
            } => {
                let reset = (!silent).then_some(failure);
                let failed = (*times, *stood_still);
                self.attempt_failed(message, *attempt, failed, usage, reset, at_ms)
            }
            Input::ModelReplied(replied) => self.replied(replied, at_ms),
            Input::ModelChanged(changed) => self.model_changed(changed),
            Input::ModelFailed { message, failure } => self.model_failed(message, failure, at_ms),
            Input::ToolStarted { call } => match &mut self.phase {
                Phase::Reacting(agent) => agent.started(call).then(Vec::new),
                Phase::PlanSolving(_) | Phase::Summarizing(_) | Phase::Ended(_) => None,
            },
            Input::ToolReturned { call, outcome, .. } => {
                let Phase::Reacting(agent) = &mut self.phase else {
                    return None;
                };
                let observed = agent.returned(call, outcome)?;
                self.spent.tool_calls += 1;
                if let Outcome::Done(observation) = outcome {
                    for file in &observation.files {
                        self.files.put(file.clone());
                        self.produced.put(file.clone());
                    }
                }
                Some(self.observe(observed, at_ms))
            }
            Input::FileAdded { id, file } => self.files_heard_of.insert(id.clone()).then(|| {
                self.taint();
                self.files.put(file.clone());
                vec![(format!("file.{id}"), Event::FileAdded { file: file.clone() })]
            }),
            Input::StopAsked { partial, .. } => Some(self.stopped(partial.as_ref(), at_ms)),
            Input::TaskEnded(ended) => {
                let mut events = self.task_ended(ended, at_ms)?;
                // A task is only stopped when its run is, which may not have heard of it yet.
                if ended.status == RunStatus::Stopped && !self.status().has_ended() {
                    events.extend(self.stopped(None, at_ms));
                }
                Some(events)
            }
            Input::LimitReached { limit } => self.limit_reached(*limit, at_ms),
            Input::Interrupted { of, interrupt } => self.interrupted(of, interrupt, at_ms),
            Input::HumanAnswered(answered) => self.human_answered(answered, at_ms),
            Input::FeedbackExpired { feedback } => self.feedback_expired(feedback, at_ms),
            Input::TaskAsks(asks) => self.task_asked(asks, at_ms),
            Input::UserSaid(said) => self.user_said(said),
            Input::PlanEdited(edited) => self.plan_edited(edited, at_ms),
        }
    }

    /// Takes over what the loop observed, and decides whether the work goes on.
    fn observe(&mut self, observed: Observed, at_ms: i64) -> Vec<(String, Event)> {
        let Observed { mut events, items, done, asks, repeated } = observed;
        events.extend(self.ask_about_calls(asks, at_ms));
        let turn_is_complete = !items.is_empty();
        let heard = self.join(items);
        let repeated = repeated.filter(|_| !heard);
        if heard && let Phase::Reacting(agent) = &mut self.phase {
            agent.forget_hint();
        }
        if done && !heard {
            self.conclude(&mut events, at_ms);
        } else if turn_is_complete {
            match self.work_ended_by(repeated) {
                Some(failure) => events.extend(self.ran_out(failure, at_ms)),
                None => self.compact_if_due(),
            }
        }
        events
    }
}
