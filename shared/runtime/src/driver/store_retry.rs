//! Retries of failed calls to the store or the alarms.

use crate::port::StoreError;
use crate::port::clock::Clock;
use crate::settings::RetryPolicy;
use crate::world::Ports;

/// The retries for setting or removing an alarm, over about half a minute.
const ALARM_RETRIES: RetryPolicy = RetryPolicy { attempts: 6, ..RetryPolicy::HOLD };

/// Repeats `attempt` until success, a permanent error, or the last retry.
pub(super) async fn retry_store_call<P, F, T>(ports: &P, attempt: F) -> Result<(), StoreError>
where
    P: Ports,
    F: Fn() -> T,
    T: Future<Output = Result<(), StoreError>>,
{
    let mut failures = 0;
    while let Err(error) = attempt().await {
        failures += 1;
        tracing::warn!(%error, failed = failures, "alarm or mailbox not reached");
        let clock = ports.clock();
        let delay = ALARM_RETRIES.delay_after(failures, clock.jitter());
        let Some(delay) = delay.filter(|_| error.is_retryable()) else {
            return Err(error);
        };
        clock.sleep(delay).await;
    }
    Ok(())
}
