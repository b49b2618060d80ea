//! The AWS clients, created on first use.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::retry::{RetryConfig, RetryPartition, TokenBucket};
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use djinn_runtime::port::secret::Secret;
use tokio::sync::OnceCell;

use crate::counter::RequestCounter;
use crate::once::WriteOnceObjects;
use crate::settings::{LOCAL_ACCESS_KEY, LOCAL_REGION, LOCAL_SECRET_KEY, Settings};

/// Maximum number of idle connections to a local service. There many runs share a process, and each idle
/// connection would hold 30 KB for 90 s.
const MAX_IDLE: usize = 32;

/// The clients of one process. Each is created in a boxed future: otherwise every future around a first use
/// would reserve space for the creation.
#[derive(Debug)]
pub(crate) struct Clients {
    pub(crate) settings: Settings,
    pub(crate) counter: RequestCounter,
    pub(crate) round_starts: WriteOnceObjects,
    sdk_config: OnceCell<SdkConfig>,
    dynamodb: OnceCell<aws_sdk_dynamodb::Client>,
    s3: OnceCell<aws_sdk_s3::Client>,
    lambda: OnceCell<aws_sdk_lambda::Client>,
    scheduler: OnceCell<aws_sdk_scheduler::Client>,
    secrets: OnceCell<aws_sdk_secretsmanager::Client>,
}

impl Clients {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            counter: RequestCounter::default(),
            round_starts: WriteOnceObjects::default(),
            sdk_config: OnceCell::new(),
            dynamodb: OnceCell::new(),
            s3: OnceCell::new(),
            lambda: OnceCell::new(),
            scheduler: OnceCell::new(),
            secrets: OnceCell::new(),
        }
    }

    pub(crate) async fn dynamodb(&self) -> &aws_sdk_dynamodb::Client {
        let make = || async {
            let config = self.service_config(self.settings.endpoints.dynamodb.as_deref()).await;
            let config = aws_sdk_dynamodb::config::Builder::from(&config)
                .timeout_config(self.timeout_config())
                .retry_partition(unlimited_retries())
                .interceptor(self.counter.clone())
                .build();
            aws_sdk_dynamodb::Client::from_conf(config)
        };
        self.dynamodb.get_or_init(|| Box::pin(make())).await
    }

    pub(crate) async fn s3(&self) -> &aws_sdk_s3::Client {
        let make = || async {
            let endpoint = self.settings.endpoints.s3.as_deref();
            let config = self.service_config(endpoint).await;
            let timeouts = &self.settings.timeouts;
            let timeouts = TimeoutConfig::builder()
                .connect_timeout(timeouts.connect)
                .read_timeout(timeouts.object)
                .build();
            let config = aws_sdk_s3::config::Builder::from(&config)
                .timeout_config(timeouts)
                .force_path_style(endpoint.is_some())
                .retry_partition(unlimited_retries())
                .interceptor(self.counter.clone())
                .build();
            aws_sdk_s3::Client::from_conf(config)
        };
        self.s3.get_or_init(|| Box::pin(make())).await
    }

    pub(crate) async fn lambda(&self) -> &aws_sdk_lambda::Client {
        let make = || async {
            let endpoint = self.settings.endpoints.lambda.as_deref();
            let config = self.service_config(endpoint).await;
            let builder =
                aws_sdk_lambda::config::Builder::from(&config).interceptor(self.counter.clone());
            let config = match endpoint {
                None => builder.timeout_config(self.timeout_config()),
                // The local host responds only after the function ends. A timeout or a retry would run the
                // function twice.
                Some(_) => builder
                    .timeout_config(TimeoutConfig::disabled())
                    .retry_config(RetryConfig::disabled()),
            };
            aws_sdk_lambda::Client::from_conf(config.build())
        };
        self.lambda.get_or_init(|| Box::pin(make())).await
    }

    pub(crate) async fn scheduler(&self) -> &aws_sdk_scheduler::Client {
        let make = || async {
            let config = aws_sdk_scheduler::config::Builder::from(self.sdk_config().await)
                .timeout_config(self.timeout_config())
                .interceptor(self.counter.clone())
                .build();
            aws_sdk_scheduler::Client::from_conf(config)
        };
        self.scheduler.get_or_init(|| Box::pin(make())).await
    }

    pub(crate) async fn secrets(&self) -> &aws_sdk_secretsmanager::Client {
        let make = || async {
            let config = aws_sdk_secretsmanager::config::Builder::from(self.sdk_config().await)
                .timeout_config(self.timeout_config())
                .interceptor(self.counter.clone())
                .build();
            aws_sdk_secretsmanager::Client::from_conf(config)
        };
        self.secrets.get_or_init(|| Box::pin(make())).await
    }

    /// Returns the configuration of a service, local if an endpoint is set.
    async fn service_config(&self, endpoint: Option<&str>) -> SdkConfig {
        let Some(url) = endpoint else {
            return self.sdk_config().await.clone();
        };
        let key = self.settings.endpoints.key.as_ref().map_or(LOCAL_SECRET_KEY, Secret::reveal);
        let credentials = Credentials::new(LOCAL_ACCESS_KEY, key, None, None, "djinn-local");
        let http = aws_smithy_http_client::Builder::new().pool_max_idle_per_host(MAX_IDLE);
        // Root certificates are loaded only for TLS.
        let http = if url.starts_with("http://") {
            http.build_http()
        } else {
            http.tls_provider(Provider::Rustls(CryptoMode::AwsLc)).build_https()
        };
        SdkConfig::builder()
            .behavior_version(BEHAVIOR())
            .region(Region::new(LOCAL_REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .retry_config(self.retry_config())
            .http_client(http)
            .endpoint_url(url)
            .build()
    }

    /// Returns the configuration from the environment: variables on Lambda, the profile on a laptop.
    pub(crate) async fn sdk_config(&self) -> &SdkConfig {
        let load = || aws_config::defaults(BEHAVIOR()).retry_config(self.retry_config()).load();
        self.sdk_config.get_or_init(|| Box::pin(load())).await
    }

    fn retry_config(&self) -> RetryConfig {
        let timeouts = &self.settings.timeouts;
        RetryConfig::standard()
            .with_max_attempts(timeouts.attempts)
            .with_initial_backoff(timeouts.backoff)
    }

    fn timeout_config(&self) -> TimeoutConfig {
        let timeouts = &self.settings.timeouts;
        TimeoutConfig::builder()
            .connect_timeout(timeouts.connect)
            .operation_attempt_timeout(timeouts.attempt)
            .build()
    }
}

/// Returns a partition without a retry quota; each request has its own limit. The SDK's quota is shared by
/// all clients of a process and allows 35 failures. Our processes send few requests at once, and a run
/// without retries costs more.
fn unlimited_retries() -> RetryPartition {
    RetryPartition::custom("djinn").token_bucket(TokenBucket::unlimited()).build()
}

/// The SDK's defaults, pinned so that an update changes no behavior silently.
const BEHAVIOR: fn() -> BehaviorVersion = BehaviorVersion::v2026_01_12;

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::replay::{Replay, response};
    use aws_smithy_runtime_api::client::http::HttpClient;
    use aws_smithy_runtime_api::client::orchestrator::HttpRequest;

    /// Returns clients of AWS's own services with `http` as transport.
    pub(crate) fn clients_over(
        settings: Settings,
        http: impl HttpClient + 'static,
    ) -> Arc<Clients> {
        let credentials = Credentials::new(LOCAL_ACCESS_KEY, "key", None, None, "test");
        let config = SdkConfig::builder()
            .behavior_version(BEHAVIOR())
            .region(Region::new("eu-west-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .retry_config(RetryConfig::disabled())
            .http_client(http)
            .build();
        let config_cell = OnceCell::new_with(Some(config));
        Arc::new(Clients { sdk_config: config_cell, ..Clients::new(settings) })
    }

    /// Returns an HTTP client with prepared responses in order: a status with an error code, or a status with
    /// a body.
    pub(crate) fn replay_of(responses: &[(u16, &str)]) -> Replay {
        let answer = |&(status, text): &(u16, &str)| {
            let is_error = status >= 400;
            let body = if is_error { "{\"message\":\"no\"}" } else { text };
            let mut answer = response(status, body.to_owned());
            if is_error {
                answer.headers_mut().insert("x-amzn-errortype", text.to_owned());
            }
            answer
        };
        Replay::new(responses.iter().map(answer))
    }

    /// Returns the requests sent, as text: method, path and body.
    pub(crate) fn sent_requests(http: &Replay) -> Vec<String> {
        let requests = http.take_requests();
        let text = |request: &HttpRequest| {
            let path = request.uri().split_once(".com").map_or("", |(_, path)| path);
            let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default());
            format!("{} {path} {body}", request.method())
        };
        requests.iter().map(text).collect()
    }
}
