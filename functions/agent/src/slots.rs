//! Limits the number of streams per process.
//!
//! On Lambda, an environment handles one request at a time, so the slot is always free. The limit is for
//! processes with many requests.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_runtime::port::clock::Clock;
use djinn_settings::table::agent::{STREAM_QUEUE, STREAM_SLOTS};
use djinn_settings::{InvalidSetting, VarLookup};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum wait of a request for a slot.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The limits on a process's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Maximum number of parallel streams, 1-100 000, default 1 024.
    pub slots: u32,
    /// Maximum number of requests waiting for a slot, 0-100 000, default 16; more are rejected at once.
    pub queue: u32,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self { slots: 1_024, queue: 16 }
    }
}

impl StreamLimits {
    /// Reads `DJINN_STREAM_SLOTS` and `DJINN_STREAM_QUEUE`.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] with the name of the invalid variable.
    pub fn from_vars(var: VarLookup<'_>) -> Result<Self, InvalidSetting> {
        Ok(Self { slots: STREAM_SLOTS.read_number(var)?, queue: STREAM_QUEUE.read_number(var)? })
    }
}

/// The slots of a process.
#[derive(Debug)]
pub(crate) struct StreamSlots {
    limits: StreamLimits,
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A slot. Dropping the value frees the slot.
#[derive(Debug)]
pub(crate) struct StreamSlot(
    #[allow(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit,
);

impl StreamSlots {
    pub(crate) fn new(limits: StreamLimits) -> Self {
        let free = Arc::new(Semaphore::new(limits.slots as usize));
        Self { limits, free, waiting: AtomicUsize::new(0) }
    }

    /// Takes a slot, or waits in the queue if the queue has room. Slots are assigned in the order of arrival.
    /// Clients receive nothing while waiting.
    ///
    /// # Errors
    /// Returns `too_many_streams` after five seconds, or at once if the queue is full.
    pub(crate) async fn acquire(&self, clock: &impl Clock) -> Result<StreamSlot, Failure> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(StreamSlot(permit));
        }
        let most = self.limits.queue as usize;
        let one_more = |waiting| (waiting < most).then_some(waiting + 1);
        if self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_err() {
            return Err(self.too_many_streams());
        }
        let _place = QueuePlace(&self.waiting);
        let wait = async {
            match Arc::clone(&self.free).acquire_owned().await {
                Ok(permit) => StreamSlot(permit),
                // The semaphore is never closed.
                Err(_) => pending().await,
            }
        };
        tokio::select! {
            biased;
            slot = wait => Ok(slot),
            () = clock.sleep(MAX_WAIT) => Err(self.too_many_streams()),
        }
    }

    fn too_many_streams(&self) -> Failure {
        Failure::new(ErrorCode::TooManyStreams, self.limits.slots.to_string())
    }
}

/// A place in the queue.
struct QueuePlace<'a>(&'a AtomicUsize);

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_testkit::clock::ManualClock;
    use futures::FutureExt as _;

    fn slots(slots: u32, queue: u32) -> StreamSlots {
        StreamSlots::new(StreamLimits { slots, queue })
    }

    #[tokio::test]
    async fn whoever_waits_gets_the_slot_that_becomes_free_in_turn() {
        let slots = slots(1, 2);
        let clock = ManualClock::new();
        let first = slots.acquire(&clock).await.unwrap();
        let mut second = Box::pin(slots.acquire(&clock));
        let mut third = Box::pin(slots.acquire(&clock));
        assert!((&mut second).now_or_never().is_none() && (&mut third).now_or_never().is_none());
        drop(first);
        assert!((&mut third).now_or_never().is_none(), "it jumped the queue");
        let second = second.now_or_never().unwrap().unwrap();
        drop(second);
        assert!(third.now_or_never().unwrap().is_ok());
    }

    #[tokio::test]
    async fn five_seconds_are_waited_and_no_more_than_the_queue_wait() {
        let slots = slots(2, 1);
        let clock = ManualClock::new();
        let taken = [slots.acquire(&clock).await.unwrap(), slots.acquire(&clock).await.unwrap()];
        let mut waiting = Box::pin(slots.acquire(&clock));
        assert!((&mut waiting).now_or_never().is_none());
        let refused = slots.acquire(&clock).now_or_never().unwrap().unwrap_err();
        assert_eq!(refused, Failure::new(ErrorCode::TooManyStreams, "2"));
        assert_eq!(djinn_protocol::refusal::retry_after_s(&refused), Some(5));
        clock.advance(MAX_WAIT - Duration::from_millis(1));
        assert!((&mut waiting).now_or_never().is_none());
        clock.advance(Duration::from_millis(1));
        assert_eq!(waiting.now_or_never().unwrap().unwrap_err(), refused);
        // Its place among those who wait is free, and so is a slot whose response has ended.
        assert!(slots.acquire(&clock).now_or_never().is_none());
        drop(taken);
        assert!(slots.acquire(&clock).now_or_never().unwrap().is_ok());
    }

    #[tokio::test]
    async fn whoever_goes_away_leaves_the_queue_to_others() {
        let slots = slots(1, 1);
        let clock = ManualClock::new();
        let taken = slots.acquire(&clock).await.unwrap();
        let mut gone = Box::pin(slots.acquire(&clock));
        assert!((&mut gone).now_or_never().is_none());
        drop(gone);
        let mut waiting = Box::pin(slots.acquire(&clock));
        assert!((&mut waiting).now_or_never().is_none());
        drop(taken);
        assert!(waiting.now_or_never().unwrap().is_ok());
    }

    #[test]
    fn slots_and_queue_are_settings() {
        let set = |name: &'static str, value: &'static str| {
            StreamLimits::from_vars(&move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert_eq!(set("", ""), Ok(StreamLimits { slots: 1_024, queue: 16 }));
        assert_eq!(set("DJINN_STREAM_SLOTS", "16").map(|limits| limits.slots), Ok(16));
        assert_eq!(set("DJINN_STREAM_QUEUE", "0").map(|limits| limits.queue), Ok(0));
        let error = set("DJINN_STREAM_SLOTS", "0").unwrap_err().to_string();
        assert_eq!(error, "DJINN_STREAM_SLOTS must be a whole number from 1 to 100000, got `0`");
    }
}
