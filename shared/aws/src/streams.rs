//! Responses that are streamed to a user, counted where their number has a bound.

use djinn_core::id::RunId;
use djinn_runtime::port::{StoreError, UserKey};

use crate::item::permits::{PermitsItem, permit_name, streams_key};
use crate::store::AwsStore;

/// Seconds that the permits are kept after the last of them is over.
const RETENTION_S: i64 = 60 * 60;

/// A permit for one of a user's streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPermit {
    user: UserKey,
    name: String,
}

impl AwsStore {
    /// Takes a permit for one more stream of a user's, of whom there may be `most`, which shows this run.
    /// `None` if all are taken, and none by a stream of the same run: the oldest of those loses its permit to
    /// the new one, whose client may be the same. A permit is free again when it is given back, and at this
    /// moment at the latest, Unix milliseconds; `word` tells it from all others.
    ///
    /// # Errors
    /// `Unavailable`, or `Unreadable`.
    pub async fn acquire_stream(
        &self,
        user: &UserKey,
        run: &RunId,
        word: &str,
        most: u32,
        until_ms: i64,
    ) -> Result<Option<StreamPermit>, StoreError> {
        let until_s = until_ms.max(0).div_euclid(1_000);
        let name = permit_name(until_s, &format!("{run}.{word}"));
        let (streams, expires_s) = (streams_key(user), until_s.saturating_add(RETENTION_S));
        let mut taken = self.acquire_permit(&streams, &name, most, expires_s).await?;
        if !taken && let Some(oldest) = oldest_permit(run, &self.read_streams(user).await?) {
            self.release_permits(&streams, vec![oldest]).await?;
            taken = self.acquire_permit(&streams, &name, most, expires_s).await?;
        }
        Ok(taken.then(|| StreamPermit { user: user.clone(), name }))
    }

    /// Whether a stream still has its permit: a newer one of the same run may have taken it.
    ///
    /// # Errors
    /// `Unavailable`, or `Unreadable`.
    pub async fn has_stream(&self, permit: &StreamPermit) -> Result<bool, StoreError> {
        Ok(self.read_streams(&permit.user).await?.permits.contains(&permit.name))
    }

    async fn read_streams(&self, user: &UserKey) -> Result<PermitsItem, StoreError> {
        let item = self.get_item(streams_key(user)).await?;
        Ok(item.as_ref().map(PermitsItem::from_item).transpose()?.unwrap_or_default())
    }

    /// Gives a permit back; one that is free already is no error.
    ///
    /// # Errors
    /// `Unavailable`: it is free when its time is over.
    pub async fn release_stream(&self, permit: &StreamPermit) -> Result<(), StoreError> {
        self.release_permits(&streams_key(&permit.user), vec![permit.name.clone()]).await
    }
}

/// Of the permits of streams that show this run, the one that is over first.
fn oldest_permit(run: &RunId, taken: &PermitsItem) -> Option<String> {
    let shows_it = |permit: &&String| permit.split('.').nth(1) == Some(run.as_str());
    taken.permits.iter().find(shows_it).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;

    #[test]
    fn a_permit_is_found_by_the_run_that_is_shown() {
        let (ours, other) = (sample::run_id(), format!("run_{}", "1".repeat(32)));
        let other = RunId::new(other).unwrap();
        let named = |until_s, run: &RunId| permit_name(until_s, &format!("{run}.w"));
        let permits = [named(101, &ours), named(100, &ours), named(99, &other)].into();
        let taken = PermitsItem { permits };
        assert_eq!(oldest_permit(&ours, &taken), Some(named(100, &ours)));
        assert_eq!(oldest_permit(&ours, &PermitsItem::default()), None);
        assert_eq!(taken.expired_permits(100).len(), 2);
    }
}
