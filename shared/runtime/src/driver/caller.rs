//! State shared by a driver and the driver of its caller in the same invocation.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use djinn_protocol::preview::Live;
use tokio::sync::mpsc;

/// The end of viewers' interest in the run, in Unix milliseconds. Shared by all drivers of a tree in one
/// invocation.
#[derive(Debug, Clone)]
pub(super) struct WatchedUntil(Arc<AtomicI64>);

impl WatchedUntil {
    pub(super) fn new(at_ms: i64) -> Self {
        Self(Arc::new(AtomicI64::new(at_ms)))
    }

    pub(super) fn at_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, at_ms: i64) {
        self.0.store(at_ms, Ordering::Relaxed);
    }
}

/// The link to the caller's driver, for a child driven in the same invocation.
#[derive(Debug, Clone)]
pub(crate) struct CallerLink {
    /// The channel for entries and previews, which are shown at once.
    pub(super) live_sender: mpsc::UnboundedSender<Live>,
    /// The time until which viewers other than the caller's client watch.
    pub(super) watched_until: WatchedUntil,
}
