//! Time as a process experiences it: while the process stands still, no time passes.
//!
//! A process stands still when a signal stops it, when Lambda freezes its environment between two
//! invocations, and when the laptop sleeps. The machine's clocks continue, or jump, and nothing reports this
//! afterwards. So time is counted in ticks, each with an ordinary wait. A tick of a second that took twenty
//! counts as a second, and shows that the process stood still.
//!
//! This has two consequences. No timeout applies to work that did not have its time. And a failure meanwhile
//! may have had no other cause, since the other ends of connections do not stand still: the work is retried
//! if a retry does no harm.

use std::time::Duration;

use crate::port::clock::Clock;

/// The interval of ticks.
const TICK: Duration = Duration::from_secs(1);

/// The delay of a tick that proves that the process stood still. A busy process is late by less.
const LATE_MS: i64 = 2_000;

/// The time of a piece of work.
#[derive(Debug)]
pub struct AwakeTime<'a, C> {
    clock: &'a C,
    /// The expected time of the next tick, in Unix milliseconds.
    tick_at_ms: i64,
    was_suspended: bool,
}

impl<'a, C: Clock> AwakeTime<'a, C> {
    /// Starts the time now.
    #[must_use]
    pub fn new(clock: &'a C) -> Self {
        Self { clock, tick_at_ms: clock.now_ms(), was_suspended: false }
    }

    /// Runs the work to its end and returns its result.
    pub async fn run_to_end<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            if let Some(done) = self.run_within(Duration::MAX, work.as_mut()).await {
                return done;
            }
        }
    }

    /// Returns the result of the work, or `None` if the work takes longer than `at_most`.
    pub async fn run_within<T>(
        &mut self,
        at_most: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let done = tokio::select! {
            biased;
            done = work => Some(done),
            () = self.sleep_awake(at_most) => None,
        };
        self.check_tick();
        done
    }

    /// Returns true if the process stood still since the start. Checked at each tick and at each end of work.
    #[must_use]
    pub fn was_suspended(&self) -> bool {
        self.was_suspended
    }

    /// Returns after so much awake time.
    async fn sleep_awake(&mut self, lasts: Duration) {
        let mut remaining = lasts;
        while !remaining.is_zero() {
            let tick = remaining.min(TICK);
            let tick_ms = i64::try_from(tick.as_millis()).unwrap_or(i64::MAX);
            self.tick_at_ms = self.clock.now_ms().saturating_add(tick_ms);
            self.clock.sleep(tick).await;
            self.check_tick();
            remaining = remaining.saturating_sub(tick);
        }
    }

    fn check_tick(&mut self) {
        self.was_suspended |= self.clock.now_ms().saturating_sub(self.tick_at_ms) > LATE_MS;
    }
}
