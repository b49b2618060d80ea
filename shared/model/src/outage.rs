//! Models with a recent failure. With a fallback, calls skip these models for a while: an unreachable model
//! would cost every call its timeouts, and a rejected key a round trip.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use djinn_core::error_code::ErrorCode;
use tokio::time::Instant;

/// Time without calls to a model after a failure.
const OUTAGE_DURATION: Duration = Duration::from_secs(60);

/// Recent failures by model name in the settings. The message is dropped: the next call may belong to another
/// tenant.
#[derive(Debug, Default)]
pub(crate) struct Outages(Mutex<BTreeMap<String, (Instant, ErrorCode)>>);

impl Outages {
    /// Returns the model's failure within the last minute.
    pub(crate) fn of(&self, model: &str) -> Option<ErrorCode> {
        let outages = self.lock_outages();
        let (since, code) = outages.get(model)?;
        (since.elapsed() < OUTAGE_DURATION).then_some(*code)
    }

    /// Records a model's failure, or clears the last failure.
    pub(crate) fn set(&self, model: &str, outage: Option<ErrorCode>) {
        let mut outages = self.lock_outages();
        match outage {
            Some(code) => outages.insert(model.to_owned(), (Instant::now(), code)),
            None => outages.remove(model),
        };
    }

    fn lock_outages(&self) -> MutexGuard<'_, BTreeMap<String, (Instant, ErrorCode)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_remembered_for_a_minute_or_until_the_model_answers() {
        let outages = Outages::default();
        let refused = ErrorCode::ModelKeyRefused;
        outages.set("main", Some(refused));
        assert_eq!((outages.of("main"), outages.of("other")), (Some(refused), None));
        tokio::time::advance(OUTAGE_DURATION).await;
        assert_eq!(outages.of("main"), None);
        outages.set("main", Some(refused));
        outages.set("main", None);
        assert_eq!(outages.of("main"), None);
    }
}
