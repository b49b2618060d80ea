//! Where a run stands, with what is true only there.

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

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Phase {
    /// The agent works on the question.
    Reacting(AgentLoop),
    /// The planner and its tasks do.
    PlanSolving(Box<PlanSolve>),
    /// The work is done; the answer is being written.
    Summarizing(SummaryCall),
    /// The answer is there, and is kept as a file before its caller is told of it.
    SavingAnswer(AnswerFile),
    /// The final entry is written.
    Ended(FinalState),
}

impl Phase {
    /// Where a run begins.
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

    /// What the work owes; of an ended run, its deliveries.
    pub(super) fn due(&self) -> Vec<Effect> {
        match self {
            Self::Reacting(agent) => agent.due(),
            Self::PlanSolving(solving) => solving.due(),
            Self::Summarizing(summary) => vec![summary.due_call()],
            Self::SavingAnswer(file) => vec![Effect::SaveAnswer(file.clone())],
            Self::Ended(ended) => ended.undelivered.iter().cloned().map(Effect::Deliver).collect(),
        }
    }

    /// The model call that begins the next turn of an agent, if that is what is owed.
    pub(super) fn next_turn(&self) -> Option<ModelCall> {
        if !self.is_working() {
            return None;
        }
        let Effect::CallModel(call) = self.due().into_iter().next()? else { return None };
        Some(call)
    }

    /// Whether agents are at work on the question.
    pub(super) fn is_working(&self) -> bool {
        matches!(self, Self::Reacting(_) | Self::PlanSolving(_))
    }

    /// The loop whose turn it is.
    pub(super) fn active_loop(&mut self) -> Option<&mut AgentLoop> {
        match self {
            Self::Reacting(agent) => Some(agent),
            Self::PlanSolving(solving) => solving.active_planner(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => None,
        }
    }

    /// The attempts at the model call that is owed, if it writes this message.
    pub(super) fn attempts_at(&mut self, message: &MessageId) -> Option<&mut Attempts> {
        match self {
            Self::Summarizing(summary) => message.is_summary().then_some(&mut summary.attempts),
            Self::Reacting(_) | Self::PlanSolving(_) | Self::SavingAnswer(_) | Self::Ended(_) => {
                self.active_loop()?.attempts_at(message)
            }
        }
    }

    /// The message that an agent is writing, and the attempts at it.
    pub(super) fn open_message(&mut self) -> Option<(MessageId, Attempts)> {
        self.active_loop()?.open_message()
    }

    /// Why people are asked what they are, in the words of the agent that has the word.
    pub(super) fn request_reasoning(&self) -> &str {
        match self {
            Self::Reacting(agent) => agent.open_turn_text(),
            Self::PlanSolving(solving) => solving.request_reasoning(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => "",
        }
    }

    /// Whether an agent has read text that anybody may have written.
    pub(super) fn is_tainted(&self) -> bool {
        match self {
            Self::Reacting(agent) => agent.is_tainted(),
            Self::PlanSolving(solving) => solving.is_tainted(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => false,
        }
    }

    /// Whether only the call that an agent's file has made with its answer is left.
    pub(super) fn has_answered(&self) -> bool {
        matches!(self, Self::Reacting(agent) if agent.has_answered())
    }

    /// The planner's plan while it is at work.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan_solve()?.plan()
    }

    /// The planner and its tasks, while they are at work.
    pub(super) fn plan_solve(&self) -> Option<&PlanSolve> {
        let Self::PlanSolving(solving) = self else { return None };
        Some(solving)
    }

    /// The children that somebody may be working on.
    pub(super) fn running_children(&self) -> Vec<ChildId> {
        match self {
            Self::Reacting(agent) => agent.running_agents().collect(),
            Self::PlanSolving(solving) => solving.running_children().collect(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => Vec::new(),
        }
    }

    /// Whether an agent that is called waits for a share of what is left.
    pub(super) fn has_queued_agents(&self) -> bool {
        matches!(self, Self::Reacting(agent) if agent.has_queued_agents())
    }

    /// Why the planner has no further turn, if it has none: its own are used up.
    pub(super) fn turns_failure(&self, settings: &RunSettings) -> Option<Failure> {
        let turns = settings.budget.steps;
        let is_used_up = self.plan_solve()?.has_used_all_turns(turns);
        is_used_up.then(|| Failure::new(ErrorCode::StepsUsedUp, turns.to_string()))
    }

    /// Gives every child that can begin its share of what is left, and says what viewers see of that.
    pub(super) fn allocate_shares(
        &mut self,
        left: BudgetShare,
        spec: &RunSpec,
    ) -> Vec<(EntryId, Event)> {
        match self {
            Self::Reacting(agent) => return agent.allocate_shares(left, spec.places()),
            Self::PlanSolving(solving) => {
                solving.allocate_shares(left, &spec.settings.plan, spec.places());
            }
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => {}
        }
        Vec::new()
    }

    /// A person has told the agent something: whether it repeats itself shows from here on.
    pub(super) fn forget_hint(&mut self) {
        match self {
            Self::Reacting(agent) => agent.forget_hint(),
            Self::PlanSolving(solving) => solving.forget_hint(),
            Self::Summarizing(_) | Self::SavingAnswer(_) | Self::Ended(_) => {}
        }
    }

    /// The driver died; what it ran then may be what it died over. `None` where the call that the work
    /// stands on is given up.
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

    /// An agent has its reply, of which no more than the first `max_calls` calls are made. `None` while
    /// no agent is at work.
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

    /// A `once` call is about to run. Whether that was news.
    pub(super) fn mark_started(&mut self, call: &CallId) -> bool {
        let Self::Reacting(agent) = self else { return false };
        agent.mark_started(call)
    }

    /// The process stood still during an attempt at a call. `None` if that is not the attempt that is owed.
    pub(super) fn on_tool_stalled(&mut self, call: &CallId, attempt: u32) -> Option<Progress> {
        let Self::Reacting(agent) = self else { return None };
        agent.on_tool_stalled(call, attempt).map(Progress::from)
    }

    /// A call came to its end. `None` if nobody waits for it.
    pub(super) fn on_tool_returned(
        &mut self,
        call: &CallId,
        result: &ToolResult,
    ) -> Option<Progress> {
        let Self::Reacting(agent) = self else { return None };
        agent.on_tool_returned(call, result).map(Progress::from)
    }

    /// A tool stopped in the middle of a call: what a person is asked. `None` if nobody waits for it.
    pub(super) fn interrupt_call(
        &mut self,
        call: &CallId,
        interrupt: &Interrupt,
    ) -> Option<HumanRequest> {
        self.active_loop()?.interrupt_call(call, interrupt)
    }

    /// A child came to its end. `None` if nobody waits for it.
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

    /// Takes a person's answer about a call, a step or a result. `None` if nobody waits for it.
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

    /// Takes a plan as a person changed it. `None` while there is none to be changed.
    pub(super) fn replace_plan(
        &mut self,
        plan: Plan,
        entry_id: EntryId,
        settings: &RunSettings,
    ) -> Option<Progress> {
        let Self::PlanSolving(solving) = self else { return None };
        Some(solving.replace_plan(plan, entry_id, settings))
    }

    /// The work ends here: what of it is done, and how the rest ends.
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

/// What has been written of a message will not be completed: what viewers see of that.
pub(super) fn reset_event(
    (message, attempts): (MessageId, Attempts),
    failure: &Failure,
) -> (EntryId, Event) {
    let count = attempts.failures + 1;
    let id = EntryId::of_message(&message, |name| EntryName::Reset(name, count));
    let (attempt, failure) = (attempts.next_number(), failure.clone());
    (id, Event::MessageReset { message, attempt, failure })
}
