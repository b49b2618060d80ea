//! A process-local cache of tool call samples.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use djinn_runtime::port::call_history::CallSample;
use djinn_runtime::port::call_history::ToolKey;

/// Lifetime of cached samples; estimates change slowly.
const CACHE_TTL: Duration = Duration::from_secs(5 * 60);

/// Maximum number of cached tools; beyond the maximum, the cache is cleared.
const MAX_TOOLS: usize = 1_000;

/// Samples by tool, with the time of the read.
type CachedSamples = BTreeMap<ToolKey, (Instant, Vec<CallSample>)>;

/// The cache of samples seen by this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct SampleCache(Arc<Mutex<CachedSamples>>);

impl SampleCache {
    fn lock_samples(&self) -> MutexGuard<'_, CachedSamples> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get_fresh(&self, tool: &ToolKey) -> Option<Vec<CallSample>> {
        let cache = self.lock_samples();
        let (at, samples) = cache.get(tool)?;
        (at.elapsed() < CACHE_TTL).then(|| samples.clone())
    }

    pub(crate) fn insert_samples(&self, tool: &ToolKey, samples: &[CallSample]) {
        let mut cache = self.lock_samples();
        if cache.len() >= MAX_TOOLS {
            cache.clear();
        }
        cache.insert(tool.clone(), (Instant::now(), samples.to_vec()));
    }
}
