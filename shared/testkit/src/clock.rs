//! Clocks under the control of tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use djinn_runtime::port::clock::Clock;
use tokio::sync::oneshot;

use crate::point::Points;

/// The time at which tests begin: 2026-11-21, a Saturday.
pub const BEGINNING_MS: i64 = 1_795_219_200_000;

/// Tokio's own clock, for runtimes with paused time. When all tasks are idle, the time jumps to the next wake
/// time. Only for worlds without sockets.
#[derive(Debug, Clone)]
pub struct PausedClock {
    began: tokio::time::Instant,
    points: Points,
    chance: Option<Arc<Mutex<fastrand::Rng>>>,
}

impl PausedClock {
    /// Creates a clock that starts now, in a runtime with paused time.
    #[must_use]
    pub fn new() -> Self {
        Self { began: tokio::time::Instant::now(), points: Points::new(), chance: None }
    }

    /// Returns the clock of the process of `points`: it waits longer while the process is suspended.
    #[must_use]
    pub fn of(&self, points: Points) -> Self {
        Self { points, ..self.clone() }
    }

    /// Returns the clock with jitter from a seed.
    #[must_use]
    pub fn with_jitter(self, seed: u64) -> Self {
        let chance = fastrand::Rng::with_seed(seed);
        Self { chance: Some(Arc::new(Mutex::new(chance))), ..self }
    }
}

impl Default for PausedClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for PausedClock {
    fn now_ms(&self) -> i64 {
        let elapsed_ms = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        BEGINNING_MS.saturating_add(elapsed_ms)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
        self.points.wait_until_alive().await;
    }

    fn jitter(&self) -> f64 {
        let chance = self.chance.as_ref();
        chance.map_or(0.5, |chance| chance.lock().unwrap_or_else(PoisonError::into_inner).f64())
    }
}

/// A clock that only `advance` moves, for worlds with real sockets.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<Mutex<ManualState>>);

#[derive(Debug, Default)]
struct ManualState {
    passed_ms: u64,
    sleepers: BTreeMap<(u64, u64), oneshot::Sender<()>>,
    nth: u64,
}

impl ManualClock {
    /// Creates a clock at [`BEGINNING_MS`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Advances the time, and wakes all due sleepers in order.
    pub fn advance(&self, duration: Duration) {
        let sleepers = {
            let mut manual = self.lock_state();
            manual.passed_ms += u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            let next = manual.passed_ms + 1;
            let later = manual.sleepers.split_off(&(next, 0));
            std::mem::replace(&mut manual.sleepers, later)
        };
        for (_, sleeper) in sleepers {
            // The sleeper may have been dropped.
            let _ = sleeper.send(());
        }
    }

    /// Returns the number of current sleepers.
    #[must_use]
    pub fn sleeper_count(&self) -> usize {
        self.lock_state().sleepers.values().filter(|sleeper| !sleeper.is_closed()).count()
    }

    fn lock_state(&self) -> MutexGuard<'_, ManualState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        BEGINNING_MS.saturating_add(i64::try_from(self.lock_state().passed_ms).unwrap_or(i64::MAX))
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let wait = (duration_ms > 0).then(|| {
            let mut manual = self.lock_state();
            manual.nth += 1;
            let at = (manual.passed_ms.saturating_add(duration_ms), manual.nth);
            let (sender, receiver) = oneshot::channel();
            manual.sleepers.insert(at, sender);
            receiver
        });
        async move {
            if let Some(wait) = wait {
                // The clock was dropped: time stands still.
                if wait.await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}
