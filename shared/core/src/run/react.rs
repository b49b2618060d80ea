//! ReAct: one agent that thinks and acts until no work is left, or judges the answers of others.

use super::work::{Work, summary_policy_of};
use crate::agent::TurnState;
use crate::agent_loop::{AgentLoop, AgentPosition};
use crate::effect::ToolChoice;
use crate::input::RunSpec;
use crate::settings::SummaryPolicy;
use crate::verdict::{Ensemble, VERDICT_TOOL};

/// Returns the agent of a run, with the calls that its file defines.
pub(super) fn new_agent(spec: &RunSpec, position: AgentPosition) -> AgentLoop {
    let agent = AgentLoop::new(spec.working_role(), spec.path().depth());
    let ensemble = spec.agent().filter(|agent| agent.gives_verdict());
    let ensemble = ensemble.map(|_| Ensemble::new(run_name(spec)));
    agent.with_agent(spec.agent()).with_position(position).with_ensemble(ensemble)
}

/// Returns the name that decides the order of the letters of an ensemble.
fn run_name(spec: &RunSpec) -> String {
    format!("{}/{}/{}", spec.session, spec.request, spec.path())
}

impl Work for AgentLoop {
    fn agent(&self) -> Option<&AgentLoop> {
        Some(self)
    }

    fn agent_mut(&mut self) -> Option<&mut AgentLoop> {
        Some(self)
    }

    fn tool_choice(&self, turn: u32, steps_left: u32, spec: &RunSpec) -> ToolChoice {
        let state = TurnState {
            turn: self.own_turn(turn),
            steps_left,
            has_result: self.has_result(),
            has_closing_call: self.summary_policy(spec).is_some(),
        };
        let Some(agent) = spec.agent() else { return ToolChoice::Auto };
        match self.ensemble().filter(|_| agent.tools.len() == 1) {
            Some(ensemble) => verdict_choice(ensemble.needs_verdict(), state),
            None => agent.tool_choice(state),
        }
    }

    /// A merged answer is the answer: no closing call sums it up.
    fn summary_policy(&self, spec: &RunSpec) -> Option<SummaryPolicy> {
        let policy = summary_policy_of(spec)?;
        Some(if self.ensemble().is_some() { SummaryPolicy::WhenNeeded } else { policy })
    }
}

/// Returns the tool choice of an agent whose only tool gives the verdict. Afterwards, the agent writes the
/// merged answer.
fn verdict_choice(needs_verdict: bool, state: TurnState) -> ToolChoice {
    let can_call = state.steps_left > 1 || state.has_closing_call;
    if needs_verdict && can_call {
        ToolChoice::Named(VERDICT_TOOL.to_owned())
    } else {
        ToolChoice::None
    }
}
