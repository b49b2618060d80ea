//! Asynchronous invocations of the executor.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use djinn_core::id::{Path, RunId, TenantId};
use djinn_runtime::port::alarm::Invoker;
use djinn_runtime::port::{RunKey, StoreError};
use djinn_settings::table::aws::EXECUTOR;
use serde::{Deserialize, Serialize};

use crate::clients::Clients;
use crate::error::{AwsRequest, store_error};

/// The payload of an executor invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInvocation {
    /// The payload's format: [`RunInvocation::FORMAT`]. A receiver ignores newer formats.
    pub v: u16,
    /// The tenant of the run.
    pub tenant: TenantId,
    /// The run of a user's.
    pub run: RunId,
    /// The way from there to the run to continue.
    #[serde(default, skip_serializing_if = "Path::is_root")]
    pub path: Path,
    /// The number of handoffs so far. An alarm sends 0.
    pub hops: u32,
}

impl RunInvocation {
    /// The format written by this code.
    pub const FORMAT: u16 = 1;

    /// Creates the payload to continue a run.
    #[must_use]
    pub fn new(key: &RunKey, hops: u32) -> Self {
        let RunKey { tenant, run, path } = key.clone();
        Self { v: Self::FORMAT, tenant, run, path, hops }
    }

    /// Returns the key of the run to continue.
    #[must_use]
    pub fn key(&self) -> RunKey {
        let Self { tenant, run, path, .. } = self.clone();
        RunKey { tenant, run, path }
    }

    pub(crate) fn to_json(&self) -> Result<String, StoreError> {
        serde_json::to_string(self)
            .map_err(|error| StoreError::Unreadable(format!("payload: {error}")))
    }
}

/// Invokes the executor asynchronously.
#[derive(Debug, Clone)]
pub struct LambdaInvoker {
    clients: Arc<Clients>,
    wait_at_most: Option<Duration>,
}

/// Maximum wait for the local host, because the local host responds only after the function ends.
const LOCAL_WAIT: Duration = Duration::from_secs(1);

impl LambdaInvoker {
    pub(crate) fn new(clients: Arc<Clients>) -> Self {
        let wait_at_most = clients.settings.endpoints.lambda.as_ref().map(|_| LOCAL_WAIT);
        Self { clients, wait_at_most }
    }

    /// Sets the time after which an invocation counts as sent, while the request continues in the background.
    /// `None` waits for the response. Defaults to one second with a `DJINN_LAMBDA_URL`, else `None`.
    #[must_use]
    pub fn wait_at_most(self, wait_at_most: Option<Duration>) -> Self {
        Self { wait_at_most, ..self }
    }
}

impl Invoker for LambdaInvoker {
    async fn kick_run(&self, key: &RunKey, hops: u32) -> Result<(), StoreError> {
        let payload = RunInvocation::new(key, hops).to_json()?;
        let clients = Arc::clone(&self.clients);
        let invocation = async move {
            let Some(executor) = &clients.settings.executor else {
                return Err(StoreError::Denied(format!("{} is not set", EXECUTOR.name)));
            };
            let request = clients
                .lambda()
                .await
                .invoke()
                .function_name(executor)
                .invocation_type(InvocationType::Event)
                .payload(Blob::new(payload));
            match Box::pin(request.send()).await {
                Ok(_) => Ok(()),
                Err(error) => {
                    Err(store_error(AwsRequest { operation: "Invoke", on: executor }, &error))
                }
            }
        };
        let Some(wait_at_most) = self.wait_at_most else {
            return invocation.await;
        };
        let task = tokio::spawn(invocation);
        match tokio::time::timeout(wait_at_most, task).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(StoreError::Unavailable(format!("Invoke: {error}"))),
            Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::{clients_over, replay_of};
    use crate::item::sample;
    use crate::replay::Replay;
    use crate::settings::Settings;

    fn settings() -> Settings {
        Settings { executor: Some("executor".into()), ..Settings::new("t", "b") }
    }

    #[test]
    fn the_payload_is_what_the_executor_reads() {
        let payload = RunInvocation::new(&sample::run(), 3);
        let json = payload.to_json().unwrap();
        let run = sample::run().run;
        assert_eq!(json, format!(r#"{{"v":1,"tenant":"t","run":"{run}","hops":3}}"#));
        assert_eq!(serde_json::from_str::<RunInvocation>(&json).unwrap().key(), sample::run());
        let child = RunKey { path: "s2.1.t3.c1".parse().unwrap(), ..sample::run() };
        let json = RunInvocation::new(&child, 0).to_json().unwrap();
        assert!(json.ends_with(r#","path":"s2.1.t3.c1","hops":0}"#), "{json}");
        assert_eq!(serde_json::from_str::<RunInvocation>(&json).unwrap().key(), child);
        let bad = r#"{"v":1,"tenant":"t","run":"x","hops":0}"#;
        assert!(serde_json::from_str::<RunInvocation>(bad).is_err());
    }

    #[tokio::test]
    async fn a_kick_is_an_asynchronous_invocation() {
        let http = replay_of(&[(202, ""), (429, "TooManyRequestsException")]);
        let invoker = LambdaInvoker::new(clients_over(settings(), http.clone()));
        invoker.kick_run(&sample::run(), 3).await.unwrap();
        let error = invoker.kick_run(&sample::run(), 4).await.unwrap_err().to_string();
        assert!(error.contains("Invoke on executor: "), "{error}");

        let request = http.take_requests().remove(0);
        assert!(request.uri().ends_with("/functions/executor/invocations"), "{}", request.uri());
        assert_eq!(request.headers().get("x-amz-invocation-type"), Some("Event"));
        let payload = RunInvocation::new(&sample::run(), 3).to_json().unwrap();
        assert_eq!(request.body().bytes(), Some(payload.as_bytes()));
    }

    #[tokio::test]
    async fn a_host_that_answers_late_is_not_waited_for_and_not_asked_twice() {
        let silent = Replay::without_answers();
        let invoker = LambdaInvoker::new(clients_over(settings(), silent.clone()))
            .wait_at_most(Some(Duration::from_millis(20)));
        invoker.kick_run(&sample::run(), 1).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(silent.take_requests().len(), 1);
    }

    #[tokio::test]
    async fn without_an_executor_nobody_is_invoked() {
        let invoker = LambdaInvoker::new(clients_over(Settings::new("t", "b"), replay_of(&[])));
        let error = invoker.kick_run(&sample::run(), 1).await.unwrap_err().to_string();
        assert!(error.contains("DJINN_EXECUTOR is not set"), "{error}");
    }
}
