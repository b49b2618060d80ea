//! The configured models, and the model of each role.
//!
//! `djinn_settings::table::model` has a row for each; a test compares the two.

mod object_reader;
mod provider;
mod read;
mod sight;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use djinn_core::budget::Price;
use djinn_core::settings::Role;
use djinn_runtime::port::secret::Secret;
use serde_json::{Map, Value};

use crate::price::Prices;
pub use provider::Provider;
pub(crate) use provider::{StreamFormat, ThinkingStyle};

/// Every configured model and the role each has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    models: BTreeMap<String, ModelSettings>,
    primary: RoleModels,
    fallback: RoleModels,
    prices: Prices,
}

/// The names of the models of roles.
#[derive(Debug, Clone, Default, PartialEq)]
struct RoleModels {
    /// The model of every role without an entry of its own.
    default: Option<String>,
    by_role: BTreeMap<String, String>,
}

impl RoleModels {
    /// Returns the role's model. A role derived from another falls back to the other's model, then to the
    /// default.
    fn of(&self, role: Role) -> Option<&String> {
        let own = |role: Role| self.by_role.get(role.as_str());
        own(role).or_else(|| own(inherited_role(role)?)).or(self.default.as_ref())
    }
}

/// The endpoint and the call options of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// The provider decides the form of requests, streams and thinking.
    pub provider: Provider,
    /// The provider's name of the model, sent unchanged.
    pub model: String,
    /// The base URL, ending in `/` before any query; `None` means the provider's own address.
    pub base_url: Option<String>,
    /// The key may still have to be read from the store of secrets.
    pub key: ModelKey,
    /// Maximum tokens of one reply, 1-1 000 000, default 16 384.
    pub max_tokens: u32,
    /// Maximum tokens of input, 1 000-100 000 000, default 100 000.
    pub max_input_tokens: u64,
    /// The temperature is 0 by default, and some roles have their own.
    pub temperature: Temperature,
    /// The thinking effort; `None` means the provider's default.
    pub thinking: Option<Thinking>,
    /// The way of calling tools, native by default.
    pub function_call_type: FunctionCallType,
    /// True if the model accepts images; derived from the model's name by default.
    pub sees_images: bool,
    /// Fields merged into every request body, overriding ours.
    pub extra: Map<String, Value>,
    /// Longest wait for the first byte of a reply's body, 1-900 s, default 60 s.
    pub first_byte_timeout: Duration,
    /// Longest silence within a reply, 1-900 s, default 30 s.
    pub chunk_timeout: Duration,
    /// Maximum duration of a call from the request to the last byte, 1-900 s, default 300 s. Must fit into an
    /// invocation (`template.yaml`: 900 s) minus the handoff margin.
    pub call_timeout: Duration,
}

/// The source of a model's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelKey {
    /// The provider is called without a key of ours.
    None,
    /// The key from the environment.
    Value(Secret),
    /// The name or ARN of a key in the store of secrets, read on the first call.
    Stored(String),
}

/// A model's sampling temperature. The roles summary, compactor and employees always get 0.01, unless no
/// temperature is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Temperature {
    /// 0, or no temperature for models known to reject a temperature.
    #[default]
    Default,
    /// No temperature is ever sent.
    Never,
    /// A fixed temperature, 0-2, for any model.
    Fixed(f64),
}

/// A model's thinking effort before the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// Thinking is switched off, by effort `none` or by the provider's switch.
    Off,
    /// The effort is `low`; where thoughts have a budget, the output limit grows by 1 024 tokens.
    Low,
    /// The effort is `medium`; where thoughts have a budget, the limit grows by 8 000 tokens.
    Medium,
    /// The effort is `high`; where thoughts have a budget, the limit grows by 24 000 tokens.
    High,
    /// Maximum tokens of thinking; only for providers with a token budget.
    Tokens(u32),
}

/// The interface for tools and tool calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FunctionCallType {
    /// The provider's own tool interface.
    #[default]
    FunctionCall,
    /// Fenced JSON in the text, for models without native tool calls.
    StructParse,
}

/// An error in the settings: one sentence with the path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} {problem}")]
pub struct SettingsError {
    /// The variable, or the path within `DJINN_MODELS`: `models.main.max_tokens`.
    pub path: String,
    /// The problem, as the rest of the sentence.
    pub problem: String,
}

impl ModelSettings {
    /// Creates a model with all defaults and no key.
    #[must_use]
    pub fn new(provider: Provider, model: &str) -> Self {
        Self {
            provider,
            model: model.to_owned(),
            base_url: None,
            key: ModelKey::None,
            max_tokens: 16_384,
            max_input_tokens: 100_000,
            temperature: Temperature::Default,
            thinking: None,
            function_call_type: FunctionCallType::FunctionCall,
            sees_images: sight::sees_images_by_name(model),
            extra: Map::new(),
            first_byte_timeout: Duration::from_secs(60),
            chunk_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(300),
        }
    }
}

impl Settings {
    /// Reads `DJINN_MODELS`, by default `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`. Without any of these no
    /// model is configured, and calls return an error. `DJINN_PRICES` adds to our prices.
    ///
    /// # Errors
    /// Returns [`SettingsError`] for unknown, mistyped or out-of-range values, and for an `env:NAME` key if
    /// the variable is not set.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let prices = Prices::from_vars(&var)?;
        Ok(Self { prices, ..read::read_settings(&var)? })
    }

    /// Returns settings with a single model for every role.
    #[must_use]
    pub fn single(name: &str, model: ModelSettings) -> Self {
        Self {
            models: BTreeMap::from([(name.to_owned(), model)]),
            primary: RoleModels { default: Some(name.to_owned()), by_role: BTreeMap::new() },
            fallback: RoleModels::default(),
            prices: Prices::default(),
        }
    }

    /// Returns a role's model with its configured name, or `None` without configured models. A role derived
    /// from another falls back to the other's model.
    #[must_use]
    pub fn model(&self, role: Role) -> Option<(&str, &ModelSettings)> {
        self.find_model(self.primary_name(role)?)
    }

    /// Returns the fallback for a role's model, if a different model is configured.
    #[must_use]
    pub fn fallback(&self, role: Role) -> Option<(&str, &ModelSettings)> {
        let primary = self.primary_name(role)?;
        let name = self.fallback.of(role)?;
        self.find_model(name).filter(|_| primary != name)
    }

    /// Returns the name of a role's model. Only `second` has no model by default: an agent of an ensemble is
    /// left out without a second model.
    fn primary_name(&self, role: Role) -> Option<&String> {
        match role {
            Role::Second => self.primary.by_role.get(role.as_str()),
            _ => self.primary.of(role),
        }
    }

    fn find_model(&self, name: &str) -> Option<(&str, &ModelSettings)> {
        self.models.get_key_value(name).map(|(name, model)| (name.as_str(), model))
    }

    /// Returns a model's price, if known.
    #[must_use]
    pub fn price(&self, model: &ModelSettings) -> Option<Price> {
        self.prices.of(&model.model)
    }

    /// Returns the configured models without a price, by provider model name.
    #[must_use]
    pub fn unpriced_models(&self) -> BTreeSet<&str> {
        let models = self.models.values().map(|model| model.model.as_str());
        models.filter(|model| self.prices.of(model).is_none()).collect()
    }
}

/// Returns the role whose model serves this role too, unless this role has its own model.
fn inherited_role(role: Role) -> Option<Role> {
    match role {
        Role::Compactor => Some(Role::Summary),
        Role::Employees
        | Role::Code
        | Role::Data
        | Role::Analysis
        | Role::Report
        | Role::Search => Some(Role::Executor),
        Role::Router | Role::Critic => Some(Role::React),
        Role::React | Role::Summary | Role::Planner | Role::Executor | Role::Second => None,
    }
}

#[cfg(test)]
mod tests;
