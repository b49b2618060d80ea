//! Models that failed lately. Where there is a fallback they are not asked again for a while: one that is
//! down would cost every call its time-outs, and one whose key is refused a round trip.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use djinn_core::code::Failure;
use tokio::time::Instant;

/// How long a model is not asked after it failed.
const LASTS: Duration = Duration::from_secs(60);

/// What models failed of, by their names in the settings.
#[derive(Debug, Default)]
pub(crate) struct Outages(Mutex<BTreeMap<String, (Instant, Failure)>>);

impl Outages {
    /// What a model failed of within the last minute.
    pub(crate) fn of(&self, model: &str) -> Option<Failure> {
        let outages = self.outages();
        let (since, failure) = outages.get(model)?;
        (since.elapsed() < LASTS).then(|| failure.clone())
    }

    /// Remembers what a model failed of now, or forgets it.
    pub(crate) fn set(&self, model: &str, outage: Option<Failure>) {
        let mut outages = self.outages();
        match outage {
            Some(failure) => outages.insert(model.to_owned(), (Instant::now(), failure)),
            None => outages.remove(model),
        };
    }

    fn outages(&self) -> MutexGuard<'_, BTreeMap<String, (Instant, Failure)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use djinn_core::code::ErrorCode;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_remembered_for_a_minute_or_until_the_model_answers() {
        let outages = Outages::default();
        let refused = Failure::new(ErrorCode::ModelKeyRefused, "HTTP 401");
        outages.set("main", Some(refused.clone()));
        assert_eq!((outages.of("main"), outages.of("other")), (Some(refused.clone()), None));
        tokio::time::advance(LASTS).await;
        assert_eq!(outages.of("main"), None);
        outages.set("main", Some(refused));
        outages.set("main", None);
        assert_eq!(outages.of("main"), None);
    }
}
