//! The end of a process that is asked to end: its drivers hand their runs over first, which is no crash.

use std::sync::Arc;

use tokio::sync::watch;

/// A process's wish to end, and the drivers in it that have not handed over. All clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    requested: Arc<watch::Sender<bool>>,
    drivers: Arc<watch::Sender<usize>>,
}

/// A driver at work, until this is dropped.
#[derive(Debug)]
pub(crate) struct ActiveDriver(Arc<watch::Sender<usize>>);

impl Drop for ActiveDriver {
    fn drop(&mut self) {
        self.0.send_modify(|drivers| *drivers = drivers.saturating_sub(1));
    }
}

impl Shutdown {
    /// Has every driver hand over as soon as it can: what may be repeated is cancelled, the rest is waited for.
    pub fn request(&self) {
        self.requested.send_replace(true);
    }

    /// Returns true if the process is to end.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.requested.borrow()
    }

    /// Waits until the process is to end.
    pub(crate) async fn wait_requested(&self) {
        // The sender is as old as this value.
        let mut requested = self.requested.subscribe();
        let _open = requested.wait_for(|requested| *requested).await;
    }

    /// Waits until no driver is at work.
    pub async fn wait_until_idle(&self) {
        let mut drivers = self.drivers.subscribe();
        let _open = drivers.wait_for(|drivers| *drivers == 0).await;
    }

    /// Counts a driver, before it takes a lease.
    pub(crate) fn register_driver(&self) -> ActiveDriver {
        self.drivers.send_modify(|drivers| *drivers += 1);
        ActiveDriver(Arc::clone(&self.drivers))
    }
}
