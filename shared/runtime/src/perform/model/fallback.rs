//! What becomes of a call that a model cannot answer: its fallback makes it, a person sees to it, or it
//! has failed.

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::effect::Fallback;
use djinn_core::input::{Input, Interrupted, ModelChanged};
use djinn_core::settings::ModelChoice;

use super::Call;
use crate::port::Ports;
use crate::port::model::{Model, ModelError, interrupt};

/// What is told of a model that is left out because a call failed just now. How that one was answered stays
/// with it.
const LATELY: &str = "another call failed so within the last minute";

impl<P: Ports> Call<P> {
    /// The name of the model that makes the call.
    pub(super) fn model(&self) -> &str {
        self.ports.model().name(self.call.role, self.call.choice()).unwrap_or_default()
    }

    /// Leaves the call to the fallback at once if the role's own model failed just now. After a person
    /// has seen to it, it is asked again.
    pub(super) fn skip_primary(&self) -> Option<Input> {
        let is_again = self.call.round > 0;
        let outage = self.ports.model().outage(self.call.role).filter(|_| !is_again)?;
        self.fall_back(Failure::new(outage, LATELY))
    }

    /// The role's own model answers.
    pub(super) fn note_success(&self) {
        if self.call.choice() == ModelChoice::Primary {
            self.ports.model().set_outage(self.call.role, None);
        }
    }

    /// What ends the call, or this model's part in it.
    pub(super) fn ended_by(&self, error: &ModelError) -> Input {
        let failure = error.failure();
        if error.kind.allows_fallback()
            && let Some(changed) = self.fall_back(failure.clone())
        {
            self.ports.model().set_outage(self.call.role, Some(error.kind.code()));
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
                both_failed(fallback, &failure)
            }
        };
        match interrupt(&failure, self.run.asked().settings.language) {
            Some(interrupt) => {
                let of = Interrupted::Message(self.call.message.clone());
                Input::Interrupted { of, interrupt }
            }
            None => self.failed(failure),
        }
    }

    /// Leaves the call to the fallback, if there is one and it has not had it yet.
    fn fall_back(&self, failure: Failure) -> Option<Input> {
        if self.call.fallback.is_some() {
            return None;
        }
        let (role, message) = (self.call.role, self.call.message.clone());
        let to = self.ports.model().name(role, ModelChoice::Fallback)?.to_owned();
        let from = self.model().to_owned();
        let code = failure.code.as_str();
        tracing::warn!(call = %message, role = role.as_str(), from, to, code, "model changed");
        Some(Input::ModelChanged(Box::new(ModelChanged { message, from, to, failure })))
    }
}

/// How a call failed that neither model could make. What is wrong with the role's own model leads, since
/// the fallback only stands in for it; but an account that somebody can top up goes first.
fn both_failed(fallback: &Fallback, last: &Failure) -> Failure {
    let Fallback { model, because: first } = fallback;
    let can_be_mended = |failure: &Failure| failure.code == ErrorCode::ModelNoBalance;
    if can_be_mended(last) && !can_be_mended(first) {
        let detail = format!("{} (the fallback {model}; before: {})", last.detail, first.detail);
        return Failure::new(last.code, detail);
    }
    Failure::new(first.code, format!("{} (the fallback {model}: {})", first.detail, last.detail))
}
