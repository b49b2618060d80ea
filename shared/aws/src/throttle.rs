//! Retries of writes to throttled partitions.
//!
//! A partition takes 1 000 units a second. A thousand children ending together send their run five times as
//! much, and the run's journal is in the same partition. So records are retried early and often, and messages
//! leave room for records.

use std::time::Duration;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::conflict::retry_conflicts;
use crate::error::is_throttled;

/// The retries of a throttled write, in addition to the SDK's attempts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetrySchedule {
    /// The rounds of attempts include the first, and each has the SDK's own attempts.
    rounds: u32,
    /// Maximum wait before the second round, doubled for each later round.
    first_wait: Duration,
    /// Maximum wait before any round.
    max_wait: Duration,
}

impl RetrySchedule {
    /// None: the SDK's attempts are enough.
    pub(crate) const NONE: Self =
        Self { rounds: 1, first_wait: Duration::ZERO, max_wait: Duration::ZERO };

    /// For a record, alone or in a transaction. The writer has no other work: about eight seconds in all.
    pub(crate) const RECORD: Self = Self {
        rounds: 20,
        first_wait: Duration::from_millis(50),
        max_wait: Duration::from_secs(1),
    };

    /// For a message or its removal. Up to a thousand writes are spread over about twelve seconds.
    pub(crate) const MAIL: Self =
        Self { rounds: 6, first_wait: Duration::from_secs(1), max_wait: Duration::from_secs(8) };

    /// Returns the wait after a round, counted from 1, or `None` after the last. Full jitter: `jitter` in
    /// `0.0..1.0` selects a wait between zero and the maximum.
    pub(crate) fn wait_after(self, round: u32, jitter: f64) -> Option<Duration> {
        let wait = self.first_wait.saturating_mul(1 << (round - 1).min(16));
        (round < self.rounds).then(|| wait.min(self.max_wait).mul_f64(jitter))
    }
}

/// Sends a request until the partition has capacity and no transaction conflicts.
pub(crate) async fn retry_throttled<T, E, R, F>(
    patience: RetrySchedule,
    mut send: impl FnMut() -> F,
) -> Result<T, SdkError<E, R>>
where
    E: ProvideErrorMetadata,
    F: Future<Output = Result<T, SdkError<E, R>>>,
{
    let mut rounds = 1;
    loop {
        let result = retry_conflicts(&mut send).await;
        let should_retry =
            result.as_ref().err().and_then(|error| error.code()).is_some_and(is_throttled);
        match patience.wait_after(rounds, fastrand::f64()).filter(|_| should_retry) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return result,
        }
        rounds += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_end() {
        let most = |patience: RetrySchedule| -> Vec<u128> {
            let waits = (1..).map_while(|round| patience.wait_after(round, 1.0));
            waits.map(|wait| wait.as_millis()).collect()
        };
        assert_eq!(most(RetrySchedule::MAIL), [1_000, 2_000, 4_000, 8_000, 8_000]);
        let records = most(RetrySchedule::RECORD);
        assert_eq!(records[..6], [50, 100, 200, 400, 800, 1_000]);
        assert_eq!(records.iter().sum::<u128>(), 15_550);
        assert_eq!(RetrySchedule::MAIL.wait_after(3, 0.25), Some(Duration::from_secs(1)));
    }
}
