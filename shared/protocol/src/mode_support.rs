//! The modes of a run, and their names and numbers in requests.

use djinn_core::settings::Machine;

/// The mode field of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeRequest<'a> {
    /// A word of our own protocol; `None` selects the default.
    Word(Option<&'a str>),
    /// JoyAgent's agent number; `None` selects the default.
    AgentType(Option<i64>),
    /// The `deepThink` flag of JoyAgent's page.
    DeepThink(bool),
}

/// The names and numbers of one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeSupport {
    /// The mode itself, as settings name it.
    pub mode: Machine,
    /// `agentType` of JoyAgent's protocol.
    pub agent_type: u16,
    /// The mode's display name for users.
    pub title: &'static str,
    /// True if JoyAgent's page selects the mode by `deepThink`.
    pub deep_think: bool,
}

/// Every mode; the first is the default.
pub const MODES: [ModeSupport; 2] = [
    ModeSupport { mode: Machine::React, agent_type: 5, title: "ReAct", deep_think: false },
    ModeSupport { mode: Machine::PlanSolve, agent_type: 3, title: "Plan-Solve", deep_think: true },
];

impl ModeSupport {
    /// Returns true if the request selects this mode.
    #[must_use]
    pub fn supports(&self, request: ModeRequest<'_>) -> bool {
        let is_default = self.mode == Machine::default();
        match request {
            ModeRequest::Word(word) => word.map_or(is_default, |word| word == self.mode.as_str()),
            ModeRequest::AgentType(number) => {
                number.map_or(is_default, |number| number == i64::from(self.agent_type))
            }
            ModeRequest::DeepThink(deep) => deep == self.deep_think,
        }
    }
}

/// Returns the `agentType` of a mode in JoyAgent's protocol.
#[must_use]
pub fn agent_type_of(mode: Machine) -> u16 {
    let support = MODES.iter().find(|support| support.mode == mode);
    support.map_or(0, |support| support.agent_type)
}

/// Returns the mode selected by a request, if any.
#[must_use]
pub fn find_mode(request: ModeRequest<'_>) -> Option<Machine> {
    MODES.iter().find(|support| support.supports(request)).map(|support| support.mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_taken_by_one_mode_or_none() {
        use ModeRequest::{AgentType, DeepThink, Word};
        for (request, mode) in [
            (Word(None), Some(Machine::React)),
            (Word(Some("react")), Some(Machine::React)),
            (Word(Some("plan_solve")), Some(Machine::PlanSolve)),
            (Word(Some("")), None),
            (AgentType(None), Some(Machine::React)),
            (AgentType(Some(5)), Some(Machine::React)),
            (AgentType(Some(3)), Some(Machine::PlanSolve)),
            (AgentType(Some(-3)), None),
            (DeepThink(false), Some(Machine::React)),
            (DeepThink(true), Some(Machine::PlanSolve)),
        ] {
            assert_eq!(find_mode(request), mode, "{request:?}");
            assert!(MODES.iter().filter(|support| support.supports(request)).count() <= 1);
        }
    }
}
