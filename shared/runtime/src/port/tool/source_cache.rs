//! A cache of the sources' answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Tool;
use super::source::{ToolAudience, ToolSource};
use crate::port::clock::{Clock, elapsed_ms};

/// The timeout of a source.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The maximum number of cached audiences; above this, the least recently wanted audience is dropped.
const MAX_AUDIENCES: usize = 256;

/// A source with its last answers.
pub(super) struct SourceCache {
    source: Arc<dyn ToolSource>,
    caches: Mutex<BTreeMap<ToolAudience, Arc<AudienceCache>>>,
    /// The shared answer of a source that offers every audience the same tools.
    common: Option<Arc<AudienceCache>>,
}

/// The last answer for one audience. The first caller with an expired answer reads the source; others wait.
#[derive(Default)]
struct AudienceCache {
    /// The time of the last read of this cache, in Unix milliseconds.
    wanted_at_ms: AtomicI64,
    answer: tokio::sync::Mutex<LastAnswer>,
}

#[derive(Default)]
struct LastAnswer {
    /// The time of the last request to the source, in Unix milliseconds.
    asked_at_ms: Option<i64>,
    /// The last good answer of the source.
    tools: Option<Arc<[Arc<dyn Tool>]>>,
}

impl SourceCache {
    pub(super) fn new(source: Arc<dyn ToolSource>) -> Self {
        let common = source.is_same_for_all().then(Arc::default);
        Self { source, caches: Mutex::default(), common }
    }

    pub(super) fn source(&self) -> &Arc<dyn ToolSource> {
        &self.source
    }

    /// Returns an audience's tools, at most `fresh` old or as of the source's last good answer. `None` if the
    /// source has never answered.
    pub(super) async fn list_tools<C: Clock>(
        &self,
        clock: &C,
        fresh: Duration,
        audience: &ToolAudience,
    ) -> Option<Arc<[Arc<dyn Tool>]>> {
        let cache = self.cache_of(audience, clock.now_ms());
        let mut last = cache.answer.lock().await;
        let now_ms = clock.now_ms();
        let fresh_ms = u64::try_from(fresh.as_millis()).unwrap_or(u64::MAX);
        let is_fresh = |asked_at_ms: i64| elapsed_ms(asked_at_ms, now_ms) < fresh_ms;
        if self.source.has_cache() || !last.asked_at_ms.is_some_and(is_fresh) {
            let answer = tokio::select! {
                biased;
                answer = self.source.list_tools(audience) => answer.map_err(|error| error.to_string()),
                () = clock.sleep(MAX_WAIT) => Err("no answer in time".to_owned()),
            };
            last.asked_at_ms = Some(clock.now_ms());
            match answer {
                Ok(tools) => last.tools = Some(tools.into()),
                Err(error) => {
                    let source = self.source.name();
                    let has_last = last.tools.is_some();
                    tracing::warn!(source, has_last, error, "tools not listed");
                }
            }
        }
        last.tools.clone()
    }

    fn cache_of(&self, audience: &ToolAudience, now_ms: i64) -> Arc<AudienceCache> {
        if let Some(common) = &self.common {
            return Arc::clone(common);
        }
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        if caches.len() >= MAX_AUDIENCES && !caches.contains_key(audience) {
            let wanted_at_ms = |cache: &AudienceCache| cache.wanted_at_ms.load(Ordering::Relaxed);
            let oldest = caches.iter().min_by_key(|(_, cache)| wanted_at_ms(cache));
            if let Some(oldest) = oldest.map(|(audience, _)| audience.clone()) {
                caches.remove(&oldest);
            }
        }
        let cache = caches.entry(audience.clone()).or_default();
        cache.wanted_at_ms.store(now_ms, Ordering::Relaxed);
        Arc::clone(cache)
    }
}
