//! ReAct: one agent that thinks and acts until no work is left.

use super::work::Work;
use crate::agent::TurnState;
use crate::agent_loop::{AgentLoop, AgentPosition};
use crate::effect::ToolChoice;
use crate::input::RunSpec;

/// Returns the agent of a run, with the calls that its file defines.
pub(super) fn new_agent(spec: &RunSpec, position: AgentPosition) -> AgentLoop {
    let agent = AgentLoop::new(spec.working_role(), spec.path().depth());
    agent.with_agent(spec.agent()).with_position(position)
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
        spec.agent().map_or(ToolChoice::Auto, |agent| agent.tool_choice(state))
    }
}
