//! The shutdown of a process: its drivers hand over their runs first, so that no run crashes.

use std::sync::Arc;

use tokio::sync::watch;

/// The shutdown request of a process, and its active drivers. All clones share this state.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    requested: Arc<watch::Sender<bool>>,
    drivers: Arc<watch::Sender<usize>>,
}

/// A driver at work, until dropped.
#[derive(Debug)]
pub(crate) struct ActiveDriver(Arc<watch::Sender<usize>>);

impl Drop for ActiveDriver {
    fn drop(&mut self) {
        self.0.send_modify(|drivers| *drivers = drivers.saturating_sub(1));
    }
}

impl Shutdown {
    /// Requests that every driver hand over: repeatable effects are cancelled, the others are awaited.
    pub fn request(&self) {
        self.requested.send_replace(true);
    }

    /// Returns true if shutdown was requested.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.requested.borrow()
    }

    /// Returns when shutdown is requested.
    pub(crate) async fn wait_requested(&self) {
        // The sender lives as long as this value.
        let mut receiver = self.requested.subscribe();
        let _open = receiver.wait_for(|is_requested| *is_requested).await;
    }

    /// Returns when no driver is at work.
    pub async fn wait_until_idle(&self) {
        let mut drivers = self.drivers.subscribe();
        let _open = drivers.wait_for(|drivers| *drivers == 0).await;
    }

    /// Counts a driver; to be called before the driver takes a lease.
    pub(crate) fn register_driver(&self) -> ActiveDriver {
        self.drivers.send_modify(|drivers| *drivers += 1);
        ActiveDriver(Arc::clone(&self.drivers))
    }
}
