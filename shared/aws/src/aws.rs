//! AWS behind the runtime's ports, with an object for each capability.

use std::sync::Arc;

use crate::alarm::SchedulerAlarms;
use crate::clients::Clients;
use crate::counter::RequestCounter;
use crate::database::LambdaDatabase;
use crate::database_password::AwsDatabasePasswords;
use crate::gateway::LambdaGateway;
use crate::invoke::LambdaInvoker;
use crate::sandbox::LambdaSandbox;
use crate::secret::AwsSecrets;
use crate::settings::Settings;
use crate::store::AwsStore;

/// The AWS clients of one process. Clones share the clients.
#[derive(Debug, Clone)]
pub struct Aws {
    clients: Arc<Clients>,
}

impl Aws {
    /// Creates the object without sending requests; each client is created on first use.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { clients: Arc::new(Clients::new(settings)) }
    }

    /// Returns the unchanged settings given to [`Aws::new`].
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.clients.settings
    }

    /// Returns the store of journals, leases, mailboxes, live logs and files.
    #[must_use]
    pub fn store(&self) -> AwsStore {
        AwsStore::new(Arc::clone(&self.clients))
    }

    /// Asynchronous invocations of the executor.
    #[must_use]
    pub fn invoker(&self) -> LambdaInvoker {
        LambdaInvoker::new(Arc::clone(&self.clients))
    }

    /// Returns the sandbox, if sandbox functions are configured.
    #[must_use]
    pub fn sandbox(&self) -> Option<LambdaSandbox> {
        let functions = self.clients.settings.sandbox.clone()?;
        Some(LambdaSandbox::new(functions, self.store()))
    }

    /// Returns the gateway, if gateway functions are configured.
    #[must_use]
    pub fn gateway(&self) -> Option<LambdaGateway> {
        let functions = self.clients.settings.gateway.clone()?;
        Some(LambdaGateway::new(functions, self.store()))
    }

    /// Returns the databases, if a function for them is configured.
    #[must_use]
    pub fn database(&self) -> Option<LambdaDatabase> {
        let function = self.clients.settings.database.clone()?;
        Some(LambdaDatabase::new(function, Arc::clone(&self.clients)))
    }

    /// Returns the passwords of connections: those of Secrets Manager, and tokens of IAM.
    #[must_use]
    pub fn database_passwords(&self) -> AwsDatabasePasswords {
        AwsDatabasePasswords::new(Arc::clone(&self.clients))
    }

    /// Returns the recurring alarms of runs.
    #[must_use]
    pub fn alarms(&self) -> SchedulerAlarms {
        SchedulerAlarms::new(Arc::clone(&self.clients))
    }

    /// Returns access to Secrets Manager, by name or ARN, without a cache.
    #[must_use]
    pub fn secrets(&self) -> AwsSecrets {
        AwsSecrets::new(Arc::clone(&self.clients))
    }

    /// Returns the counter of all requests sent through this object and its clones.
    #[must_use]
    pub fn request_counter(&self) -> &RequestCounter {
        &self.clients.counter
    }
}
