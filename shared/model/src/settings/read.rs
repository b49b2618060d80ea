//! From variables to settings.

use std::collections::BTreeMap;
use std::time::Duration;

use djinn_core::settings::Role;
use djinn_runtime::port::secret::Secret;
use reqwest::Url;
use serde_json::{Map, Value};

use super::fields::Fields;
use super::{
    ByRole, FunctionCallType, Key, ModelSettings, Provider, Settings, SettingsError, Shape,
    Temperature, Thinking, ThinkingStyle, served,
};

/// Roles of agents that are still to come: a configuration may name them already.
const LATER_ROLES: &[&str] = &["report", "search", "code", "analysis"];

/// Members of the body that the client itself depends on.
const OURS: &[&str] = &["messages", "model", "stream", "system", "tools"];

type Vars<'a> = &'a dyn Fn(&str) -> Option<String>;

pub(super) fn settings(var: Vars<'_>) -> Result<Settings, SettingsError> {
    let set = |name: &str| var(name).filter(|value| !value.trim().is_empty());
    match set("DJINN_MODELS") {
        Some(json) => from_json(&json, &set),
        None => from_keys(&set),
    }
}

fn from_keys(var: Vars<'_>) -> Result<Settings, SettingsError> {
    let from = |key: &str, url: &str, name: &str, provider, model: &str| {
        let Some(secret) = var(key) else {
            return Ok(None);
        };
        let model = var(name).unwrap_or_else(|| model.to_owned());
        let mut settings = ModelSettings::new(provider, model.trim());
        settings.key = Key::Given(Secret::new(&secret));
        settings.base_url = match var(url) {
            Some(text) => Some(base_url(url, &text, provider.shape(&model))?),
            None => None,
        };
        Ok(Some(Settings::single("default", settings)))
    };
    let openai =
        from("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", Provider::OPENAI, "gpt-4.1")?;
    let settings = match openai {
        Some(settings) => Some(settings),
        None => from(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            Provider::ANTHROPIC,
            "claude-sonnet-5",
        )?,
    };
    Ok(settings.unwrap_or_default())
}

fn from_json(json: &str, var: Vars<'_>) -> Result<Settings, SettingsError> {
    let value: Value = serde_json::from_str(json).map_err(|error| {
        SettingsError::new(
            "DJINN_MODELS",
            format!("is not JSON: line {}, column {}", error.line(), error.column()),
        )
    })?;
    if !value.is_object() {
        return Err(SettingsError::wrong("DJINN_MODELS", "an object", &value));
    }
    let mut fields = Fields::new("", value)?;
    let default = fields.text("default")?;
    let roles = fields.object("roles")?.unwrap_or_default();
    let fallback = fields.take("fallback");
    let models = fields.object("models")?.unwrap_or_default();
    fields.done()?;

    let models = models
        .into_iter()
        .map(|(name, value)| {
            let model = model(&format!("models.{name}"), value, var)?;
            Ok((name, model))
        })
        .collect::<Result<BTreeMap<_, _>, _>>()?;
    if models.is_empty() {
        return Err(SettingsError::new("models", "must name at least one model"));
    }
    let known = |path: &str, name: String| match models.contains_key(&name) {
        true => Ok(name),
        false => Err(SettingsError::wrong(
            path,
            &one_of(models.keys().map(String::as_str)),
            &Value::String(name),
        )),
    };
    let default = match default {
        Some(name) => Some(known("default", name)?),
        None if models.len() == 1 => models.keys().next().cloned(),
        None => None,
    };
    let own = read_roles("roles", roles, &known)?;
    for role in Role::ALL.iter().filter(|role| served(**role).is_none()) {
        if default.is_none() && !own.contains_key(role.as_str()) {
            return Err(SettingsError::new(
                "default",
                format!(
                    "is missing: there are several models and the role {} has none",
                    role.as_str()
                ),
            ));
        }
    }
    let primary = ByRole { default, own };
    let fallback = read_fallback(fallback, &primary, &known)?;
    Ok(Settings { models, primary, fallback, ..Settings::default() })
}

/// One model for every role, or one for each role that is named.
fn read_fallback(
    value: Option<Value>,
    primary: &ByRole,
    known: &impl Fn(&str, String) -> Result<String, SettingsError>,
) -> Result<ByRole, SettingsError> {
    const PATH: &str = "fallback";
    let same = |path: &str, name: &str| {
        SettingsError::wrong(path, "another model than the one it stands in for", &name.into())
    };
    match value {
        None => Ok(ByRole::default()),
        Some(Value::String(name)) => {
            let name = known(PATH, name)?;
            if Role::ALL.iter().all(|role| primary.of(*role) == Some(&name)) {
                return Err(same(PATH, &name));
            }
            Ok(ByRole { default: Some(name), own: BTreeMap::new() })
        }
        Some(Value::Object(roles)) => {
            let own = read_roles(PATH, roles, known)?;
            for role in Role::ALL {
                let name = own.get(role.as_str()).filter(|name| primary.of(*role) == Some(*name));
                if let Some(name) = name {
                    return Err(same(&format!("{PATH}.{}", role.as_str()), name));
                }
            }
            Ok(ByRole { default: None, own })
        }
        Some(other) => {
            Err(SettingsError::wrong(PATH, "a model's name, or an object of roles", &other))
        }
    }
}

fn read_roles(
    path: &str,
    roles: Map<String, Value>,
    known: &impl Fn(&str, String) -> Result<String, SettingsError>,
) -> Result<BTreeMap<String, String>, SettingsError> {
    roles.into_iter().map(|(role, value)| read_role(path, role, &value, known)).collect()
}

fn read_role(
    path: &str,
    role: String,
    value: &Value,
    known: &impl Fn(&str, String) -> Result<String, SettingsError>,
) -> Result<(String, String), SettingsError> {
    let path = format!("{path}.{role}");
    let words = || Role::ALL.iter().map(|role| role.as_str()).chain(LATER_ROLES.iter().copied());
    if !words().any(|word| word == role) {
        let words: Vec<_> = words().collect();
        return Err(SettingsError::new(
            path,
            format!("is no role; there are {}", words.join(", ")),
        ));
    }
    let name = value
        .as_str()
        .ok_or_else(|| SettingsError::wrong(path.as_str(), "a model's name", value))?;
    let name = known(&path, name.to_owned())?;
    Ok((role, name))
}

fn model(path: &str, value: Value, var: Vars<'_>) -> Result<ModelSettings, SettingsError> {
    let mut fields = Fields::new(path, value)?;
    let provider = provider(&mut fields)?;
    let name = fields
        .text("model")?
        .ok_or_else(|| SettingsError::new(fields.path("model"), "is missing"))?;
    let mut model = ModelSettings::new(provider, &name);
    let shape = provider.shape(&name);
    if let Some(text) = fields.text("base_url")? {
        model.base_url = Some(base_url(&fields.path("base_url"), &text, shape)?);
    }
    model.key = key(&mut fields, provider, model.base_url.is_some(), var)?;
    if let Some(tokens) = fields.whole("max_tokens", 1, 1_000_000)? {
        model.max_tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
    }
    if let Some(tokens) = fields.whole("max_input_tokens", 1_000, 100_000_000)? {
        model.max_input_tokens = tokens;
    }
    model.temperature = temperature(&mut fields)?;
    model.thinking = thinking(&mut fields, provider.thinking_style(&name))?;
    model.function_call_type = function_call_type(&mut fields, provider)?;
    model.extra = extra(&mut fields, provider)?;
    for (key, timeout) in [
        ("first_byte_timeout_s", &mut model.first_byte_timeout),
        ("chunk_timeout_s", &mut model.chunk_timeout),
        ("call_timeout_s", &mut model.call_timeout),
    ] {
        if let Some(seconds) = fields.whole(key, 1, 900)? {
            *timeout = Duration::from_secs(seconds);
        }
    }
    fields.done()?;
    Ok(model)
}

fn provider(fields: &mut Fields) -> Result<Provider, SettingsError> {
    let word = fields
        .text("provider")?
        .ok_or_else(|| SettingsError::new(fields.path("provider"), "is missing"))?;
    Provider::parse(&word).ok_or_else(|| {
        SettingsError::wrong(
            fields.path("provider"),
            &one_of(Provider::all().map(Provider::as_str)),
            &Value::String(word),
        )
    })
}

fn key(
    fields: &mut Fields,
    provider: Provider,
    has_base_url: bool,
    var: Vars<'_>,
) -> Result<Key, SettingsError> {
    let path = fields.path("key");
    let Some(text) = fields.text("key")? else {
        return if provider.is_keyless(has_base_url) {
            Ok(Key::None)
        } else {
            Err(SettingsError::new(path, format!("is missing: {} needs one", provider.as_str())))
        };
    };
    if provider.is_signed() {
        return Err(SettingsError::new(
            path,
            "must be left out: bedrock is called with the function's own role",
        ));
    }
    match text.split_once(':') {
        Some(("env", name)) if !name.is_empty() => match var(name) {
            Some(secret) => Ok(Key::Given(Secret::new(&secret))),
            None => Err(SettingsError::new(
                path,
                format!("names the variable {name}, which is not set"),
            )),
        },
        Some(("secret", name)) if !name.is_empty() => Ok(Key::Stored(name.to_owned())),
        // The text may be a key: it is not repeated.
        Some(_) | None => Err(SettingsError::new(
            path,
            "must say where the key is, `env:NAME` or `secret:NAME`, and never be the key itself",
        )),
    }
}

/// An address in its one form: with a slash after its path, and without what the client appends.
fn base_url(path: &str, text: &str, shape: Shape) -> Result<String, SettingsError> {
    let wrong = |problem: &str| SettingsError::new(path, problem);
    let mut url = Url::parse(text)
        .map_err(|error| SettingsError::new(path, format!("must be a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("must start with https:// or http:// and name a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not hold a user or a password"));
    }
    if url.query().is_some() && shape != Shape::OpenAi {
        return Err(wrong("must not hold a query for this provider"));
    }
    url.set_fragment(None);
    let trimmed = url.path().trim_end_matches('/').to_owned();
    let appended = match shape {
        Shape::OpenAi => "/chat/completions",
        Shape::Anthropic => "/messages",
        Shape::Ollama => "/api/chat",
        Shape::Events => "",
    };
    let bare = trimmed.strip_suffix(appended).unwrap_or(&trimmed).to_owned();
    url.set_path(&format!("{}/", bare.trim_end_matches('/')));
    Ok(url.into())
}

fn temperature(fields: &mut Fields) -> Result<Temperature, SettingsError> {
    match fields.take("temperature") {
        None => Ok(Temperature::Default),
        Some(Value::Null) => Ok(Temperature::Never),
        Some(value) => match value.as_f64() {
            Some(number) if (0.0..=2.0).contains(&number) => Ok(Temperature::Fixed(number)),
            Some(_) | None => Err(SettingsError::wrong(
                fields.path("temperature"),
                "a number between 0 and 2, or null to send none",
                &value,
            )),
        },
    }
}

fn thinking(fields: &mut Fields, style: ThinkingStyle) -> Result<Option<Thinking>, SettingsError> {
    let Some(value) = fields.take("thinking") else {
        return Ok(None);
    };
    let tokens = value
        .as_u64()
        .or_else(|| value.as_str()?.parse::<u64>().ok())
        .and_then(|number| u32::try_from(number).ok());
    let thinking = match (value.as_str(), tokens) {
        (Some("off"), _) => Some(Thinking::Off),
        (Some("low"), _) => Some(Thinking::Low),
        (Some("medium"), _) => Some(Thinking::Medium),
        (Some("high"), _) => Some(Thinking::High),
        (_, Some(tokens)) if tokens > 0 && style == ThinkingStyle::Budget => {
            Some(Thinking::Tokens(tokens))
        }
        _ => None,
    };
    let expected = match style {
        ThinkingStyle::Budget => "off, low, medium, high or a number of tokens",
        ThinkingStyle::Effort
        | ThinkingStyle::Level
        | ThinkingStyle::Switch
        | ThinkingStyle::SwitchAndEffort => "off, low, medium or high for this provider",
    };
    match thinking {
        Some(thinking) => Ok(Some(thinking)),
        None => Err(SettingsError::wrong(fields.path("thinking"), expected, &value)),
    }
}

fn function_call_type(
    fields: &mut Fields,
    provider: Provider,
) -> Result<FunctionCallType, SettingsError> {
    let kind = match fields.text("function_call_type")?.as_deref() {
        None | Some("function_call") => FunctionCallType::FunctionCall,
        Some("struct_parse") => FunctionCallType::StructParse,
        Some(other) => {
            return Err(SettingsError::wrong(
                fields.path("function_call_type"),
                "function_call or struct_parse",
                &Value::String(other.to_owned()),
            ));
        }
    };
    if kind == FunctionCallType::FunctionCall && !provider.takes_tools() {
        return Err(SettingsError::new(
            fields.path("function_call_type"),
            format!(
                "must be struct_parse: tools cannot be offered to {} otherwise",
                provider.as_str()
            ),
        ));
    }
    Ok(kind)
}

fn extra(fields: &mut Fields, provider: Provider) -> Result<Map<String, Value>, SettingsError> {
    let extra = fields.object("extra")?.unwrap_or_default();
    let path = fields.path("extra");
    if !extra.is_empty() && !provider.takes_extra() {
        return Err(SettingsError::new(path, format!("cannot be sent to {}", provider.as_str())));
    }
    match extra.keys().find(|key| OURS.contains(&key.as_str())) {
        Some(key) => Err(SettingsError::new(format!("{path}.{key}"), "must not be replaced")),
        None => Ok(extra),
    }
}

fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.collect();
    match words.as_slice() {
        [only] => (*only).to_owned(),
        words => format!("one of {}", words.join(", ")),
    }
}
