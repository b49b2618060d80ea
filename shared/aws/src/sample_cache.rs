//! What this process last saw of the calls of tools.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use djinn_runtime::port::call_history::CallSample;
use djinn_runtime::port::call_history::ToolKey;

/// How long what was seen is good enough. Estimates do not change within minutes.
const CACHE_TTL: Duration = Duration::from_secs(5 * 60);

/// Tools that are remembered; with more, all are forgotten.
const MAX_TOOLS: usize = 1_000;

/// What was seen of tools, and when.
type CachedSamples = BTreeMap<ToolKey, (Instant, Vec<CallSample>)>;

/// The samples that this process has seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct SampleCache(Arc<Mutex<CachedSamples>>);

impl SampleCache {
    fn lock_samples(&self) -> MutexGuard<'_, CachedSamples> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get_fresh(&self, tool: &ToolKey) -> Option<Vec<CallSample>> {
        let seen = self.lock_samples();
        let (at, samples) = seen.get(tool)?;
        (at.elapsed() < CACHE_TTL).then(|| samples.clone())
    }

    pub(crate) fn insert_samples(&self, tool: &ToolKey, samples: &[CallSample]) {
        let mut seen = self.lock_samples();
        if seen.len() >= MAX_TOOLS {
            seen.clear();
        }
        seen.insert(tool.clone(), (Instant::now(), samples.to_vec()));
    }
}
