//! The phases of a run.

use super::closing::{Closing, SummaryCall};
use super::final_state::FinalState;
use super::plan_solve::PlanSolve;
use super::react;
use super::work::Work;
use super::workflow::WorkflowRun;
use crate::agent_loop::{AgentLoop, AgentPosition, Attempts, TurnUpdate};
use crate::crash::ActiveEffects;
use crate::effect::{Effect, ModelCall};
use crate::id::MessageId;
use crate::input::RunSpec;
use crate::plan::Plan;
use crate::settings::Machine;

/// The phase of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Phase {
    /// The agents are at work, in the way of the run's mode.
    Working(Box<dyn Work>),
    /// The work is done; the answer is being written or stored.
    Closing(Box<Closing>),
    /// The final entry is written.
    Ended(FinalState),
}

impl Phase {
    /// Returns the first phase of the run's agent at this position. Each way of working has one line here.
    pub(super) fn first(spec: &RunSpec, position: AgentPosition) -> Self {
        Self::Working(match (spec.machine(), spec.workflow()) {
            (Machine::PlanSolve, _) => Box::new(PlanSolve::new(spec, position)),
            (Machine::Workflow, Some(workflow)) => Box::new(WorkflowRun::new(spec, workflow)),
            (Machine::React | Machine::Workflow, _) => Box::new(react::new_agent(spec, position)),
        })
    }

    /// Returns the due effects of the work; for an ended run, its deliveries.
    pub(super) fn due(&self) -> Vec<Effect> {
        match self {
            Self::Working(work) => work.due(),
            Self::Closing(closing) => vec![closing.due()],
            Self::Ended(ended) => ended.undelivered.iter().cloned().map(Effect::Deliver).collect(),
        }
    }

    pub(super) fn is_working(&self) -> bool {
        self.work().is_some()
    }

    /// Returns the work until its end.
    pub(super) fn work(&self) -> Option<&dyn Work> {
        let Self::Working(work) = self else { return None };
        Some(&**work)
    }

    /// Returns the work until its end, to be changed.
    pub(super) fn work_mut(&mut self) -> Option<&mut dyn Work> {
        let Self::Working(work) = self else { return None };
        Some(&mut **work)
    }

    /// Returns the agent that must act next.
    pub(super) fn agent_mut(&mut self) -> Option<&mut AgentLoop> {
        self.work_mut()?.agent_mut()
    }

    /// Returns the call that writes the answer, while the call is due.
    pub(super) fn summary(&self) -> Option<&SummaryCall> {
        let Self::Closing(closing) = self else { return None };
        closing.summary()
    }

    /// Returns the plan at work.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.work()?.plan()
    }

    /// Returns the model call that begins the next turn of an agent, if the call is due.
    pub(super) fn next_turn(&self) -> Option<ModelCall> {
        let Effect::CallModel(call) = self.work()?.due().into_iter().next()? else { return None };
        Some(call)
    }

    /// Returns the attempts at the due model call, if the call writes this message.
    pub(super) fn attempts_at(&mut self, message: &MessageId) -> Option<&mut Attempts> {
        match self {
            Self::Working(work) => work.agent_mut()?.attempts_at(message),
            Self::Closing(closing) => closing.attempts_at(message),
            Self::Ended(_) => None,
        }
    }

    /// Returns the reason for a human request, in the words of the agent that must act next.
    pub(super) fn request_reasoning(&self) -> &str {
        self.work().map_or("", Work::request_reasoning)
    }

    /// Processes a crash, which `ran` may have caused. `None` if the phase's own call is given up.
    pub(super) fn on_resumed(&mut self, ran: &ActiveEffects) -> Option<TurnUpdate> {
        match self {
            Self::Working(work) => work.on_resumed(ran),
            Self::Closing(closing) => closing.on_resumed(ran).then(TurnUpdate::default),
            Self::Ended(_) => None,
        }
    }
}
