//! The port's implementation.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use djinn_core::budget::Usage;
use djinn_core::input::Reply;
use djinn_core::settings::Role;
use djinn_runtime::port::model::{
    Delta, Model, ModelError, ModelErrorKind, ModelLimits, ModelRequest,
};
use djinn_runtime::port::secret::{Secret, SecretError, Secrets};
use djinn_runtime::prompt::Prompts;
use genai::Client;
use reqwest::redirect;
use tokio::sync::OnceCell;
use tracing::Instrument as _;

use crate::attempt::Attempt;
use crate::settings::{Key, ModelSettings, Settings};
use crate::{span, tokens};

/// Longest wait for a connection; the wait for the first byte is longer and includes it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an unused connection is kept. Short of the idle limits of the load balancers in front
/// of providers (60 s), which would reset it.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// The configured models, over one pool of connections.
///
/// Tokens that a provider does not report are 0 in [`Usage`]; `took_ms` is always measured.
pub struct Models<S> {
    settings: Settings,
    secrets: S,
    stored: BTreeMap<String, OnceCell<Secret>>,
    prompts: Prompts,
    client: OnceLock<Result<Client, String>>,
}

impl<S: Secrets> Models<S> {
    /// Models by these settings. Nothing is connected or read before the first call; each stored
    /// key is read once, until that succeeds.
    pub fn new(settings: Settings, secrets: S) -> Self {
        let stored =
            settings.stored_keys().map(|name| (name.to_owned(), OnceCell::new())).collect();
        Self { settings, secrets, stored, prompts: Prompts::default(), client: OnceLock::new() }
    }

    /// The settings, for whoever shows them.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn model(&self, role: Role) -> Result<(&str, &ModelSettings), ModelError> {
        self.settings.model(role).ok_or_else(|| {
            failed(ModelErrorKind::NotConfigured, format!("the role {} has none", role.as_str()))
        })
    }

    async fn key<'a>(&'a self, model: &'a ModelSettings) -> Result<Option<&'a Secret>, ModelError> {
        let name = match &model.key {
            Key::None => return Ok(None),
            Key::Given(secret) => return Ok(Some(secret)),
            Key::Stored(name) => name,
        };
        let cell = self.stored.get(name).ok_or_else(|| {
            failed(
                ModelErrorKind::NotConfigured,
                format!("the secret `{name}` was never asked for"),
            )
        })?;
        cell.get_or_try_init(|| self.secrets.secret(name)).await.map(Some).map_err(|error| {
            match &error {
                SecretError::Missing(why) => failed(ModelErrorKind::KeyMissing, why.as_str()),
                SecretError::Unavailable(why) => {
                    failed(ModelErrorKind::Unreachable, format!("its key cannot be read: {why}"))
                }
            }
        })
    }

    fn client(&self) -> Result<&Client, ModelError> {
        self.client
            .get_or_init(connect)
            .as_ref()
            .map_err(|error| failed(ModelErrorKind::Unreachable, error.as_str()))
    }

    async fn attempt(
        &self,
        model: &ModelSettings,
        request: &ModelRequest,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<Reply, ModelError> {
        let attempt = Attempt {
            client: self.client()?,
            model,
            key: self.key(model).await?,
            prompts: &self.prompts,
        };
        attempt.run(request, on_delta).await
    }
}

impl<S: Secrets> Model for Models<S> {
    fn limits(&self, role: Role) -> Result<ModelLimits, ModelError> {
        self.model(role).map(|(_, model)| ModelLimits {
            max_input_tokens: model.max_input_tokens,
            call_timeout: model.call_timeout,
        })
    }

    fn count_tokens(&self, role: Role, text: &str) -> u64 {
        let name = self.model(role).map_or("", |(_, model)| &model.model);
        tokens::count(name, text)
    }

    async fn call(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<Reply, ModelError> {
        let (name, model) = self.model(request.role)?;
        let span = span::open(name, model, request);
        let outcome = self.attempt(model, request, on_delta).instrument(span.clone()).await;
        span::close(&span, &outcome);
        outcome
    }
}

/// One client for all models: their waits are the attempt's business. Redirects are not followed,
/// so that a key never goes where the settings do not say.
fn connect() -> Result<Client, String> {
    let http = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .redirect(redirect::Policy::none())
        .tcp_nodelay(true)
        .user_agent(concat!("djinn/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| format!("the HTTP client cannot be built: {error}"))?;
    Client::builder()
        .with_reqwest(http)
        .build()
        .map_err(|error| format!("the model client cannot be built: {error}"))
}

fn failed(kind: ModelErrorKind, detail: impl Into<String>) -> ModelError {
    ModelError {
        kind,
        detail: djinn_runtime::prompt::cut(&detail.into(), 300),
        retry_after: None,
        usage: Usage::default(),
    }
}
