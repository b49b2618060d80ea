//! Synchronous invocations of functions with limited environments.

use std::time::Duration;

use aws_sdk_lambda::config::Config;
use aws_sdk_lambda::config::retry::RetryConfig;
use aws_sdk_lambda::config::timeout::TimeoutConfig;
use aws_sdk_lambda::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_lambda::operation::invoke::{InvokeError, InvokeOutput};
use aws_sdk_lambda::primitives::Blob;
use djinn_core::id::TenantId;

use crate::clients::Clients;

/// Maximum number of attempts while all environments of the function are busy.
const ATTEMPTS: u32 = 3;
/// Maximum wait before the second attempt; twice as long before the third.
const BACKOFF_MS: u64 = 600;

/// A job for a function.
pub(crate) struct FunctionJob<'a> {
    pub function: &'a str,
    /// The tenant, for functions with separate environments for each tenant.
    pub tenant: Option<&'a TenantId>,
    pub payload: Vec<u8>,
    /// Timeout of the invocation: the function's timeout, and a cold start.
    pub patience: Duration,
}

impl FunctionJob<'_> {
    /// Invokes the function, with retries while busy, and returns its response.
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
        // A job is not repeated after a timeout.
        let patient =
            Config::builder().timeout_config(timeouts).retry_config(RetryConfig::disabled());
        let client = clients.lambda().await;
        let request = client.invoke().function_name(self.function);
        let request = request.set_tenant_id(self.tenant.map(|tenant| tenant.as_str().to_owned()));
        let payload = Blob::new(self.payload.clone());
        request.payload(payload).customize().config_override(patient).send().await
    }
}

/// Returns true if the function or its network has no capacity at the moment.
pub(crate) fn is_busy(error: &SdkError<InvokeError>) -> bool {
    matches!(
        error.code().unwrap_or_default(),
        "TooManyRequestsException" | "EC2ThrottledException" | "ResourceNotReadyException"
    )
}
