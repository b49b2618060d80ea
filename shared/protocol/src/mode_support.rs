//! How clients ask for a mode: each says itself which requests it takes, and by which numbers and words it is
//! known.

use djinn_core::settings::Mode;

/// What a request says of its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeRequest<'a> {
    /// A word of our own protocol; without it the default.
    Word(Option<&'a str>),
    /// JoyAgent's number of an agent; without it the default.
    AgentType(Option<i64>),
    /// Whether JoyAgent's page is to think deeply.
    DeepThink(bool),
}

/// What one mode is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeSupport {
    /// Which mode it is.
    pub mode: Mode,
    /// Its word in our own protocol.
    pub word: &'static str,
    /// `agentType` of JoyAgent's protocol.
    pub agent_type: u8,
    /// Its name for people.
    pub title: &'static str,
    /// Whether JoyAgent's page asks for it by `deepThink`.
    pub deep_think: bool,
}

/// Every mode; the first is the default.
pub const MODES: [ModeSupport; 2] = [
    ModeSupport {
        mode: Mode::React,
        word: "react",
        agent_type: 5,
        title: "ReAct",
        deep_think: false,
    },
    ModeSupport {
        mode: Mode::PlanSolve,
        word: "plan_solve",
        agent_type: 3,
        title: "Plan-Solve",
        deep_think: true,
    },
];

impl ModeSupport {
    /// Whether it takes this request.
    #[must_use]
    pub fn supports(&self, request: ModeRequest<'_>) -> bool {
        let is_default = self.mode == Mode::default();
        match request {
            ModeRequest::Word(word) => word.map_or(is_default, |word| word == self.word),
            ModeRequest::AgentType(number) => {
                number.map_or(is_default, |number| number == i64::from(self.agent_type))
            }
            ModeRequest::DeepThink(deep) => deep == self.deep_think,
        }
    }
}

/// `agentType` of a mode in JoyAgent's protocol.
#[must_use]
pub fn agent_type_of(mode: Mode) -> u8 {
    let support = MODES.iter().find(|support| support.mode == mode);
    support.map_or(0, |support| support.agent_type)
}

/// The mode that takes a request, if any does.
#[must_use]
pub fn find_mode(request: ModeRequest<'_>) -> Option<Mode> {
    MODES.iter().find(|support| support.supports(request)).map(|support| support.mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_taken_by_one_mode_or_none() {
        use ModeRequest::{AgentType, DeepThink, Word};
        for (request, mode) in [
            (Word(None), Some(Mode::React)),
            (Word(Some("react")), Some(Mode::React)),
            (Word(Some("plan_solve")), Some(Mode::PlanSolve)),
            (Word(Some("")), None),
            (AgentType(None), Some(Mode::React)),
            (AgentType(Some(5)), Some(Mode::React)),
            (AgentType(Some(3)), Some(Mode::PlanSolve)),
            (AgentType(Some(-3)), None),
            (DeepThink(false), Some(Mode::React)),
            (DeepThink(true), Some(Mode::PlanSolve)),
        ] {
            assert_eq!(find_mode(request), mode, "{request:?}");
            assert!(MODES.iter().filter(|support| support.supports(request)).count() <= 1);
        }
    }
}
