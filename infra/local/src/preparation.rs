//! A value with a slow preparation, which starts on first use and again after a failure.

use std::sync::Arc;
use std::time::Duration;

use djinn_runtime::port::tool::BoxFuture;
use tokio::sync::watch;
use tokio::time::Instant;

/// Delay between the first failure and the next attempt. The delay doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// Maximum delay between two attempts.
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// The progress of a preparation: `done` of `total` parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InstallProgress {
    pub(crate) done: usize,
    pub(crate) total: usize,
}

/// Receives the progress of an attempt.
pub(crate) type ReportProgress = Box<dyn Fn(InstallProgress) + Send + Sync>;

/// Prepares the value once.
type Prepare<T> =
    Box<dyn Fn(ReportProgress) -> BoxFuture<'static, Result<T, String>> + Send + Sync>;

/// The reason for the last failure, and the time until the next attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreparationFailed {
    pub(crate) reason: String,
    pub(crate) retry_in: Duration,
}

/// A value prepared on first use. An attempt continues even if the caller that started the attempt is gone.
pub(crate) struct Preparation<T> {
    prepare: Prepare<T>,
    state: watch::Sender<State<T>>,
}

enum State<T> {
    Idle,
    Running(Option<InstallProgress>),
    Ready(Arc<T>),
    Failed { reason: String, failures: u32, retry_at: Instant },
}

impl<T: Send + Sync + 'static> Preparation<T> {
    pub(crate) fn new(
        prepare: impl Fn(ReportProgress) -> BoxFuture<'static, Result<T, String>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { prepare: Box::new(prepare), state: watch::Sender::new(State::Idle) }
    }

    /// Waits for the value, and prepares the value unless the last attempt failed just before. Calls `report`
    /// whenever the progress of the attempt changes.
    ///
    /// # Errors
    /// Returns [`PreparationFailed`] if the last attempt failed.
    pub(crate) async fn wait(
        self: &Arc<Self>,
        mut report: impl FnMut(InstallProgress),
    ) -> Result<Arc<T>, PreparationFailed> {
        let mut state = self.state.subscribe();
        self.begin_if_due();
        loop {
            match &*state.borrow_and_update() {
                State::Idle | State::Running(None) => {}
                State::Running(Some(progress)) => report(*progress),
                State::Ready(value) => return Ok(Arc::clone(value)),
                State::Failed { reason, retry_at, .. } => {
                    let retry_in = retry_at.saturating_duration_since(Instant::now());
                    return Err(PreparationFailed { reason: reason.clone(), retry_in });
                }
            }
            // The sender lives as long as `self`.
            let _open = state.changed().await;
        }
    }

    fn begin_if_due(self: &Arc<Self>) {
        let mut earlier_failures = 0;
        let is_due = self.state.send_if_modified(|state| {
            match state {
                State::Idle => {}
                State::Failed { failures, retry_at, .. } if *retry_at <= Instant::now() => {
                    earlier_failures = *failures;
                }
                State::Running(_) | State::Ready(_) | State::Failed { .. } => return false,
            }
            *state = State::Running(None);
            true
        });
        if is_due {
            tokio::spawn(Arc::clone(self).run_attempt(earlier_failures));
        }
    }

    async fn run_attempt(self: Arc<Self>, earlier_failures: u32) {
        let sender = Arc::clone(&self);
        let report = Box::new(move |progress| {
            sender.state.send_replace(State::Running(Some(progress)));
        });
        // A separate task, so a panic ends only the attempt.
        let attempt = tokio::spawn((self.prepare)(report)).await;
        let result = attempt.unwrap_or_else(|error| Err(error.to_string()));
        self.state.send_replace(match result {
            Ok(value) => State::Ready(Arc::new(value)),
            Err(reason) => {
                let failures = earlier_failures + 1;
                let retry_at = Instant::now() + pause_after(failures);
                State::Failed { reason, failures, retry_at }
            }
        });
    }
}

/// Returns the delay after the given number of failures, counted from 1.
fn pause_after(failures: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_PAUSE.saturating_mul(factor).min(MAX_PAUSE)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Notify;
    use tokio::time::advance;

    use super::*;

    /// A preparation whose attempts end as listed, and the number of attempts so far.
    fn scripted(
        ends: &'static [Result<u8, &'static str>],
    ) -> (Arc<Preparation<u8>>, Arc<AtomicUsize>) {
        let attempts = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&attempts);
        let preparation = Preparation::new(move |report| {
            let end = ends[counter.fetch_add(1, Ordering::Relaxed)].map_err(str::to_owned);
            report(InstallProgress { done: 1, total: 2 });
            Box::pin(async move { end })
        });
        (Arc::new(preparation), attempts)
    }

    #[test]
    fn pauses_double_up_to_a_limit() {
        for (failures, seconds) in [(1, 5), (2, 10), (3, 20), (6, 160), (7, 300), (99, 300)] {
            assert_eq!(pause_after(failures).as_secs(), seconds, "{failures}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failure_is_told_until_the_next_attempt_is_due() {
        let (preparation, attempts) = scripted(&[Err("no network"), Err("no room"), Ok(7)]);
        let failed = |reason: &str, seconds| {
            let retry_in = Duration::from_secs(seconds);
            Err(PreparationFailed { reason: reason.to_owned(), retry_in })
        };
        let wait = async || preparation.wait(|_| {}).await.map(|value| *value);
        assert_eq!(wait().await, failed("no network", 5));
        advance(Duration::from_secs(4)).await;
        assert_eq!((wait().await, attempts.load(Ordering::Relaxed)), (failed("no network", 1), 1));
        advance(Duration::from_secs(1)).await;
        assert_eq!(wait().await, failed("no room", 10));
        advance(Duration::from_secs(10)).await;
        assert_eq!(wait().await, Ok(7));
        assert_eq!((wait().await, attempts.load(Ordering::Relaxed)), (Ok(7), 3));
    }

    #[tokio::test]
    async fn all_who_wait_see_the_progress_of_one_attempt_that_outlives_them() {
        let go_on = Arc::new(Notify::new());
        let waits = Arc::clone(&go_on);
        let preparation = Arc::new(Preparation::new(move |report: ReportProgress| {
            let waits = Arc::clone(&waits);
            Box::pin(async move {
                report(InstallProgress { done: 1, total: 3 });
                waits.notified().await;
                report(InstallProgress { done: 3, total: 3 });
                Ok(())
            })
        }));
        let seen = Mutex::new(Vec::new());
        let mut first =
            Box::pin(preparation.wait(|progress| seen.lock().unwrap().push(progress.done)));
        while seen.lock().unwrap().is_empty() {
            assert!(futures::poll!(&mut first).is_pending());
            tokio::task::yield_now().await;
        }
        drop(first);
        let second = preparation.wait(|progress| seen.lock().unwrap().push(progress.done));
        go_on.notify_one();
        second.await.unwrap();
        assert_eq!(seen.lock().unwrap().first(), Some(&1));
    }

    #[tokio::test(start_paused = true)]
    async fn panic_is_a_failure_that_is_tried_again() {
        let preparation: Arc<Preparation<()>> =
            Arc::new(Preparation::new(|_| Box::pin(async { panic!("on purpose") })));
        for seconds in [5, 10] {
            let failed = preparation.wait(|_| {}).await.unwrap_err();
            assert_eq!(failed.retry_in.as_secs(), seconds);
            advance(failed.retry_in).await;
        }
    }
}
