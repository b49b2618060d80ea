//! Which models there are and which role has which.
//!
//! `djinn_settings::table::model` has a row for each; a test compares the two.

mod json_lines;
mod object_reader;
mod provider;
mod read;
mod sight;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use djinn_core::budget::Price;
use djinn_core::settings::Role;
use djinn_runtime::port::secret::Secret;
use djinn_settings::VarLookup;
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
    /// That of every role that has none of its own.
    default: Option<String>,
    by_role: BTreeMap<String, String>,
}

impl RoleModels {
    /// A role that serves another has that one's unless it was given one.
    fn of(&self, role: Role) -> Option<&String> {
        let own = |role: Role| self.by_role.get(role.as_str());
        own(role).or_else(|| own(inherited_role(role)?)).or(self.default.as_ref())
    }
}

/// The settings of one model say where it is served and how it is called.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// The provider decides the form of requests, streams and thinking.
    pub provider: Provider,
    /// Its name as the provider knows it; sent exactly so.
    pub model: String,
    /// Where it is served, ending in `/` before any query; `None` is the provider's own address.
    pub base_url: Option<String>,
    /// The key may still have to be read from the store of secrets.
    pub key: ModelKey,
    /// The most tokens of one reply, 1-1 000 000, default 16 384.
    pub max_tokens: u32,
    /// Tokens of input it takes, 1 000-100 000 000, default 100 000.
    pub max_input_tokens: u64,
    /// The temperature is 0 by default, and some roles have their own.
    pub temperature: Temperature,
    /// How much it thinks; `None` leaves that to the provider.
    pub thinking: Option<Thinking>,
    /// How it calls tools.
    pub function_call_type: FunctionCallType,
    /// Whether it sees images; by its name where nothing is said.
    pub sees_images: bool,
    /// Members that are merged into every request body, over ours.
    pub extra: Map<String, Value>,
    /// Longest wait for the first byte of a reply's body, 1-900 s, default 60 s.
    pub first_byte_timeout: Duration,
    /// Longest silence within a reply, 1-900 s, default 30 s.
    pub chunk_timeout: Duration,
    /// Longest a call may take from the request to the last byte, 1-900 s, default 300 s. Must fit
    /// into an invocation (`template.yaml`: 900 s) less the hand-over margin.
    pub call_timeout: Duration,
}

/// Where a model's key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelKey {
    /// The provider is called without a key of ours.
    None,
    /// It was in the environment.
    Value(Secret),
    /// It lies under this name or ARN in the store of secrets, and is read on the first call.
    Stored(String),
}

/// A model's sampling temperature. The roles summary, compactor and employees always get 0.01, unless
/// none is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Temperature {
    /// 0, and none for models that are known to refuse one.
    #[default]
    Default,
    /// None is ever sent.
    Never,
    /// This one, 0-2, whatever the model is.
    Fixed(f64),
}

/// How much a model thinks before it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// The model is told not to think, by effort `none` or by the provider's switch.
    Off,
    /// The effort is `low`; where thoughts have a budget, the output limit grows by 1 024 tokens.
    Low,
    /// The effort is `medium`; where thoughts have a budget, the limit grows by 8 000 tokens.
    Medium,
    /// The effort is `high`; where thoughts have a budget, the limit grows by 24 000 tokens.
    High,
    /// At most this many tokens; only where the provider counts so.
    Tokens(u32),
}

/// How a model is told of tools and calls them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FunctionCallType {
    /// By the provider's own interface.
    #[default]
    FunctionCall,
    /// By fenced JSON in its text, for models without one.
    StructParse,
}

/// Why the settings cannot be used: one sentence that names the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} {problem}")]
pub struct SettingsError {
    /// The variable, or the path within `DJINN_MODELS`: `models.main.max_tokens`.
    pub path: String,
    /// What is wrong with it, as the rest of a sentence.
    pub problem: String,
}

/// What is wrong with settings that are a text of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFault {
    /// The line of the text, counted from 1.
    pub line: usize,
    /// What was found, and what may stand there. Never a key.
    pub rule: String,
}

impl ModelSettings {
    /// A model with every default and no key.
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
    /// Reads `DJINN_MODELS`, or without it `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`; with none of
    /// them no model is configured, and calls say so. `DJINN_PRICES` has prices besides ours. Where
    /// `DJINN_MODELS` names a text there is no model either before that was read.
    ///
    /// # Errors
    /// [`SettingsError`] for anything unknown, of the wrong type or out of range, and for an
    /// `env:NAME` key whose variable is not set.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let prices = Prices::from_vars(&var)?;
        Ok(Self { prices, ..read::read_settings(&var)? })
    }

    /// The text that `DJINN_MODELS` names, if it is no JSON: `@config/models.json` in the bucket, or a path that
    /// begins with `./`, `../` or `/`.
    #[must_use]
    pub fn find_text_path(var: VarLookup<'_>) -> Option<String> {
        read::find_text_path(var)
    }

    /// The settings in a text that `DJINN_MODELS` names, which holds what the variable would. Prices and keys
    /// that it names are read as of [`Self::from_vars`].
    ///
    /// # Errors
    /// [`SettingsFault`] for the first thing that is wrong.
    pub fn from_text(text: &str, var: VarLookup<'_>) -> Result<Self, SettingsFault> {
        let prices = Prices::from_vars(var)
            .map_err(|error| SettingsFault { line: 1, rule: error.to_string() })?;
        Ok(Self { prices, ..read::parse_text(text, var)? })
    }

    /// One model for every role.
    #[must_use]
    pub fn single(name: &str, model: ModelSettings) -> Self {
        Self {
            models: BTreeMap::from([(name.to_owned(), model)]),
            primary: RoleModels { default: Some(name.to_owned()), by_role: BTreeMap::new() },
            fallback: RoleModels::default(),
            prices: Prices::default(),
        }
    }

    /// The model of a role and its name here; `None` when no model is configured. A role that serves
    /// another has that one's unless it was given one.
    #[must_use]
    pub fn model(&self, role: Role) -> Option<(&str, &ModelSettings)> {
        self.find_model(self.primary.of(role)?)
    }

    /// The model that is asked where the role's own cannot answer, if there is another.
    #[must_use]
    pub fn fallback(&self, role: Role) -> Option<(&str, &ModelSettings)> {
        let name = self.fallback.of(role)?;
        self.find_model(name).filter(|_| self.primary.of(role) != Some(name))
    }

    fn find_model(&self, name: &str) -> Option<(&str, &ModelSettings)> {
        self.models.get_key_value(name).map(|(name, model)| (name.as_str(), model))
    }

    /// What a model costs, as far as that is known.
    #[must_use]
    pub fn price(&self, model: &ModelSettings) -> Option<Price> {
        self.prices.of(&model.model)
    }

    /// The configured models without a price, by their providers' names.
    #[must_use]
    pub fn unpriced_models(&self) -> BTreeSet<&str> {
        let models = self.models.values().map(|model| model.model.as_str());
        models.filter(|model| self.prices.of(model).is_none()).collect()
    }
}

/// The role whose model this one has as long as it has none of its own.
fn inherited_role(role: Role) -> Option<Role> {
    match role {
        Role::Compactor => Some(Role::Summary),
        Role::Employees | Role::Code | Role::Report | Role::Search => Some(Role::Executor),
        Role::React | Role::Summary | Role::Planner | Role::Executor => None,
    }
}

#[cfg(test)]
mod tests;
