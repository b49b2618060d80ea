//! The handling of a call its model cannot answer: the fallback takes over, a user is asked, or the call
//! fails.

use djinn_core::effect::Fallback;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::{Input, InterruptTarget, ModelChanged};
use djinn_core::settings::ModelChoice;

use super::ModelExecution;
use crate::port::model::{Model, ModelError, to_interrupt};
use crate::world::Ports;

/// The failure detail if a model is skipped after a recent outage. The provider's answer to the earlier call
/// stays with the earlier call.
const RECENT_OUTAGE: &str = "another call failed so within the last minute";

impl<P: Ports> ModelExecution<P> {
    /// Returns the name of the model for the call.
    pub(super) fn model_name(&self) -> &str {
        self.ports.model().name(self.call.role, self.call.model_choice()).unwrap_or_default()
    }

    /// Skips to the fallback at once if the role's own model failed within the last minute. After a user
    /// responded to an interrupt, the role's own model is tried again.
    pub(super) fn skip_primary(&self) -> Option<Input> {
        let is_again = self.call.interrupts > 0;
        let outage = self.ports.model().outage(self.call.role).filter(|_| !is_again)?;
        self.fall_back(Failure::new(outage, RECENT_OUTAGE))
    }

    /// Ends the outage: the role's own model replied.
    pub(super) fn clear_outage(&self) {
        if self.call.model_choice() == ModelChoice::Primary {
            self.ports.model().set_outage(self.call.role, None);
        }
    }

    /// Returns the input for a permanent error: a change to the fallback, or the end of the call.
    pub(super) fn fall_back_or_give_up(&self, error: &ModelError) -> Input {
        let failure = error.to_failure();
        if error.kind.allows_fallback()
            && let Some(input) = self.fall_back(failure.clone())
        {
            self.ports.model().set_outage(self.call.role, Some(error.kind.error_code()));
            return input;
        }
        self.give_up(failure)
    }

    /// Returns the input for the end of the call: an interrupt if a user can help, otherwise a failure.
    pub(super) fn give_up(&self, failure: Failure) -> Input {
        let failure = match &self.call.fallback {
            None => failure,
            Some(fallback) => {
                // The next call should try the role's own model again.
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

    /// Returns true if the run continues without the call. An optional call never waits for its provider, and
    /// asks no user.
    pub(super) fn is_optional(&self) -> bool {
        self.call.message.is_compaction() || self.call.message.is_employees()
    }

    /// Changes to the fallback, if configured and not yet tried.
    fn fall_back(&self, failure: Failure) -> Option<Input> {
        if self.call.fallback.is_some() {
            return None;
        }
        let role = self.call.role;
        let message = self.call.message.clone();
        let to = self.ports.model().name(role, ModelChoice::Fallback)?.to_owned();
        let from = self.model_name().to_owned();
        let code = failure.code.as_str();
        tracing::warn!(call = %message, role = role.as_str(), from, to, code, "model changed");
        Some(Input::ModelChanged(Box::new(ModelChanged { message, from, to, failure })))
    }
}

/// Combines the failures of both models. The failure of the role's own model comes first. An account without
/// balance leads instead, since a user can top up the account.
fn combined_failure(fallback: &Fallback, last: &Failure) -> Failure {
    let Fallback { model, failure: first } = fallback;
    let can_be_mended = |failure: &Failure| failure.code == ErrorCode::ModelNoBalance;
    if can_be_mended(last) && !can_be_mended(first) {
        let detail = format!("{} (the fallback {model}; before: {})", last.detail, first.detail);
        return Failure::new(last.code, detail);
    }
    Failure::new(first.code, format!("{} (the fallback {model}: {})", first.detail, last.detail))
}
