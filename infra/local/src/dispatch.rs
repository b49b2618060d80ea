//! In-process replacements for Lambda's asynchronous invocations and EventBridge Scheduler's alarms.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use djinn_aws::RunInvocation;
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::clock::{Clock, SystemClock};
use djinn_runtime::port::{RunKey, StoreError};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Default interval of an alarm, as on AWS.
pub const ALARM_EVERY: Duration = Duration::from_secs(120);

/// The sending end of the executor's queue.
#[derive(Debug, Clone)]
pub struct LocalDispatch {
    queue: mpsc::UnboundedSender<RunInvocation>,
    alarms: Arc<Mutex<BTreeMap<RunKey, Alarm>>>,
    timers: Arc<Mutex<BTreeMap<RunKey, Alarm>>>,
    alarm_every: Duration,
}

/// A recurring alarm. Dropping the value stops the alarm.
#[derive(Debug)]
struct Alarm(JoinHandle<()>);

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl LocalDispatch {
    /// Creates a dispatch and the receiver of its invocations, for the executor. Alarms fire at the interval
    /// `every`.
    #[must_use]
    pub fn new(every: Duration) -> (Self, mpsc::UnboundedReceiver<RunInvocation>) {
        let (queue, invocations) = mpsc::unbounded_channel();
        (
            Self { queue, alarms: Arc::default(), timers: Arc::default(), alarm_every: every },
            invocations,
        )
    }

    /// Kicks the run after a delay, and then at the alarm's interval.
    fn ring_repeatedly(&self, key: &RunKey, after: Duration) -> impl Future<Output = ()> + use<> {
        let queue = self.queue.clone();
        let every = self.alarm_every;
        let run = key.clone();
        async move {
            tokio::time::sleep(after).await;
            while queue.send(RunInvocation::new(&run, 0)).is_ok() {
                tokio::time::sleep(every).await;
            }
        }
    }
}

impl Invoker for LocalDispatch {
    async fn kick_run(&self, key: &RunKey, hops: u32) -> Result<(), StoreError> {
        self.queue
            .send(RunInvocation::new(key, hops))
            .map_err(|_| StoreError::Unavailable("the local executor has stopped".to_owned()))
    }
}

impl Alarms for LocalDispatch {
    async fn set_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        let alarm = self.ring_repeatedly(key, self.alarm_every);
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        alarms.entry(key.clone()).or_insert_with(|| Alarm(tokio::spawn(alarm)));
        Ok(())
    }

    async fn set_timer(&self, key: &RunKey, from_ms: i64) -> Result<(), StoreError> {
        let after_ms = from_ms.saturating_sub(SystemClock.now_ms()).max(0);
        let after = Duration::from_millis(u64::try_from(after_ms).unwrap_or_default());
        let alarm = Alarm(tokio::spawn(self.ring_repeatedly(key, after)));
        self.timers.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), alarm);
        Ok(())
    }

    async fn remove_timer(&self, key: &RunKey) -> Result<(), StoreError> {
        self.timers.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        Ok(())
    }

    async fn remove_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        Ok(())
    }
}
