//! What a driver shares with that of a run below which it drives itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use djinn_protocol::preview::Live;
use tokio::sync::mpsc;

/// Until when somebody watches the run, Unix milliseconds: the same for all that one invocation drives of it.
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

/// The way to the driver of the caller, for a run that is driven in the same invocation.
#[derive(Debug, Clone)]
pub(crate) struct CallerLink {
    /// Where entries and pieces of text go, at once.
    pub(super) live_sender: mpsc::UnboundedSender<Live>,
    /// Until when viewers other than the caller's client watch.
    pub(super) watched_until: WatchedUntil,
}
