//! Output limits accepted by providers, for models with a configured limit that is too high.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Tokens of output by the models' names in the settings.
#[derive(Debug, Default)]
pub(crate) struct OutputLimits(Mutex<BTreeMap<String, u32>>);

impl OutputLimits {
    /// Returns the limit to send for a model: the configured limit, or less after a rejection.
    pub(crate) fn cap(&self, model: &str, configured_limit: u32) -> u32 {
        let limits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        limits.get(model).map_or(configured_limit, |limit| configured_limit.min(*limit))
    }

    /// Stores a limit accepted by the provider.
    pub(crate) fn remember(&self, model: &str, limit: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned(), limit);
    }
}
