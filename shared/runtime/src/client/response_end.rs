//! The end of a response before the end of its run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A signal from outside that ends a response with instructions to resume.
#[derive(Debug, Clone, Default)]
pub struct HandOverSignal(Arc<AtomicBool>);

impl HandOverSignal {
    /// Ends the response with instructions to resume, unless the response's own process drives the run.
    pub fn request_hand_over(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The end of a response: by a signal, or at a time.
#[derive(Debug, Default)]
pub(super) struct ResponseEnd {
    pub(super) signal: HandOverSignal,
    /// The response's own end, Unix milliseconds.
    pub(super) at_ms: Option<i64>,
}

impl ResponseEnd {
    pub(super) fn is_requested(&self, now_ms: i64) -> bool {
        self.signal.0.load(Ordering::Relaxed) || self.at_ms.is_some_and(|at_ms| at_ms <= now_ms)
    }
}
