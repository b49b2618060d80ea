//! AWS as the rest of the product has it: one object per capability.

use std::sync::Arc;

use crate::alarm::SchedulerAlarms;
use crate::clients::Clients;
use crate::counter::RequestCounter;
use crate::gateway::LambdaGateway;
use crate::invoke::LambdaInvoker;
use crate::sandbox::LambdaSandbox;
use crate::secret::AwsSecrets;
use crate::settings::Settings;
use crate::store::AwsStore;

/// AWS as one process uses it. Cloning shares its clients.
#[derive(Debug, Clone)]
pub struct Aws {
    clients: Arc<Clients>,
}

impl Aws {
    /// Makes no request and no connection: each client is made when it is first used.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { clients: Arc::new(Clients::new(settings)) }
    }

    /// The settings are those that [`Aws::new`] was given, unchanged.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.clients.settings
    }

    /// Journals, leases, mailboxes, live logs and files.
    #[must_use]
    pub fn store(&self) -> AwsStore {
        AwsStore::new(Arc::clone(&self.clients))
    }

    /// Asynchronous invocations of the executor.
    #[must_use]
    pub fn invoker(&self) -> LambdaInvoker {
        LambdaInvoker::new(Arc::clone(&self.clients))
    }

    /// The sandbox, if a function is one.
    #[must_use]
    pub fn sandbox(&self) -> Option<LambdaSandbox> {
        let function = self.clients.settings.sandbox.clone()?;
        Some(LambdaSandbox::new(function, self.store()))
    }

    /// The gateway to the outside, if functions are one.
    #[must_use]
    pub fn gateway(&self) -> Option<LambdaGateway> {
        let functions = self.clients.settings.gateway.clone()?;
        Some(LambdaGateway::new(functions, self.store()))
    }

    /// The recurring alarms of runs.
    #[must_use]
    pub fn alarms(&self) -> SchedulerAlarms {
        SchedulerAlarms::new(Arc::clone(&self.clients))
    }

    /// The secrets of Secrets Manager are read by name or ARN, anew for every question.
    #[must_use]
    pub fn secrets(&self) -> AwsSecrets {
        AwsSecrets::new(Arc::clone(&self.clients))
    }

    /// Counts every request that is made through this object or its clones.
    #[must_use]
    pub fn request_counter(&self) -> &RequestCounter {
        &self.clients.counter
    }
}
