//! The numbers of modes in JoyAgent's protocol.

use djinn_core::settings::Machine;

/// Returns the `agentType` of a mode whose file has no number: that of its machine.
#[must_use]
pub fn agent_type_of(machine: Machine) -> u16 {
    match machine {
        Machine::React => 5,
        Machine::PlanSolve => 3,
        Machine::Workflow => 2,
    }
}

/// Returns the `agentType` that JoyAgent's page selects with `deepThink`.
#[must_use]
pub fn agent_type_of_page(deep_think: bool) -> u16 {
    agent_type_of(if deep_think { Machine::PlanSolve } else { Machine::React })
}
