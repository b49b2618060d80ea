//! What functions need around them that run in processes of their own, as `cargo lambda watch` runs
//! them: the stores, the demo model, and a timer for the alarms.

use std::path::PathBuf;
use std::time::Duration;

use djinn_aws::{Aws, AwsStore};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::alarm::Invoker;
use djinn_scripted::Scripted;
use tokio::task::JoinHandle;

use crate::resume::{take_over_dead_runs, unfinished_runs};
use crate::store::{Stores, StoresOptions};
use crate::system::{SystemError, Var};
use crate::{ALARM_EVERY, demo};

/// The executor's name at the local host.
const EXECUTOR: &str = "executor";

/// How the backing services are started.
pub struct BackingOptions {
    /// Where they keep everything; `None` keeps nothing.
    pub dir: Option<PathBuf>,
    /// Looks a variable up: models.
    pub var: Var,
    /// The host that runs the functions, `http://127.0.0.1:9000`.
    pub host: String,
    /// How often the runs that have not ended are brought to the executor.
    pub alarm_every: Duration,
}

impl BackingOptions {
    /// Nothing is kept, no model is configured, and alarms fire as on AWS.
    #[must_use]
    pub fn new(host: impl Into<String>) -> Self {
        Self { dir: None, var: Box::new(|_| None), host: host.into(), alarm_every: ALARM_EVERY }
    }
}

/// Running backing services. They stop when this is dropped.
pub struct Backing {
    aws: Aws,
    host: String,
    scripted: Option<Scripted>,
    alarms: JoinHandle<()>,
    _stores: Stores,
}

impl Backing {
    /// Starts everything, and ends the leases of functions that are gone.
    ///
    /// # Errors
    /// [`SystemError`], whose text says what to do.
    pub async fn start(options: BackingOptions) -> Result<Self, SystemError> {
        let stores = Stores::start(StoresOptions { dir: options.dir })?;
        let scripted = demo::if_needed(&options.var).await?;
        let mut settings = stores.settings().clone();
        settings.executor = Some(EXECUTOR.to_owned());
        settings.endpoints.lambda = Some(options.host.clone());
        let aws = Aws::new(settings);
        if let Err(error) = take_over_dead_runs(&aws.store()).await {
            tracing::error!(%error, "unfinished runs were not looked for");
        }
        let alarms = tokio::spawn(ring(aws.store(), aws.invoker(), options.alarm_every));
        Ok(Self { aws, host: options.host, scripted, alarms, _stores: stores })
    }

    /// The variables that lead functions here.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let settings = self.aws.settings();
        let endpoint = |url: &Option<String>| url.clone().unwrap_or_default();
        let mut variables = vec![
            ("DJINN_LOCAL", "1".to_owned()),
            ("DJINN_PUBLIC_URL", self.agent_url()),
            ("DJINN_TABLE", settings.table.clone()),
            ("DJINN_BUCKET", settings.bucket.clone()),
            ("DJINN_EXECUTOR", EXECUTOR.to_owned()),
            ("DJINN_DYNAMODB_URL", endpoint(&settings.endpoints.dynamodb)),
            ("DJINN_S3_URL", endpoint(&settings.endpoints.s3)),
            ("DJINN_LAMBDA_URL", self.host.clone()),
            // As in template.yaml: a REST API puts its stage before the path.
            ("AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH", "true".to_owned()),
        ];
        if let Some(scripted) = &self.scripted {
            variables.extend(demo::variables(&scripted.base_url()));
        }
        variables
    }

    /// Where the host serves the agent's function URL.
    #[must_use]
    pub fn agent_url(&self) -> String {
        format!("{}/lambda-url/agent", self.host)
    }

    /// The scripted demo model, if no model is configured.
    #[must_use]
    pub fn scripted(&self) -> Option<&Scripted> {
        self.scripted.as_ref()
    }

    /// Brings every run that has not ended to the executor, as its alarm would. A run that is being
    /// driven is not disturbed.
    ///
    /// # Errors
    /// [`StoreError`] when the runs cannot be listed or the host does not take an invocation.
    pub async fn continue_runs(&self) -> Result<(), StoreError> {
        invoke_all(&self.aws.store(), &self.aws.invoker()).await
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        self.alarms.abort();
    }
}

/// One timer stands in for the alarm of every run: there are few, and functions in other processes
/// cannot set it.
async fn ring(store: AwsStore, invoker: impl Invoker, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        if let Err(error) = invoke_all(&store, &invoker).await {
            tracing::error!(%error, "alarm without effect");
        }
    }
}

async fn invoke_all(store: &AwsStore, invoker: &impl Invoker) -> Result<(), StoreError> {
    for key in unfinished_runs(store).await? {
        invoker.kick(&key, 0).await?;
    }
    Ok(())
}
