//! Holding a response until a test lets it go on.

use std::sync::Arc;

use tokio::sync::watch;

/// Holds a response before one of its chunks, so that a test decides what happens meanwhile
/// without sleeping. Clones are the same gate; dropping them does not open it.
#[derive(Debug, Clone)]
pub struct Gate {
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    reached: bool,
    open: bool,
}

impl Default for Gate {
    fn default() -> Self {
        Self { state: Arc::new(watch::Sender::new(State::default())) }
    }
}

impl Gate {
    /// Lets the response go on. An open gate stays open.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Returns once a response waits here, or has: every chunk before the gate is on its way.
    pub async fn reached(&self) {
        self.until(|state| state.reached).await;
    }

    pub(crate) async fn pass(&self) {
        self.state.send_modify(|state| state.reached = true);
        self.until(|state| state.open).await;
    }

    async fn until(&self, condition: impl Fn(&State) -> bool) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.state.subscribe().wait_for(condition).await;
    }
}
