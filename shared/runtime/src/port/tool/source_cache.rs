//! What a source answered, for a while.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Tool;
use super::source::{ToolAudience, ToolSource};
use crate::port::clock::{Clock, elapsed_ms};

/// How long a source may take to answer.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The audiences whose answers are kept; of more, the one that was asked for longest ago is forgotten.
const MAX_AUDIENCES: usize = 256;

/// A source with its last answers.
pub(super) struct SourceCache {
    source: Arc<dyn ToolSource>,
    answers: Mutex<BTreeMap<ToolAudience, Arc<AudienceCache>>>,
    /// The answer of a source that offers everybody the same.
    common: Option<Arc<AudienceCache>>,
}

/// The last answer to one audience. Who finds it too old asks, while others that want it wait.
#[derive(Default)]
struct AudienceCache {
    /// When somebody last wanted it, Unix milliseconds.
    wanted_at_ms: AtomicI64,
    answer: tokio::sync::Mutex<LastAnswer>,
}

#[derive(Default)]
struct LastAnswer {
    /// When the source was last asked, Unix milliseconds.
    asked_at_ms: Option<i64>,
    /// What it answered when it last did.
    tools: Option<Arc<[Arc<dyn Tool>]>>,
}

impl SourceCache {
    pub(super) fn new(source: Arc<dyn ToolSource>) -> Self {
        let common = source.is_same_for_all().then(Arc::default);
        Self { source, answers: Mutex::default(), common }
    }

    pub(super) fn source(&self) -> &Arc<dyn ToolSource> {
        &self.source
    }

    /// The tools of an audience, as they were within `fresh` or when the source last answered. `None` if it
    /// never did.
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
        if !last.asked_at_ms.is_some_and(is_fresh) {
            let answer = tokio::select! {
                biased;
                answer = self.source.list_tools(audience) => answer.map_err(|error| error.to_string()),
                () = clock.sleep(MAX_WAIT) => Err("no answer in time".to_owned()),
            };
            last.asked_at_ms = Some(clock.now_ms());
            match answer {
                Ok(tools) => last.tools = Some(tools.into()),
                Err(error) => {
                    let (source, has_last) = (self.source.name(), last.tools.is_some());
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
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MAX_AUDIENCES && !answers.contains_key(audience) {
            let wanted_at_ms = |cache: &AudienceCache| cache.wanted_at_ms.load(Ordering::Relaxed);
            let oldest = answers.iter().min_by_key(|(_, cache)| wanted_at_ms(cache));
            if let Some(oldest) = oldest.map(|(audience, _)| audience.clone()) {
                answers.remove(&oldest);
            }
        }
        let cache = answers.entry(audience.clone()).or_default();
        cache.wanted_at_ms.store(now_ms, Ordering::Relaxed);
        Arc::clone(cache)
    }
}
