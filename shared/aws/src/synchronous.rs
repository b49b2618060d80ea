//! Synchronous invocations of functions whose environments may all be at work.

use std::time::Duration;

use aws_sdk_lambda::config::Config;
use aws_sdk_lambda::config::retry::RetryConfig;
use aws_sdk_lambda::config::timeout::TimeoutConfig;
use aws_sdk_lambda::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_lambda::operation::invoke::{InvokeError, InvokeOutput};
use aws_sdk_lambda::primitives::Blob;
use djinn_core::id::TenantId;

use crate::clients::Clients;

/// How often a job is handed over while all environments of the function are at work.
const ATTEMPTS: u32 = 3;
/// The most that is waited before the second attempt, and for twice as long before the third.
const BACKOFF_MS: u64 = 600;

/// One job of a function's.
pub(crate) struct FunctionJob<'a> {
    pub function: &'a str,
    /// Whose environments do it, where each tenant has environments of its own.
    pub tenant: Option<&'a TenantId>,
    pub payload: Vec<u8>,
    /// How long it is waited for: the function's own time-out, and a cold start.
    pub patience: Duration,
}

impl FunctionJob<'_> {
    /// Hands the job over until an environment takes it, and waits for what the function says.
    pub(crate) async fn invoke(
        &self,
        clients: &Clients,
    ) -> Result<InvokeOutput, SdkError<InvokeError>> {
        let mut attempt = 1;
        loop {
            match Box::pin(self.send_payload(clients)).await {
                Err(error) if is_busy(&error) && attempt < ATTEMPTS => {
                    let most_ms = BACKOFF_MS * u64::from(attempt);
                    let pause = Duration::from_millis(fastrand::u64(most_ms / 2..=most_ms));
                    tokio::time::sleep(pause).await;
                    attempt += 1;
                }
                answer => return answer,
            }
        }
    }

    async fn send_payload(&self, clients: &Clients) -> Result<InvokeOutput, SdkError<InvokeError>> {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(clients.settings.timeouts.connect)
            .operation_attempt_timeout(self.patience)
            .build();
        // A job whose time was over once is not done again.
        let patient =
            Config::builder().timeout_config(timeouts).retry_config(RetryConfig::disabled());
        let client = clients.lambda().await;
        let request = client.invoke().function_name(self.function);
        let request = request.set_tenant_id(self.tenant.map(|tenant| tenant.as_str().to_owned()));
        let payload = Blob::new(self.payload.clone());
        request.payload(payload).customize().config_override(patient).send().await
    }
}

/// Whether there is no room for a job at the moment, neither in the function nor in its network.
pub(crate) fn is_busy(error: &SdkError<InvokeError>) -> bool {
    matches!(
        error.code().unwrap_or_default(),
        "TooManyRequestsException" | "EC2ThrottledException" | "ResourceNotReadyException"
    )
}
