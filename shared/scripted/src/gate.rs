//! Holding a response until a test releases it.

use std::sync::Arc;

use tokio::sync::watch;

/// A gate that holds a response before one of its chunks, so a test needs no sleeps. Clones are the same
/// gate; dropping all clones does not open it.
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
    /// Opens the gate. An open gate stays open.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Waits until a response has reached the gate. All chunks before the gate have been sent by then.
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
