//! The phases of a run, with the state of each phase.

use std::collections::BTreeSet;

use super::{AnswerFile, FinalState, PlanSolve, Progress, SummaryCall};
use crate::agent_loop::{AgentLoop, Attempts, TurnUpdate};
use crate::budget::BudgetShare;
use crate::crash::ActiveEffects;
use crate::effect::{Effect, ModelCall};
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::human::{HumanRequest, Interrupt, ResponseRecord, Subject};
use crate::id::{CallId, ChildId, EntryId, EntryName, MessageId};
use crate::input::{ChildEnded, ModelReplied, RunSpec};
use crate::plan::Plan;
use crate::run::plan_solve::AbandonedWork;
use crate::settings::{Mode, RunSettings};
use crate::tool::ToolResult;

/// The phase of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Phase {
    /// The agent works on the question.
    Reacting(AgentLoop),
    /// The planner and its tasks are at work.
    PlanSolving(Box<PlanSolve>),
    /// The work is done; the answer is being written.
    Summarizing(SummaryCall),
    /// The answer is complete and is kept as a file before the caller receives it.
    SavingAnswer(AnswerFile),
    /// The final entry is written.
    Ended(FinalState),
}

impl Phase {
    /// Returns the first phase of a run.
    pub(super) fn first(spec: &RunSpec) -> Self {
        let depth = spec.path().depth();
        match spec.work_mode() {
            Mode::React => {
                let agent = AgentLoop::new(spec.working_role(), depth);
                Self::Reacting(agent.with_agent(spec.agent()))
            }
            Mode::PlanSolve => Self::PlanSolving(Box::new(PlanSolve::new(depth))),
        }
    }

    /// Returns the due effects of the work; for an ended run, its deliveries.
    pub(super) fn due(&self) -> Vec<Effect> {
        match self {
            Self::Reacting(agent) => agent.due(),
            Self::PlanSolving(solving) => solving.due(),
            Self::Summarizing(summary) => vec![summary.due_call()],
            Self::SavingAnswer(file) => vec![Effect::SaveAnswer(file.clone())],
            Self::Ended(ended) => ended.undelivered.iter().cloned().map(Effect::Deliver).collect(),
        }
    }

    /// Returns the model call that begins the next turn of an agent, if the call is due.
    pub(super) fn next_turn(&self) -> Option<ModelCall> {
        if !self.is_working() {
            return None;
        }
        let Effect::CallModel(call) = self.due().into_iter().next()? else { return None };
        Some(call)
    }

    pub(super) fn is_working(&self) -> bool {
        matches!(self, Self::Reacting(_) | Self::PlanSolving(_))
    }

    /// Returns the loop that must act next.
    pub(super) fn active_loop(&mut self) -> Option<&mut AgentLoop> {
        match self {
            Self::Reacting(agent) => Some(agent),
            Self::PlanSolving(solving) => solving.active_planner(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => None,
        }
    }

    /// Returns the attempts at the due model call, if the call writes this message.
    pub(super) fn attempts_at(&mut self, message: &MessageId) -> Option<&mut Attempts> {
        match self {
            Self::Summarizing(summary) => message.is_summary().then_some(&mut summary.attempts),
            Self::Reacting(_) | Self::PlanSolving(_) | Self::SavingAnswer(_) | Self::Ended(_) => {
                self.active_loop()?.attempts_at(message)
            }
        }
    }

    /// Returns the message that an agent is writing, and the attempts at the message.
    pub(super) fn open_message(&mut self) -> Option<(MessageId, Attempts)> {
        self.active_loop()?.open_message()
    }

    /// Returns the reason for a human request, in the words of the agent that must act next.
    pub(super) fn request_reasoning(&self) -> &str {
        match self {
            Self::Reacting(agent) => agent.open_turn_text(),
            Self::PlanSolving(solving) => solving.request_reasoning(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => "",
        }
    }

    /// Returns true if an agent has read text that anybody may have written.
    pub(super) fn is_tainted(&self) -> bool {
        match self {
            Self::Reacting(agent) => agent.is_tainted(),
            Self::PlanSolving(solving) => solving.is_tainted(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => false,
        }
    }

    /// Returns true if only the call with the agent's answer, as its file defines, is left.
    pub(super) fn has_answered(&self) -> bool {
        matches!(self, Self::Reacting(agent) if agent.has_answered())
    }

    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan_solve()?.plan()
    }

    /// Returns the planner and its tasks, while they are at work.
    pub(super) fn plan_solve(&self) -> Option<&PlanSolve> {
        let Self::PlanSolving(solving) = self else { return None };
        Some(solving)
    }

    /// Returns the children that may be at work.
    pub(super) fn running_children(&self) -> Vec<ChildId> {
        match self {
            Self::Reacting(agent) => agent.running_agents().collect(),
            Self::PlanSolving(solving) => solving.running_children().collect(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => Vec::new(),
        }
    }

    /// Returns true if an agent call waits for a budget share.
    pub(super) fn has_queued_agents(&self) -> bool {
        matches!(self, Self::Reacting(agent) if agent.has_queued_agents())
    }

    /// Returns the failure of a planner that has used up its own turns.
    pub(super) fn turns_failure(&self, settings: &RunSettings) -> Option<Failure> {
        let turns = settings.budget.steps;
        let is_used_up = self.plan_solve()?.has_used_all_turns(turns);
        is_used_up.then(|| Failure::new(ErrorCode::StepsUsedUp, turns.to_string()))
    }

    /// Gives every child that can begin its share of the remaining budget, and returns the events for
    /// viewers.
    pub(super) fn allocate_shares(
        &mut self,
        remaining: BudgetShare,
        spec: &RunSpec,
    ) -> Vec<(EntryId, Event)> {
        match self {
            Self::Reacting(agent) => return agent.allocate_shares(remaining, spec.places()),
            Self::PlanSolving(solving) => {
                solving.allocate_shares(remaining, &spec.settings.plan, spec.places());
            }
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => {}
        }
        Vec::new()
    }

    /// Resets the detection of repeats after a user's message to the agent.
    pub(super) fn forget_hint(&mut self) {
        match self {
            Self::Reacting(agent) => agent.forget_hint(),
            Self::PlanSolving(solving) => solving.forget_hint(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => {}
        }
    }

    /// Processes a crash, which `ran` may have caused. `None` if the work's own call is given up.
    pub(super) fn on_resumed(&mut self, ran: &ActiveEffects) -> Option<Progress> {
        let update = match self {
            Self::Reacting(agent) => agent.on_resumed(ran),
            Self::PlanSolving(solving) => solving.on_resumed(ran),
            Self::Summarizing(summary) => {
                let is_given_up =
                    ran.has_message(&MessageId::summary()) && !summary.attempts.record_crash();
                (!is_given_up).then(TurnUpdate::default)
            }
            Self::SavingAnswer(_) => Some(TurnUpdate::default()),
            Self::Ended(_) => None,
        };
        update.map(Progress::from)
    }

    /// Processes an agent's reply. Makes at most the first `max_calls` calls. `None` while no agent is at
    /// work.
    pub(super) fn on_model_replied(
        &mut self,
        replied: &ModelReplied,
        settings: &RunSettings,
        max_calls: u32,
        known_urls: &BTreeSet<String>,
    ) -> Option<Progress> {
        match self {
            Self::Reacting(agent) => {
                let no_answer = |_: &_| None;
                Some(
                    agent
                        .on_model_replied(replied, settings, max_calls, known_urls, no_answer)
                        .into(),
                )
            }
            Self::PlanSolving(solving) => {
                Some(solving.on_model_replied(replied, settings).with_new_plan())
            }
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => None,
        }
    }

    /// Records the start of a `once` call. Returns true if the start is new.
    pub(super) fn mark_started(&mut self, call: &CallId) -> bool {
        let Self::Reacting(agent) = self else { return false };
        agent.mark_started(call)
    }

    /// Processes a standstill during an attempt at a call. `None` if the attempt is not due.
    pub(super) fn on_tool_stalled(&mut self, call: &CallId, attempt: u32) -> Option<Progress> {
        let Self::Reacting(agent) = self else { return None };
        agent.on_tool_stalled(call, attempt).map(Progress::from)
    }

    /// Processes the result of a call. `None` if the call is not due.
    pub(super) fn on_tool_returned(
        &mut self,
        call: &CallId,
        result: &ToolResult,
    ) -> Option<Progress> {
        let Self::Reacting(agent) = self else { return None };
        agent.on_tool_returned(call, result).map(Progress::from)
    }

    /// Holds an interrupted tool call and returns the human request. `None` if the call is not due.
    pub(super) fn interrupt_call(
        &mut self,
        call: &CallId,
        interrupt: &Interrupt,
    ) -> Option<HumanRequest> {
        self.active_loop()?.interrupt_call(call, interrupt)
    }

    /// Processes the end of a child. `None` if the work does not wait for the child.
    pub(super) fn on_child_ended(
        &mut self,
        ended: &ChildEnded,
        settings: &RunSettings,
    ) -> Option<Progress> {
        match self {
            Self::Reacting(agent) => {
                agent.on_child_ended(ended, settings.language).map(Progress::from)
            }
            Self::PlanSolving(solving) => solving.on_child_ended(ended, settings),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => None,
        }
    }

    /// Processes a response about a call, a step or a result. `None` if no work waits for the response.
    pub(super) fn resolve_request(
        &mut self,
        request: &HumanRequest,
        response: &ResponseRecord,
        settings: &RunSettings,
    ) -> Option<Progress> {
        match (self, &request.subject) {
            (Self::Reacting(agent), Subject::Call { .. } | Subject::CallInterrupt { .. }) => agent
                .resolve_request(&request.id, &response.answer, &response.comment)
                .map(Progress::from),
            (Self::PlanSolving(solving), Subject::Call { .. } | Subject::CallInterrupt { .. }) => {
                solving.resolve_planner_request(request, response, settings)
            }
            (
                Self::PlanSolving(solving),
                Subject::StepReview { .. } | Subject::ResultReview { .. },
            ) => solving.resolve_step_request(request, response, settings),
            _ => None,
        }
    }

    /// Replaces the plan after a user's edit. `None` if no plan can be changed now.
    pub(super) fn replace_plan(
        &mut self,
        plan: Plan,
        entry_id: EntryId,
        settings: &RunSettings,
    ) -> Option<Progress> {
        let Self::PlanSolving(solving) = self else { return None };
        Some(solving.replace_plan(plan, entry_id, settings))
    }

    /// Ends the work early, and returns the completed work and the ends of open work.
    pub(super) fn abandon(&mut self) -> AbandonedWork {
        match self {
            Self::Reacting(agent) => AbandonedWork {
                events: agent.abandon_open_calls(),
                items: Vec::new(),
                running: agent.running_agents().collect(),
            },
            Self::PlanSolving(solving) => solving.abandon_tasks(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => {
                AbandonedWork { events: Vec::new(), items: Vec::new(), running: Vec::new() }
            }
        }
    }
}

/// Returns the event that makes an unfinished message void.
pub(super) fn reset_event(
    (message, attempts): (MessageId, Attempts),
    failure: &Failure,
) -> (EntryId, Event) {
    let count = attempts.failures + 1;
    let id = EntryId::of_message(&message, |name| EntryName::Reset(name, count));
    let attempt = attempts.next_number();
    let failure = failure.clone();
    (id, Event::MessageReset { message, attempt, failure })
}
