//! Kicks and alarms in the simulation's host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::{RunKey, StoreError};
use tokio::sync::mpsc;

use crate::chaos::Chaos;
use crate::memory::StoreFault;
use crate::point::Points;

/// A service of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostService {
    /// The service of alarms and timers.
    Scheduler,
    /// The service that invokes functions.
    Invoker,
}

/// A fault of a service, until another is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceFault {
    /// The service fails at once.
    Down,
    /// The deployment has no grant for the service.
    Denies,
    /// The service does not respond: a call fails after 15 s.
    Hangs,
}

/// The time for three attempts of 5 s, after which the AWS SDK gives up.
const HANGS_FOR: Duration = Duration::from_secs(15);

/// A host that keeps alarms and timers for all clones, and sends kicks to the simulation.
#[derive(Clone)]
pub struct SimHost {
    pub(super) kicks: mpsc::UnboundedSender<(RunKey, u32)>,
    pub(super) alarms: Arc<Mutex<BTreeSet<RunKey>>>,
    pub(super) timers: Arc<Mutex<BTreeMap<RunKey, i64>>>,
    pub(super) removal_takes: Arc<OnceLock<Duration>>,
    pub(super) faults: Arc<Mutex<BTreeMap<HostService, ServiceFault>>>,
    pub(super) chaos: Option<Chaos>,
    pub(super) points: Points,
}

impl SimHost {
    pub(super) fn new(kicks: mpsc::UnboundedSender<(RunKey, u32)>, points: Points) -> Self {
        let alarms = Arc::default();
        let removal_takes = Arc::default();
        let timers = Arc::default();
        let faults = Arc::default();
        Self { kicks, alarms, timers, removal_takes, faults, chaos: None, points }
    }

    /// Returns the same host, for the calls of a process.
    pub(super) fn of(&self, process: u64) -> Self {
        Self { points: self.points.of(process), ..self.clone() }
    }

    /// Sets the fault of a service; `None` repairs the service.
    pub fn set_fault(&self, service: HostService, fault: Option<ServiceFault>) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        match fault {
            Some(fault) => faults.insert(service, fault),
            None => faults.remove(&service),
        };
    }

    pub(super) fn lock_alarms(&self) -> MutexGuard<'_, BTreeSet<RunKey>> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_timers(&self) -> MutexGuard<'_, BTreeMap<RunKey, i64>> {
        self.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs an action with the faults of the simulation.
    async fn act_with_faults(
        &self,
        service: HostService,
        name: String,
        act: impl FnOnce() + Send,
    ) -> Result<(), StoreError> {
        let service_fault =
            self.faults.lock().unwrap_or_else(PoisonError::into_inner).get(&service).copied();
        match service_fault {
            None => {}
            Some(ServiceFault::Down) => return Err(StoreError::Unavailable(name)),
            Some(ServiceFault::Denies) => return Err(StoreError::Denied(name)),
            Some(ServiceFault::Hangs) => {
                tokio::time::sleep(HANGS_FOR).await;
                return Err(StoreError::Unavailable(name));
            }
        }
        let fault = self.chaos.as_ref().map_or(StoreFault::None, Chaos::draw_refusal);
        self.points.pass(format!("before {name}")).await;
        if !matches!(fault, StoreFault::NotDone | StoreFault::TooLarge) {
            act();
        }
        self.points.pass(format!("after {name}")).await;
        match fault {
            StoreFault::NotDone | StoreFault::ReplyLost => Err(StoreError::Unavailable(name)),
            StoreFault::TooLarge => Err(StoreError::TooLarge(name)),
            StoreFault::None | StoreFault::Late(_) | StoreFault::Silent => Ok(()),
        }
    }
}

impl Invoker for SimHost {
    async fn kick_run(&self, key: &RunKey, hops: u32) -> Result<(), StoreError> {
        let name = if key.is_root() { "kick".to_owned() } else { format!("{} kick", key.path) };
        self.act_with_faults(HostService::Invoker, name, || {
            // After the simulation no run is invoked.
            let _ = self.kicks.send((key.clone(), hops));
        })
        .await
    }
}

impl Alarms for SimHost {
    async fn set_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        self.act_with_faults(HostService::Scheduler, "alarm is set".to_owned(), || {
            self.lock_alarms().insert(key.clone());
        })
        .await
    }

    async fn set_timer(&self, key: &RunKey, from_ms: i64) -> Result<(), StoreError> {
        self.act_with_faults(HostService::Scheduler, "timer is set".to_owned(), || {
            self.lock_timers().insert(key.clone(), from_ms);
        })
        .await
    }

    async fn remove_timer(&self, key: &RunKey) -> Result<(), StoreError> {
        self.act_with_faults(HostService::Scheduler, "timer is removed".to_owned(), || {
            self.lock_timers().remove(key);
        })
        .await
    }

    async fn remove_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        tokio::time::sleep(self.removal_takes.get().copied().unwrap_or_default()).await;
        self.act_with_faults(HostService::Scheduler, "alarm is removed".to_owned(), || {
            self.lock_alarms().remove(key);
        })
        .await
    }
}
