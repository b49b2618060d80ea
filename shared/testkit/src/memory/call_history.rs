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
            let history = state.calls.entry(tool.clone()).or_default();
            history.extend_from_slice(samples);
            let old = history.len().saturating_sub(KEPT_SAMPLES);
            history.drain(..old);
            Ok(())
        };
        self.perform(OpKind::AddCallSamples, None, None, act).await
    }
}
