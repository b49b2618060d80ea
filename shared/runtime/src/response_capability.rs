//! The human requests that a route may respond to.

use djinn_core::error_code::Failure;
use djinn_core::human::{HumanRequest, Subject};
use djinn_core::id::RunId;

/// The human requests that a route may respond to. The default grants nothing: a protocol that does not name a
/// capability cannot take a text for consent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResponseCapability {
    /// No request.
    #[default]
    Nothing,
    /// Questions of a model. Their response is information, and never consent.
    Questions,
    /// Every request.
    Everything,
}

impl ResponseCapability {
    /// Returns true if a response to requests about this subject is allowed.
    #[must_use]
    pub fn allows(self, subject: &Subject) -> bool {
        match self {
            Self::Nothing => false,
            Self::Questions => subject.is_question(),
            Self::Everything => true,
        }
    }

    /// Requires that a response to all of these requests is allowed.
    ///
    /// # Errors
    /// Returns `session_busy` with the run, because the run waits for somebody else.
    pub(crate) fn require<'a>(
        self,
        run: &RunId,
        requests: impl IntoIterator<Item = &'a HumanRequest>,
    ) -> Result<(), Failure> {
        if requests.into_iter().all(|request| self.allows(&request.subject)) {
            Ok(())
        } else {
            Err(Failure::session_busy(run))
        }
    }
}

#[cfg(test)]
mod tests {
    use djinn_core::error_code::ErrorCode;
    use serde_json::json;

    use super::*;

    /// A subject of every kind; the first is the only question.
    fn subjects() -> Vec<Subject> {
        let interrupt = json!({"code": "20006", "message": "No credits."});
        let of = |subject| serde_json::from_value(subject).unwrap();
        vec![
            of(json!({"about": "call", "call": "t1.c1", "tool": "ask_user", "arguments": {}})),
            of(json!({"about": "call", "call": "t1.c1", "tool": "file_tool", "arguments": {}})),
            of(json!({"about": "call", "call": "t1.c1", "tool": "planning", "arguments": {}})),
            of(json!({
                "about": "call_interrupt", "call": "t1.c1", "tool": "send", "arguments": {},
                "interrupt": interrupt,
            })),
            of(json!({"about": "model_interrupt", "message": "t1", "interrupt": interrupt})),
            of(json!({"about": "step_review", "step": 1, "details": "Look."})),
            of(json!({"about": "result_review", "step": 1, "details": "Look.", "text": "Seen."})),
            Subject::BudgetExtension {
                used_up: ErrorCode::TokensUsedUp.into(),
                offer: serde_json::from_value(json!({"tokens": 1})).unwrap(),
            },
        ]
    }

    #[test]
    fn default_allows_nothing_and_questions_are_no_consent() {
        let allowed = |capability: ResponseCapability| -> Vec<bool> {
            subjects().iter().map(|subject| capability.allows(subject)).collect()
        };
        let [nothing, everything] = [vec![false; 8], vec![true; 8]];
        let questions = (0..8).map(|nth| nth == 0).collect::<Vec<_>>();
        assert_eq!(allowed(ResponseCapability::default()), nothing);
        assert_eq!(allowed(ResponseCapability::Questions), questions);
        assert_eq!(allowed(ResponseCapability::Everything), everything);
    }
}
