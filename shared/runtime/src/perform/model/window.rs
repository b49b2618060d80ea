//! The input limit of a request, in tokens: from the settings, or lower after a rejection as too long.

use std::borrow::Cow;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::WindowUsage;

use super::ModelExecution;
use crate::port::model::{Model, ModelError, ModelLimits};
use crate::port::tool::AvailableTools;
use crate::render::{ContextTooLong, RenderedRequest};
use crate::world::Ports;

/// The maximum number of rejections of one call as too long. Each rejection halves the limit, so a window of
/// a million tokens shrinks to 8 000.
const MAX_REFUSALS: u32 = 8;

/// Tokens reserved for the note about omitted parts, if nothing else has room.
const NOTE_TOKENS: u64 = 256;

/// The window of the call's model, as far as known.
pub(super) struct InputWindow {
    /// The maximum tokens of the next request.
    limit: u64,
    refusals: u32,
    newest_refusal: Option<Refusal>,
}

/// A request rejected by the provider as too long.
struct Refusal {
    /// The tokens of the request, estimated rather too low than too high.
    tokens: u64,
    /// The error text of the provider.
    detail: String,
}

impl InputWindow {
    /// Returns the size of an answered request, for the journal.
    pub(super) fn to_usage(&self, tokens: u64, model: &str) -> WindowUsage {
        let learned_for = (self.refusals > 0).then(|| model.to_owned());
        WindowUsage { tokens, limit: self.limit, learned_for }
    }

    /// Raises the limit to the tokens a request needs. Returns true if this is less than the rejected size.
    fn widen_to_needed(&mut self, error: &ContextTooLong) -> bool {
        let needed_tokens = error.current + NOTE_TOKENS;
        let is_untried =
            self.newest_refusal.as_ref().is_some_and(|newest| needed_tokens < newest.tokens);
        if is_untried {
            self.limit = needed_tokens;
        }
        is_untried
    }

    /// Returns the failure of a call with nothing left to omit.
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
    /// Returns the window of the call's model: the limit of its settings, or the learned limit.
    pub(super) fn find_window(&self, limits: ModelLimits) -> InputWindow {
        let learned_limits = &self.run.spec().settings.context.learned_limits;
        let learned_limit = learned_limits.get(self.model_name()).copied().unwrap_or(u64::MAX);
        let limit = limits.max_input_tokens.min(learned_limit);
        InputWindow { limit, refusals: 0, newest_refusal: None }
    }

    /// Renders the request for a window. Widens the window if too small for the pinned parts.
    ///
    /// # Errors
    /// Returns the failure of the call if a request of this size was rejected before.
    pub(super) fn render_within(
        &self,
        tools: &AvailableTools,
        window: &mut InputWindow,
    ) -> Result<RenderedRequest, Failure> {
        let request = self.render_request(tools, window.limit);
        let request = match request {
            Err(error) if window.widen_to_needed(&error) => {
                self.render_request(tools, window.limit)
            }
            request => request,
        };
        request.map_err(|error| window.to_failure(&error))
    }

    /// Sets the limit to half of the rejected request. Returns true if the call may be tried again.
    pub(super) fn shrink_window(
        &self,
        window: &mut InputWindow,
        rendered_request: &RenderedRequest,
        error: &ModelError,
    ) -> bool {
        let tokens = self.count_request(rendered_request);
        window.limit = tokens / 2;
        window.refusals += 1;
        window.newest_refusal = Some(Refusal { tokens, detail: error.detail.clone() });
        window.refusals < MAX_REFUSALS
    }

    /// Returns the tokens of a request, without the overhead of providers.
    fn count_request(&self, rendered_request: &RenderedRequest) -> u64 {
        let count = |text: &Cow<'_, str>| self.ports.model().count_tokens(text);
        let texts: u64 = rendered_request.request.to_texts().iter().map(count).sum();
        texts + rendered_request.request.image_tokens()
    }
}
