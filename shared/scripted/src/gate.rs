//! Holding a response until a test lets it go on.

use std::sync::Arc;

use tokio::sync::watch;

/// Holds a response before one of its chunks, so that a test decides what happens meanwhile
/// without sleeping. Clones are the same gate; dropping them does not open it.
#[derive(Debug, Clone)]
pub struct ChunkGate {
    state: Arc<watch::Sender<GateState>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct GateState {
    reached: bool,
    open: bool,
}

impl Default for ChunkGate {
    fn default() -> Self {
        Self { state: Arc::new(watch::Sender::new(GateState::default())) }
    }
}

impl ChunkGate {
    /// Lets the response go on. An open gate stays open.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Returns once a response waits here, or has: every chunk before the gate is on its way.
    pub async fn wait_until_reached(&self) {
        self.wait_for_state(|state| state.reached).await;
    }

    pub(crate) async fn pass(&self) {
        self.state.send_modify(|state| state.reached = true);
        self.wait_for_state(|state| state.open).await;
    }

    async fn wait_for_state(&self, condition: impl Fn(&GateState) -> bool) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.state.subscribe().wait_for(condition).await;
    }
}
