//! What Lambda and EventBridge Scheduler do on AWS: asynchronous invocations and recurring alarms,
//! in this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use djinn_aws::Continue;
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::{RunKey, StoreError};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How often an alarm fires, as on AWS.
pub const ALARM_EVERY: Duration = Duration::from_secs(120);

/// The sending end of the executor's queue.
#[derive(Debug, Clone)]
pub struct Dispatch {
    queue: mpsc::UnboundedSender<Continue>,
    alarms: Arc<Mutex<BTreeMap<RunKey, Alarm>>>,
    every: Duration,
}

/// A recurring alarm; it stops when it is dropped.
#[derive(Debug)]
struct Alarm(JoinHandle<()>);

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Dispatch {
    /// A queue whose other end whoever runs the executor reads. Alarms fire every `every`.
    #[must_use]
    pub fn new(every: Duration) -> (Self, mpsc::UnboundedReceiver<Continue>) {
        let (queue, invocations) = mpsc::unbounded_channel();
        (Self { queue, alarms: Arc::default(), every }, invocations)
    }

    fn send(&self, key: &RunKey, hops: u32) -> Result<(), StoreError> {
        self.queue
            .send(Continue::new(key, hops))
            .map_err(|_| StoreError::Unavailable("the local executor has stopped".to_owned()))
    }
}

impl Invoker for Dispatch {
    async fn kick(&self, key: &RunKey, hops: u32) -> Result<(), StoreError> {
        self.send(key, hops)
    }
}

impl Alarms for Dispatch {
    async fn set_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        let (queue, every, run) = (self.queue.clone(), self.every, key.clone());
        let alarm = async move {
            loop {
                tokio::time::sleep(every).await;
                if queue.send(Continue::new(&run, 0)).is_err() {
                    return;
                }
            }
        };
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        alarms.entry(key.clone()).or_insert_with(|| Alarm(tokio::spawn(alarm)));
        Ok(())
    }

    async fn remove_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        Ok(())
    }
}
