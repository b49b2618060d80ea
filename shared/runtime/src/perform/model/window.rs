//! The tokens that a request may have: as many as the settings say, or fewer once the provider has refused
//! a request as too long.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::WindowUsage;

use super::ModelExecution;
use crate::port::model::{Model, ModelError, ModelLimits};
use crate::port::tool::AvailableTools;
use crate::render::{ContextTooLong, RenderedRequest};
use crate::world::Ports;

/// Requests of one call that may be refused as too long. Each halves the next, so that a window of a million
/// tokens comes down to 8 000.
const MAX_REFUSALS: u32 = 8;

/// Tokens left for the note on what was left out, where nothing else has room.
const NOTE_TOKENS: u64 = 256;

/// The window of the model that makes a call, as far as it is known.
pub(super) struct InputWindow {
    /// Tokens that the next request may have.
    limit: u64,
    refusals: u32,
    newest_refusal: Option<Refusal>,
}

/// A request that the provider refused as too long.
struct Refusal {
    /// Its tokens as we count them, rather too few than too many.
    tokens: u64,
    /// The provider's own words about it.
    detail: String,
}

impl InputWindow {
    /// The size of a request that was answered, for the journal.
    pub(super) fn to_usage(&self, tokens: u64, model: &str) -> WindowUsage {
        let learned_for = (self.refusals > 0).then(|| model.to_owned());
        WindowUsage { tokens, limit: self.limit, learned_for }
    }

    /// Makes room for what a request cannot do without. Returns whether that is less than was refused.
    fn widen_to_needed(&mut self, error: &ContextTooLong) -> bool {
        let needed = error.current + NOTE_TOKENS;
        let is_untried = self.newest_refusal.as_ref().is_some_and(|newest| needed < newest.tokens);
        if is_untried {
            self.limit = needed;
        }
        is_untried
    }

    /// The failure of a call of which nothing more can be left out.
    fn to_failure(&self, error: &ContextTooLong) -> Failure {
        let detail = match &self.newest_refusal {
            None => error.to_string(),
            Some(Refusal { tokens, detail }) => format!(
                "{detail} (the request has {tokens} tokens, of which {} cannot be left out; the largest part is {})",
                error.current, error.largest_part
            ),
        };
        Failure::new(ErrorCode::ContextTooLong, detail)
    }
}

impl<P: Ports> ModelExecution<P> {
    /// The window of the model that makes the call: what its settings say, or what the run has learned.
    pub(super) fn find_window(&self, limits: ModelLimits) -> InputWindow {
        let learned = &self.run.spec().settings.context.learned_limits;
        let learned = learned.get(self.model_name()).copied().unwrap_or(u64::MAX);
        let limit = limits.max_input_tokens.min(learned);
        InputWindow { limit, refusals: 0, newest_refusal: None }
    }

    /// Renders the request for a window, which is widened if it is too small for what the request needs.
    ///
    /// # Errors
    /// The failure of the call, if as much was refused before.
    pub(super) fn render_within(
        &self,
        tools: &AvailableTools,
        window: &mut InputWindow,
    ) -> Result<RenderedRequest, Failure> {
        let rendered = self.render_request(tools, window.limit);
        let rendered = match rendered {
            Err(error) if window.widen_to_needed(&error) => {
                self.render_request(tools, window.limit)
            }
            rendered => rendered,
        };
        rendered.map_err(|error| window.to_failure(&error))
    }

    /// Halves the window after a request was refused as too long: half of what that request had. Returns
    /// whether the call may be tried again.
    pub(super) fn shrink_window(
        &self,
        window: &mut InputWindow,
        rendered: &RenderedRequest,
        error: &ModelError,
    ) -> bool {
        let tokens = self.count_request(rendered);
        window.limit = tokens / 2;
        window.refusals += 1;
        window.newest_refusal = Some(Refusal { tokens, detail: error.detail.clone() });
        window.refusals < MAX_REFUSALS
    }

    /// Tokens of a request, without what providers add around its texts.
    fn count_request(&self, rendered: &RenderedRequest) -> u64 {
        let (role, choice) = (self.call.role, self.call.model_choice());
        let count = |text: &String| self.ports.model().count_tokens(role, choice, text);
        let texts: u64 = rendered.request.to_texts().iter().map(count).sum();
        texts + rendered.request.image_tokens()
    }
}
