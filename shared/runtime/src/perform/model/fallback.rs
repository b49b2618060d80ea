//! What becomes of a call that a model cannot answer: its fallback makes it, a person sees to it, or it
//! has failed.

use djinn_core::effect::Fallback;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::{Input, InterruptTarget, ModelChanged};
use djinn_core::settings::ModelChoice;

use super::ModelExecution;
use crate::port::model::{Model, ModelError, to_interrupt};
use crate::world::Ports;

/// What is told of a model that is left out because a call failed just now. How that one was answered stays
/// with it.
const RECENT_OUTAGE: &str = "another call failed so within the last minute";

impl<P: Ports> ModelExecution<P> {
    /// The name of the model that makes the call.
    pub(super) fn model_name(&self) -> &str {
        self.ports.model().name(self.call.role, self.call.model_choice()).unwrap_or_default()
    }

    /// Leaves the call to the fallback at once if the role's own model failed just now. After a person
    /// has seen to it, it is asked again.
    pub(super) fn skip_primary(&self) -> Option<Input> {
        let is_again = self.call.interrupts > 0;
        let outage = self.ports.model().outage(self.call.role).filter(|_| !is_again)?;
        self.fall_back(Failure::new(outage, RECENT_OUTAGE))
    }

    /// The role's own model answers.
    pub(super) fn clear_outage(&self) {
        if self.call.model_choice() == ModelChoice::Primary {
            self.ports.model().set_outage(self.call.role, None);
        }
    }

    /// What ends the call, or this model's part in it.
    pub(super) fn fall_back_or_give_up(&self, error: &ModelError) -> Input {
        let failure = error.to_failure();
        if error.kind.allows_fallback()
            && let Some(changed) = self.fall_back(failure.clone())
        {
            self.ports.model().set_outage(self.call.role, Some(error.kind.error_code()));
            return changed;
        }
        self.give_up(failure)
    }

    /// What ends the call: a person may be able to mend it.
    pub(super) fn give_up(&self, failure: Failure) -> Input {
        let failure = match &self.call.fallback {
            None => failure,
            Some(fallback) => {
                // Next time the role's own model is the better choice again.
                self.ports.model().set_outage(self.call.role, None);
                combined_failure(fallback, &failure)
            }
        };
        match to_interrupt(&failure, self.run.spec().settings.language) {
            Some(interrupt) if !self.is_optional() => {
                let target = InterruptTarget::Message(self.call.message.clone());
                Input::Interrupted { target, interrupt }
            }
            _ => self.failure_input(failure),
        }
    }

    /// Returns true if the run goes on without the call: then nobody waits for its provider, and nobody is asked.
    pub(super) fn is_optional(&self) -> bool {
        self.call.message.is_compaction() || self.call.message.is_employees()
    }

    /// Leaves the call to the fallback, if there is one and it has not had it yet.
    fn fall_back(&self, failure: Failure) -> Option<Input> {
        if self.call.fallback.is_some() {
            return None;
        }
        let (role, message) = (self.call.role, self.call.message.clone());
        let to = self.ports.model().name(role, ModelChoice::Fallback)?.to_owned();
        let from = self.model_name().to_owned();
        let code = failure.code.as_str();
        tracing::warn!(call = %message, role = role.as_str(), from, to, code, "model changed");
        Some(Input::ModelChanged(Box::new(ModelChanged { message, from, to, failure })))
    }
}

/// How a call failed that neither model could make. What is wrong with the role's own model leads, since
/// the fallback only stands in for it; but an account that somebody can top up goes first.
fn combined_failure(fallback: &Fallback, last: &Failure) -> Failure {
    let Fallback { model, failure: first } = fallback;
    let can_be_mended = |failure: &Failure| failure.code == ErrorCode::ModelNoBalance;
    if can_be_mended(last) && !can_be_mended(first) {
        let detail = format!("{} (the fallback {model}; before: {})", last.detail, first.detail);
        return Failure::new(last.code, detail);
    }
    Failure::new(first.code, format!("{} (the fallback {model}: {})", first.detail, last.detail))
}
