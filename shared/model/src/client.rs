//! The model port is implemented here over the configured models.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError};

use djinn_core::budget::Usage;
use djinn_core::error_code::ErrorCode;
use djinn_core::input::Reply;
use djinn_core::settings::{ModelChoice, Role};
use djinn_runtime::port::model::{
    Delta, Model, ModelError, ModelErrorKind, ModelLimits, ModelRequest,
};
use djinn_runtime::port::secret::{Secret, SecretError, Secrets};
use djinn_runtime::prompt::Prompts;
use genai::Client;
use tokio::sync::Mutex;
use tracing::Instrument as _;

use crate::attempt::Attempt;
use crate::http::Http;
use crate::outage::Outages;
use crate::output_limits::OutputLimits;
use crate::rejected_tools::RejectedTools;
use crate::request::max_tokens;
use crate::settings::{ModelKey, ModelSettings, Settings};
use crate::span;
use crate::tokens::TokenCounter;

/// The configured models, over one pool of connections.
///
/// Token counts default to 0 in [`Usage`] if the provider reports none; `took_ms` is always measured.
pub struct Models<S> {
    settings: Arc<Settings>,
    prompts: Arc<Prompts>,
    outages: Arc<Outages>,
    output_limits: Arc<OutputLimits>,
    rejected_tools: Arc<RejectedTools>,
    connections: Arc<Connections<S>>,
}

/// The state kept across changes of settings.
struct Connections<S> {
    secrets: S,
    /// Keys already read, by secret name, until a provider rejects the key.
    stored_keys: std::sync::Mutex<BTreeMap<String, Arc<Mutex<Option<Secret>>>>>,
    token_counter: TokenCounter,
    http: Http,
    client: OnceLock<Result<Client, String>>,
}

impl<S: Secrets> Models<S> {
    /// Creates models from the settings, without opening connections or reading keys. A stored key is read on
    /// the first call, and again after a failed read or a rejection by the provider: the key may have been
    /// replaced.
    pub fn new(settings: Settings, secrets: S) -> Self {
        let connections = Connections {
            secrets,
            stored_keys: std::sync::Mutex::default(),
            token_counter: TokenCounter::default(),
            http: Http::default(),
            client: OnceLock::new(),
        };
        Self {
            settings: Arc::new(settings),
            prompts: Arc::default(),
            outages: Arc::default(),
            output_limits: Arc::default(),
            rejected_tools: Arc::default(),
            connections: Arc::new(connections),
        }
    }

    /// Returns the same models with other prompts. The prompts describe tools to models without native tool
    /// calls.
    #[must_use]
    pub fn with_prompts(&self, prompts: Arc<Prompts>) -> Self {
        Self {
            settings: Arc::clone(&self.settings),
            prompts,
            outages: Arc::clone(&self.outages),
            output_limits: Arc::clone(&self.output_limits),
            rejected_tools: Arc::clone(&self.rejected_tools),
            connections: Arc::clone(&self.connections),
        }
    }

    /// Returns models with other settings over the same connections. Recorded outages are cleared if the
    /// settings differ.
    #[must_use]
    pub fn with_settings(&self, settings: Settings) -> Self {
        let same = self.with_prompts(Arc::clone(&self.prompts));
        if settings == *self.settings {
            same
        } else {
            Self {
                settings: Arc::new(settings),
                outages: Arc::default(),
                output_limits: Arc::default(),
                rejected_tools: Arc::default(),
                ..same
            }
        }
    }

    /// Returns the pool of connections, for other HTTP clients of the process.
    #[must_use]
    pub fn http(&self) -> Http {
        self.connections.http.clone()
    }

    /// Returns the settings, for display.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the store of secrets, for other kinds of secrets.
    #[must_use]
    pub fn secrets(&self) -> &S {
        &self.connections.secrets
    }

    fn find_model(
        &self,
        role: Role,
        choice: ModelChoice,
    ) -> Result<(&str, &ModelSettings), ModelError> {
        let (model, none) = match choice {
            ModelChoice::Primary => (self.settings.model(role), "none"),
            ModelChoice::Fallback => (self.settings.fallback(role), "no fallback"),
        };
        model.ok_or_else(|| {
            let missing = format!("the role {} has {none}", role.as_str());
            model_error(ModelErrorKind::NotConfigured, missing)
        })
    }

    async fn load_key(&self, model: &ModelSettings) -> Result<Option<Secret>, ModelError> {
        let name = match &model.key {
            ModelKey::None => return Ok(None),
            ModelKey::Value(secret) => return Ok(Some(secret.clone())),
            ModelKey::Stored(name) => name,
        };
        let slot = self.stored_key(name);
        // Locked during the read, so that concurrent calls read the key once.
        let mut key = slot.lock().await;
        if key.is_none() {
            let result = self.connections.secrets.read_secret(name).await;
            *key = Some(result.map_err(|error| match error {
                SecretError::Missing(why) => model_error(ModelErrorKind::KeyMissing, why),
                SecretError::Unavailable(why) => model_error(
                    ModelErrorKind::Unreachable,
                    format!("its key cannot be read: {why}"),
                ),
            })?);
        }
        Ok(key.clone())
    }

    /// Removes a rejected key from the cache, unless another key was read meanwhile.
    async fn forget_key(&self, model: &ModelSettings, rejected_key: Option<&Secret>) {
        if let ModelKey::Stored(name) = &model.key {
            self.stored_key(name)
                .lock()
                .await
                .take_if(|cached_key| Some(&*cached_key) == rejected_key);
        }
    }

    fn stored_key(&self, name: &str) -> Arc<Mutex<Option<Secret>>> {
        let keys = self.connections.stored_keys.lock();
        let mut keys = keys.unwrap_or_else(PoisonError::into_inner);
        Arc::clone(keys.entry(name.to_owned()).or_default())
    }

    async fn attempt_call(
        &self,
        (name, model): (&str, &ModelSettings),
        request: &ModelRequest,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<Reply, ModelError> {
        let Connections { client, http, .. } = &*self.connections;
        let client = client
            .get_or_init(|| build_client(http))
            .as_ref()
            .map_err(|error| model_error(ModelErrorKind::Unreachable, error.as_str()))?;
        let key = self.load_key(model).await?;
        let attempt = Attempt {
            client,
            name,
            model,
            key: key.as_ref(),
            prompts: &self.prompts,
            output_limits: &self.output_limits,
            rejected_tools: &self.rejected_tools,
        };
        let outcome = attempt.run(request, on_delta).await;
        if outcome.as_ref().is_err_and(|error| error.kind == ModelErrorKind::KeyRefused) {
            self.forget_key(model, key.as_ref()).await;
        }
        outcome
    }
}

impl<S: Secrets> Model for Models<S> {
    fn limits(&self, role: Role, choice: ModelChoice) -> Result<ModelLimits, ModelError> {
        self.find_model(role, choice).map(|(name, model)| ModelLimits {
            max_input_tokens: model.max_input_tokens,
            max_output_tokens: self
                .output_limits
                .cap(name, max_tokens(model, model.thinking))
                .into(),
            price: self.settings.price(model),
            call_timeout: model.call_timeout,
            sees_images: model.sees_images,
        })
    }

    fn name(&self, role: Role, choice: ModelChoice) -> Option<&str> {
        self.find_model(role, choice).ok().map(|(name, _)| name)
    }

    fn count_tokens(&self, text: &str) -> u64 {
        self.connections.token_counter.count(text)
    }

    async fn call(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<Reply, ModelError> {
        let (name, model) = self.find_model(request.role, request.choice)?;
        let span = span::start_span(name, model, request);
        let outcome =
            self.attempt_call((name, model), request, on_delta).instrument(span.clone()).await;
        span::end_span(&span, &outcome);
        outcome
    }

    fn outage(&self, role: Role) -> Option<ErrorCode> {
        let (name, _) = self.settings.model(role)?;
        self.outages.of(name)
    }

    fn set_outage(&self, role: Role, outage: Option<ErrorCode>) {
        if let Some((name, _)) = self.settings.model(role) {
            self.outages.set(name, outage);
        }
    }
}

/// Builds one client for all models, without timeouts: each attempt sets its own.
fn build_client(http: &Http) -> Result<Client, String> {
    Client::builder()
        .with_reqwest(http.client()?.clone())
        .build()
        .map_err(|error| format!("the model client cannot be built: {error}"))
}

fn model_error(kind: ModelErrorKind, detail: impl Into<String>) -> ModelError {
    ModelError {
        kind,
        detail: djinn_runtime::prompt::truncate_text(&detail.into(), 300),
        retry_after: None,
        usage: Usage::default(),
    }
}
