//! Backing services for functions in separate processes, as `cargo lambda watch` runs them: the stores, the
//! demo model, and a timer for the alarms.

use std::path::PathBuf;
use std::time::Duration;

use agent::LocalOrigins;
use djinn_aws::{Aws, AwsStore};
use djinn_runtime::port::alarm::Invoker;
use djinn_runtime::port::secret::Secret;
use djinn_runtime::port::{RunKey, StoreError};
use djinn_scripted::ScriptedModel;
use djinn_settings::table::agent::PUBLIC_URL;
use djinn_settings::table::aws;
use djinn_settings::table::runtime::LOCAL;
use tokio::task::JoinHandle;

use crate::resume::{take_over_dead_runs, unfinished_runs};
use crate::store::{Stores, StoresOptions};
use crate::system::{SystemError, Var};
use crate::{ALARM_EVERY, demo};

/// The executor's name at the local host.
const EXECUTOR: &str = "executor";

/// Options of the backing services.
pub struct BackingOptions {
    /// The data directory; `None` keeps nothing.
    pub dir: Option<PathBuf>,
    /// Looks up a variable, such as the models.
    pub var: Var,
    /// The URL of the functions' host, for example `http://127.0.0.1:9000`.
    pub host: String,
    /// Interval at which unfinished runs are sent to the executor.
    pub alarm_every: Duration,
}

impl BackingOptions {
    /// Returns options that keep nothing, with alarms as on AWS and without a model.
    #[must_use]
    pub fn new(host: impl Into<String>) -> Self {
        Self { dir: None, var: Box::new(|_| None), host: host.into(), alarm_every: ALARM_EVERY }
    }
}

/// Running backing services. Dropping the value stops all of them.
pub struct Backing {
    aws: Aws,
    host: String,
    demo_model: Option<ScriptedModel>,
    alarms: JoinHandle<()>,
    _stores: Stores,
}

impl Backing {
    /// Starts all services, and ends the leases of dead functions.
    ///
    /// # Errors
    /// Returns [`SystemError`], whose text says what to do.
    pub async fn start(options: BackingOptions) -> Result<Self, SystemError> {
        let origins = LocalOrigins::from_vars(&options.var)?;
        let stores =
            Stores::start(StoresOptions { dir: options.dir, origins, ..StoresOptions::default() })?;
        let demo_model = demo::start_if_needed(&options.var).await?;
        let mut settings = stores.settings().clone();
        settings.executor = Some(EXECUTOR.to_owned());
        settings.endpoints.lambda = Some(options.host.clone());
        let aws = Aws::new(settings);
        if let Err(error) = take_over_dead_runs(&aws.store()).await {
            tracing::error!(%error, "unfinished runs were not looked for");
        }
        let alarms = tokio::spawn(ring_alarms(aws.store(), aws.invoker(), options.alarm_every));
        Ok(Self { aws, host: options.host, demo_model, alarms, _stores: stores })
    }

    /// Returns the environment variables that connect functions to these services.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let settings = self.aws.settings();
        let endpoint = |url: &Option<String>| url.clone().unwrap_or_default();
        let key = settings.endpoints.key.as_ref().map(Secret::reveal).unwrap_or_default();
        let mut variables = vec![
            LOCAL.pair("1"),
            PUBLIC_URL.pair(self.agent_url()),
            aws::TABLE_NAME.pair(&settings.table),
            aws::BUCKET.pair(&settings.bucket),
            aws::EXECUTOR.pair(EXECUTOR),
            aws::DYNAMODB_URL.pair(endpoint(&settings.endpoints.dynamodb)),
            aws::S3_URL.pair(endpoint(&settings.endpoints.s3)),
            aws::STORE_KEY.pair(key),
            aws::LAMBDA_URL.pair(&self.host),
            // As in template.yaml: a REST API puts the stage before the path.
            ("AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH", "true".to_owned()),
        ];
        if let Some(scripted) = &self.demo_model {
            variables.extend(demo::model_variables(&scripted.base_url()));
        }
        variables
    }

    /// Returns the host's URL of the agent function.
    #[must_use]
    pub fn agent_url(&self) -> String {
        format!("{}/lambda-url/agent", self.host)
    }

    /// The scripted demo model, if no model is configured.
    #[must_use]
    pub fn demo_model(&self) -> Option<&ScriptedModel> {
        self.demo_model.as_ref()
    }

    /// Sends every unfinished run to the executor, as the run's alarm would. Runs with a driver are not
    /// disturbed.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the runs cannot be listed or the host rejects an invocation. The other runs
    /// are sent all the same.
    pub async fn continue_runs(&self) -> Result<(), StoreError> {
        let keys = unfinished_runs(&self.aws.store()).await?;
        kick_all(&keys, &self.aws.invoker()).await
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        self.alarms.abort();
    }
}

/// One timer replaces the alarms of all runs: runs are few, and functions in other processes cannot set this
/// timer.
async fn ring_alarms(store: AwsStore, invoker: impl Invoker, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let rung = match unfinished_runs(&store).await {
            Ok(keys) => kick_all(&keys, &invoker).await,
            Err(error) => Err(error),
        };
        if let Err(error) = rung {
            tracing::error!(%error, "alarm without effect");
        }
    }
}

/// Kicks every run, even after an error; returns the last error.
async fn kick_all(keys: &[RunKey], invoker: &impl Invoker) -> Result<(), StoreError> {
    let mut outcome = Ok(());
    for key in keys {
        if let Err(error) = invoker.kick_run(key, 0).await {
            tracing::warn!(%error, run_id = %key.run, "run not kicked");
            outcome = Err(error);
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::id::{RequestId, RunId, SessionName, TenantId, UserId};
    use std::sync::Mutex;

    /// A host that does not take the first run that it is brought.
    #[derive(Default)]
    struct Host(Mutex<Vec<RunKey>>);

    impl Invoker for Host {
        async fn kick_run(&self, key: &RunKey, _hops: u32) -> Result<(), StoreError> {
            let mut kicked = self.0.lock().unwrap();
            kicked.push(key.clone());
            let refused = || StoreError::Unavailable("the first one".to_owned());
            if kicked.len() == 1 { Err(refused()) } else { Ok(()) }
        }
    }

    #[tokio::test]
    async fn a_run_that_cannot_be_kicked_is_reported_and_starves_no_other() {
        let tenant = TenantId::new("t").unwrap();
        let user = UserId::new("u").unwrap();
        let session = SessionName::new("s").unwrap();
        let keys = ["r1", "r2", "r3"].map(|request| {
            let run = RunId::of(&tenant, &user, &session, &RequestId::new(request).unwrap());
            RunKey::new(tenant.clone(), run)
        });
        let host = Host::default();
        assert!(kick_all(&keys, &host).await.is_err());
        assert_eq!(*host.0.lock().unwrap(), keys);
    }
}
