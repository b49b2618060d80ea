//! Samples of tool calls in memory.

use djinn_runtime::port::StoreError;
use djinn_runtime::port::call_history::CallSample;
use djinn_runtime::port::call_history::{CallHistory, KEPT_SAMPLES, ToolKey};

use super::{MemoryStore, OpKind, State};

impl CallHistory for MemoryStore {
    async fn call_samples(&self, tool: &ToolKey) -> Result<Vec<CallSample>, StoreError> {
        let act = |state: &mut State| Ok(state.calls.get(tool).cloned().unwrap_or_default());
        self.perform(OpKind::CallSamples, None, None, act).await
    }

    async fn add_call_samples(
        &self,
        tool: &ToolKey,
        samples: &[CallSample],
    ) -> Result<(), StoreError> {
        let act = |state: &mut State| {
            let kept = state.calls.entry(tool.clone()).or_default();
            kept.extend_from_slice(samples);
            let old = kept.len().saturating_sub(KEPT_SAMPLES);
            kept.drain(..old);
            Ok(())
        };
        self.perform(OpKind::AddCallSamples, None, None, act).await
    }
}
