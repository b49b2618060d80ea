//! Time as a process has it: while it stands still, none passes.
//!
//! A process stands still when it is stopped by a signal, when Lambda freezes its environment between
//! two invocations, and when the laptop sleeps. The clocks of the machine run on, or jump, and nothing
//! tells it afterwards. So time is counted in ticks, each of which is waited for in the ordinary way: a
//! tick of a second that took twenty counts as a second, and says that the process stood still.
//!
//! Two things follow. Nobody is told that their time ran out who did not have it. And what failed
//! meanwhile may have failed of that alone, since those at the other end of a connection do not stand
//! still: it is tried again where that does no harm.

use std::time::Duration;

use crate::port::clock::Clock;

/// How often a process makes sure that it is at work.
const TICK: Duration = Duration::from_secs(1);

/// How late a tick is when the process stood still. A busy one is late by less.
const LATE_MS: i64 = 2_000;

/// The time that a piece of work has.
#[derive(Debug)]
pub struct AwakeTime<'a, C> {
    clock: &'a C,
    /// When the next tick is to come, Unix milliseconds.
    tick_at_ms: i64,
    was_suspended: bool,
}

impl<'a, C: Clock> AwakeTime<'a, C> {
    /// Time that begins now.
    #[must_use]
    pub fn new(clock: &'a C) -> Self {
        Self { clock, tick_at_ms: clock.now_ms(), was_suspended: false }
    }

    /// What comes of the work.
    pub async fn run_to_end<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            if let Some(done) = self.run_within(Duration::MAX, work.as_mut()).await {
                return done;
            }
        }
    }

    /// What comes of the work, or nothing if that takes longer.
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

    /// Whether the process stood still since this time began. Looked at whenever a tick comes and
    /// whenever work ends.
    #[must_use]
    pub fn was_suspended(&self) -> bool {
        self.was_suspended
    }

    /// Returns once so much time has passed.
    async fn sleep_awake(&mut self, lasts: Duration) {
        let mut left = lasts;
        while !left.is_zero() {
            let tick = left.min(TICK);
            let tick_ms = i64::try_from(tick.as_millis()).unwrap_or(i64::MAX);
            self.tick_at_ms = self.clock.now_ms().saturating_add(tick_ms);
            self.clock.sleep(tick).await;
            self.check_tick();
            left = left.saturating_sub(tick);
        }
    }

    fn check_tick(&mut self) {
        self.was_suspended |= self.clock.now_ms().saturating_sub(self.tick_at_ms) > LATE_MS;
    }
}
