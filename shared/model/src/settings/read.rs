//! Conversion of variables into settings.

mod sampling;

use std::collections::BTreeMap;
use std::time::Duration;

use djinn_core::settings::Role;
use djinn_runtime::port::secret::Secret;
use djinn_settings::table::model::member;
use djinn_settings::table::model::whole::{self, FALLBACK, ROLES};
use djinn_settings::table::model::{
    ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL, MODELS, OPENAI_API_KEY,
    OPENAI_BASE_URL, OPENAI_MODEL,
};
use djinn_settings::{Setting, VarLookup};
use reqwest::Url;
use sampling::{read_temperature, read_thinking};
use serde_json::{Map, Value};

use super::object_reader::ObjectReader;
use super::{
    FunctionCallType, ModelKey, ModelSettings, Provider, RoleModels, Settings, SettingsError,
    StreamFormat, inherited_role,
};

/// Fields of the body reserved for the client.
const RESERVED_MEMBERS: &[&str] = &["messages", "model", "stream", "system", "tools"];

pub(super) fn read_settings(var: VarLookup<'_>) -> Result<Settings, SettingsError> {
    let set = |name: &str| var(name).filter(|value| !value.trim().is_empty());
    match MODELS.find_text(var) {
        Some(json) => from_json(&json, &set),
        None => from_keys(var),
    }
}

fn from_keys(var: VarLookup<'_>) -> Result<Settings, SettingsError> {
    let from = |key: &Setting, url: &Setting, name: &Setting, provider: Provider| {
        let Some(secret) = key.find_text(var) else {
            return Ok(None);
        };
        let model = name.read_text(var).unwrap_or_default();
        let mut settings = ModelSettings::new(provider, model.trim());
        settings.key = ModelKey::Value(Secret::new(&secret));
        settings.base_url = match url.find_text(var) {
            Some(text) => {
                Some(normalize_base_url(url.name, &text, provider.stream_format(&model))?)
            }
            None => None,
        };
        Ok(Some(Settings::single("default", settings)))
    };
    let openai = from(&OPENAI_API_KEY, &OPENAI_BASE_URL, &OPENAI_MODEL, Provider::OPENAI)?;
    let settings = match openai {
        Some(settings) => Some(settings),
        None => {
            let provider = Provider::ANTHROPIC;
            from(&ANTHROPIC_API_KEY, &ANTHROPIC_BASE_URL, &ANTHROPIC_MODEL, provider)?
        }
    };
    Ok(settings.unwrap_or_default())
}

fn from_json(json: &str, var: VarLookup<'_>) -> Result<Settings, SettingsError> {
    let value: Value = serde_json::from_str(json).map_err(|error| {
        SettingsError::new(
            MODELS.name,
            format!("is not JSON: line {}, column {}", error.line(), error.column()),
        )
    })?;
    if !value.is_object() {
        return Err(SettingsError::wrong_value(MODELS.name, "an object", &value));
    }
    let mut fields = ObjectReader::new("", value)?;
    let default = fields.take_text(&whole::DEFAULT)?;
    let roles = fields.take_object(&ROLES)?.unwrap_or_default();
    let fallback = fields.take(&FALLBACK);
    let models = fields.take_object(&whole::MODELS)?.unwrap_or_default();
    fields.reject_unknown()?;

    let models = models
        .into_iter()
        .map(|(name, value)| {
            let model = read_model(&format!("models.{name}"), value, var)?;
            Ok((name, model))
        })
        .collect::<Result<BTreeMap<_, _>, _>>()?;
    if models.is_empty() {
        return Err(SettingsError::new(whole::MODELS.name, "must name at least one model"));
    }
    let check_name = |path: &str, name: String| {
        if models.contains_key(&name) {
            Ok(name)
        } else {
            Err(SettingsError::wrong_value(
                path,
                &list_choices(models.keys().map(String::as_str)),
                &Value::String(name),
            ))
        }
    };
    let default = match default {
        Some(name) => Some(check_name(whole::DEFAULT.name, name)?),
        None if models.len() == 1 => models.keys().next().cloned(),
        None => None,
    };
    let own = read_roles(ROLES.name, roles, &check_name)?;
    let needs_model = |role: &&Role| inherited_role(**role).is_none() && **role != Role::Second;
    for role in Role::ALL.iter().filter(needs_model) {
        if default.is_none() && !own.contains_key(role.as_str()) {
            return Err(SettingsError::new(
                whole::DEFAULT.name,
                format!(
                    "is missing: there are several models, and the role {} has no model",
                    role.as_str()
                ),
            ));
        }
    }
    let primary = RoleModels { default, by_role: own };
    let fallback = read_fallback(fallback, &primary, &check_name)?;
    Ok(Settings { models, primary, fallback, ..Settings::default() })
}

/// Reads the fallbacks: a model for every role, or a model for each listed role.
fn read_fallback(
    value: Option<Value>,
    primary: &RoleModels,
    check_name: &impl Fn(&str, String) -> Result<String, SettingsError>,
) -> Result<RoleModels, SettingsError> {
    let role_path = |role: Role| format!("{}.{}", FALLBACK.name, role.as_str());
    let same = |path: &str, name: &str| {
        SettingsError::wrong_value(
            path,
            "another model than the one it stands in for",
            &name.into(),
        )
    };
    match value {
        None => Ok(RoleModels::default()),
        Some(Value::String(name)) => {
            let name = check_name(FALLBACK.name, name)?;
            if Role::ALL.iter().all(|role| primary.of(*role) == Some(&name)) {
                return Err(same(FALLBACK.name, &name));
            }
            Ok(RoleModels { default: Some(name), by_role: BTreeMap::new() })
        }
        Some(Value::Object(roles)) => {
            let own = read_roles(FALLBACK.name, roles, check_name)?;
            for role in Role::ALL {
                let name = own.get(role.as_str()).filter(|name| primary.of(*role) == Some(*name));
                if let Some(name) = name {
                    return Err(same(&role_path(*role), name));
                }
            }
            Ok(RoleModels { default: None, by_role: own })
        }
        Some(other) => {
            Err(SettingsError::wrong_value(FALLBACK.name, &FALLBACK.kind.to_string(), &other))
        }
    }
}

fn read_roles(
    path: &str,
    roles: Map<String, Value>,
    check_name: &impl Fn(&str, String) -> Result<String, SettingsError>,
) -> Result<BTreeMap<String, String>, SettingsError> {
    let words = || Role::ALL.iter().map(|role| role.as_str());
    let read_role = |(role, value): (String, Value)| {
        let path = format!("{path}.{role}");
        if !words().any(|word| word == role) {
            let words: Vec<_> = words().collect();
            return Err(SettingsError::new(
                path,
                format!("is not a role; there are {}", words.join(", ")),
            ));
        }
        let name = value
            .as_str()
            .ok_or_else(|| SettingsError::wrong_value(path.as_str(), "a model's name", &value))?;
        Ok((role, check_name(&path, name.to_owned())?))
    };
    roles.into_iter().map(read_role).collect()
}

fn read_model(
    path: &str,
    value: Value,
    var: VarLookup<'_>,
) -> Result<ModelSettings, SettingsError> {
    let mut fields = ObjectReader::new(path, value)?;
    let word = fields
        .take_text(&member::PROVIDER)?
        .ok_or_else(|| SettingsError::new(fields.path_of(&member::PROVIDER), "is missing"))?;
    let provider = Provider::parse(&word).ok_or_else(|| {
        let path = fields.path_of(&member::PROVIDER);
        let choices = list_choices(Provider::all().map(Provider::as_str));
        SettingsError::wrong_value(path, &choices, &Value::String(word))
    })?;
    let name = fields
        .take_text(&member::MODEL)?
        .ok_or_else(|| SettingsError::new(fields.path_of(&member::MODEL), "is missing"))?;
    let mut model = ModelSettings::new(provider, &name);
    let shape = provider.stream_format(&name);
    if let Some(text) = fields.take_text(&member::BASE_URL)? {
        model.base_url =
            Some(normalize_base_url(&fields.path_of(&member::BASE_URL), &text, shape)?);
    }
    model.key = read_key(&mut fields, provider, model.base_url.is_some(), var)?;
    if let Some(tokens) = fields.take_integer(&member::MAX_TOKENS)? {
        model.max_tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
    }
    if let Some(tokens) = fields.take_integer(&member::MAX_INPUT_TOKENS)? {
        model.max_input_tokens = tokens;
    }
    model.temperature = read_temperature(&mut fields)?;
    model.thinking = read_thinking(&mut fields, provider.thinking_style(&name))?;
    model.function_call_type = read_call_type(&mut fields, provider)?;
    model.sees_images = fields.take_bool(&member::IMAGES)?.unwrap_or(model.sees_images);
    model.extra = read_extra(&mut fields, provider)?;
    for (row, timeout) in [
        (&member::FIRST_BYTE_TIMEOUT_S, &mut model.first_byte_timeout),
        (&member::CHUNK_TIMEOUT_S, &mut model.chunk_timeout),
        (&member::CALL_TIMEOUT_S, &mut model.call_timeout),
    ] {
        if let Some(seconds) = fields.take_integer(row)? {
            *timeout = Duration::from_secs(seconds);
        }
    }
    fields.reject_unknown()?;
    Ok(model)
}

fn read_key(
    fields: &mut ObjectReader,
    provider: Provider,
    has_base_url: bool,
    var: VarLookup<'_>,
) -> Result<ModelKey, SettingsError> {
    let path = fields.path_of(&member::KEY);
    let Some(text) = fields.take_text(&member::KEY)? else {
        return if provider.is_keyless(has_base_url) {
            Ok(ModelKey::None)
        } else {
            Err(SettingsError::new(path, format!("is missing: {} needs one", provider.as_str())))
        };
    };
    if provider.is_signed() {
        return Err(SettingsError::new(
            path,
            "must not be set: bedrock uses the function's own role",
        ));
    }
    match text.split_once(':') {
        Some(("env", name)) if !name.is_empty() => match var(name) {
            Some(secret) => Ok(ModelKey::Value(Secret::new(&secret))),
            None => Err(SettingsError::new(
                path,
                format!("names the variable {name}, which is not set"),
            )),
        },
        Some(("secret", name)) if !name.is_empty() => Ok(ModelKey::Stored(name.to_owned())),
        // The text may be a key, so the error does not repeat the text.
        Some(_) | None => Err(SettingsError::new(
            path,
            "must refer to the key, as `env:NAME` or `secret:NAME`, and must not be the key itself",
        )),
    }
}

/// Returns an address in normal form: with a slash after its path, and without the part appended by the
/// client.
fn normalize_base_url(
    path: &str,
    text: &str,
    shape: StreamFormat,
) -> Result<String, SettingsError> {
    let wrong = |problem: &str| SettingsError::new(path, problem);
    let mut url = Url::parse(text)
        .map_err(|error| SettingsError::new(path, format!("must be a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("must start with https:// or http:// and name a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not contain a user or a password"));
    }
    if url.query().is_some() && shape != StreamFormat::OpenAi {
        return Err(wrong("must not contain a query for this provider"));
    }
    url.set_fragment(None);
    let base_path = url.path().trim_end_matches('/').to_owned();
    let endpoint = match shape {
        StreamFormat::OpenAi => "/chat/completions",
        StreamFormat::Anthropic => "/messages",
        StreamFormat::Ollama => "/api/chat",
        StreamFormat::Events => "",
    };
    let bare = base_path.strip_suffix(endpoint).unwrap_or(&base_path).to_owned();
    url.set_path(&format!("{}/", bare.trim_end_matches('/')));
    Ok(url.into())
}

fn read_call_type(
    fields: &mut ObjectReader,
    provider: Provider,
) -> Result<FunctionCallType, SettingsError> {
    let kind = match fields.take_text(&member::FUNCTION_CALL_TYPE)?.as_deref() {
        None | Some("function_call") => FunctionCallType::FunctionCall,
        Some("struct_parse") => FunctionCallType::StructParse,
        Some(other) => {
            return Err(SettingsError::wrong_value(
                fields.path_of(&member::FUNCTION_CALL_TYPE),
                &member::FUNCTION_CALL_TYPE.kind.to_string(),
                &Value::String(other.to_owned()),
            ));
        }
    };
    if kind == FunctionCallType::FunctionCall && !provider.accepts_tools() {
        return Err(SettingsError::new(
            fields.path_of(&member::FUNCTION_CALL_TYPE),
            format!(
                "must be struct_parse: tools cannot be offered to {} otherwise",
                provider.as_str()
            ),
        ));
    }
    Ok(kind)
}

fn read_extra(
    fields: &mut ObjectReader,
    provider: Provider,
) -> Result<Map<String, Value>, SettingsError> {
    let extra = fields.take_object(&member::EXTRA)?.unwrap_or_default();
    let path = fields.path_of(&member::EXTRA);
    if !extra.is_empty() && !provider.accepts_extra() {
        return Err(SettingsError::new(path, format!("cannot be sent to {}", provider.as_str())));
    }
    match extra.keys().find(|key| RESERVED_MEMBERS.contains(&key.as_str())) {
        Some(key) => Err(SettingsError::new(format!("{path}.{key}"), "must not be replaced")),
        None => Ok(extra),
    }
}

fn list_choices<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.collect();
    match words.as_slice() {
        [only] => (*only).to_owned(),
        words => format!("one of {}", words.join(", ")),
    }
}
