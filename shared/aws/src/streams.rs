//! Streams of a user, counted if their number is limited.

use djinn_core::id::RunId;
use djinn_runtime::port::stream::{StreamPermit, Streams};
use djinn_runtime::port::{StoreError, UserKey};

use crate::item::permits::{PermitsItem, permit_name, streams_key};
use crate::store::AwsStore;

/// Retention in seconds of the permits after the last permit's end.
const RETENTION_S: i64 = 60 * 60;

impl Streams for AwsStore {
    async fn acquire_stream(
        &self,
        user: &UserKey,
        run: &RunId,
        word: &str,
        most: u32,
        until_ms: i64,
    ) -> Result<Option<StreamPermit>, StoreError> {
        let until_s = until_ms.max(0).div_euclid(1_000);
        let name = permit_name(until_s, &format!("{run}.{word}"));
        let streams = streams_key(user);
        let expires_s = until_s.saturating_add(RETENTION_S);
        let mut has_permit = self.acquire_permit(&streams, &name, most, expires_s).await?;
        if !has_permit && let Some(oldest) = oldest_permit(run, &self.read_streams(user).await?) {
            self.release_permits(&streams, vec![oldest]).await?;
            has_permit = self.acquire_permit(&streams, &name, most, expires_s).await?;
        }
        Ok(has_permit.then(|| StreamPermit { user: user.clone(), name }))
    }

    async fn has_stream(&self, permit: &StreamPermit) -> Result<bool, StoreError> {
        Ok(self.read_streams(&permit.user).await?.permits.contains(&permit.name))
    }

    async fn release_stream(&self, permit: &StreamPermit) -> Result<(), StoreError> {
        self.release_permits(&streams_key(&permit.user), vec![permit.name.clone()]).await
    }
}

impl AwsStore {
    async fn read_streams(&self, user: &UserKey) -> Result<PermitsItem, StoreError> {
        let item = self.get_item(streams_key(user)).await?;
        Ok(item.as_ref().map(PermitsItem::from_item).transpose()?.unwrap_or_default())
    }
}

/// Returns the permit with the earliest end among the run's streams.
fn oldest_permit(run: &RunId, permits_item: &PermitsItem) -> Option<String> {
    let shows_it = |permit: &&String| permit.split('.').nth(1) == Some(run.as_str());
    permits_item.permits.iter().find(shows_it).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;

    #[test]
    fn a_permit_is_found_by_the_run_that_is_shown() {
        let ours = sample::run_id();
        let other = format!("run_{}", "1".repeat(32));
        let other = RunId::new(other).unwrap();
        let named = |until_s, run: &RunId| permit_name(until_s, &format!("{run}.w"));
        let permits = [named(101, &ours), named(100, &ours), named(99, &other)].into();
        let taken = PermitsItem { permits };
        assert_eq!(oldest_permit(&ours, &taken), Some(named(100, &ours)));
        assert_eq!(oldest_permit(&ours, &PermitsItem::default()), None);
        assert_eq!(taken.expired_permits(100).len(), 2);
    }
}
