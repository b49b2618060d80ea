//! Users' own keys for tools: which ones tools need, and how a key reaches the store.

use std::collections::BTreeMap;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::NeededKey;
use djinn_core::id::KeyName;

use super::store_failure;
use crate::configuration::OfferProblem;
use crate::port::UserKey;
use crate::port::clock::Clock;
use crate::port::outside::SealJob;
use crate::port::sealed_key::{MAX_SEALED_KEYS, SealedKey, SealedKeyResult, SealedKeys};
use crate::port::secret::Secret;
use crate::port::tool::ToolAudience;
use crate::world::Ports;

/// Maximum bytes of a key.
const MAX_KEY: usize = 4_096;

/// The field of a key's value, in errors.
const VALUE: &str = "value";

/// A key that tools need or that is stored, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserKeyState {
    /// The name.
    pub name: KeyName,
    /// The only origin that receives the key.
    pub origin: String,
    /// The names of the tools that need the key.
    pub tools: Vec<String>,
    /// The time of the last change, Unix milliseconds; `None` if the key is not set.
    pub set_at_ms: Option<i64>,
}

/// Returns the keys that the tools of the user's tenant need, and the user's stored keys, by name and origin.
///
/// # Errors
/// Returns `store_unavailable` if the stored keys cannot be read.
pub async fn list_user_keys<P: Ports>(
    ports: &P,
    user: &UserKey,
) -> Result<Vec<UserKeyState>, Failure> {
    let stored = ports.store().list_sealed_keys(user).await;
    let stored = stored.map_err(|error| store_failure(&error))?;
    let mut keys: BTreeMap<(KeyName, String), UserKeyState> = BTreeMap::new();
    let new = |name: &KeyName, origin: &str| UserKeyState {
        name: name.clone(),
        origin: origin.to_owned(),
        tools: Vec::new(),
        set_at_ms: None,
    };
    for (tool, NeededKey { name, origin }) in list_needed_keys(ports, user) {
        let place = (name.clone(), origin.clone());
        keys.entry(place).or_insert_with(|| new(&name, &origin)).tools.push(tool);
    }
    for SealedKey { name, origin, set_at_ms, .. } in stored {
        let place = (name.clone(), origin.clone());
        keys.entry(place).or_insert_with(|| new(&name, &origin)).set_at_ms = Some(set_at_ms);
    }
    Ok(keys.into_values().collect())
}

/// Stores a user's key for the given origin, or for the only one with tools that need a key of this name.
///
/// # Errors
/// Returns the errors of [`set_user_key`], `key_not_found` if no tool needs the key, and `invalid_field` if the
/// origin is missing or another one.
pub async fn put_user_key<P: Ports>(
    ports: &P,
    user: &UserKey,
    name: KeyName,
    origin: Option<&str>,
    value: &Secret,
) -> Result<(), Failure> {
    check_value(value)?;
    let origin = find_origin(ports, user, &name, origin)?;
    set_user_key(ports, user, NeededKey { name, origin }, value).await
}

fn find_origin<P: Ports>(
    ports: &P,
    user: &UserKey,
    name: &KeyName,
    given: Option<&str>,
) -> Result<String, Failure> {
    let needed = list_needed_keys(ports, user).into_iter();
    let mut origins: Vec<String> =
        needed.filter(|(_, key)| key.name == *name).map(|(_, key)| key.origin).collect();
    origins.sort();
    origins.dedup();
    if origins.is_empty() {
        return Err(ErrorCode::KeyNotFound.into());
    }
    let list = origins.join(", ");
    let given = given.map(|origin| origin.trim_end_matches('/'));
    let found = match given {
        Some(given) => origins.into_iter().find(|origin| origin == given),
        None if origins.len() == 1 => origins.into_iter().next(),
        None => None,
    };
    found.ok_or_else(|| {
        let problem = format!("`origin` must be one that needs the key: {list}");
        Failure::new(ErrorCode::InvalidField, problem).with_field("origin")
    })
}

/// Seals a user's key and stores it. The key itself reaches only the gateway.
///
/// # Errors
/// Returns `invalid_field` or `too_long` for an unusable value, `too_many_keys`, `keys_unavailable` if the gateway
/// does not seal, and `store_unavailable`.
pub async fn set_user_key<P: Ports>(
    ports: &P,
    user: &UserKey,
    key: NeededKey,
    value: &Secret,
) -> Result<(), Failure> {
    check_value(value)?;
    let NeededKey { name, origin } = key;
    let owner = user.clone();
    let value = value.clone();
    let job = SealJob { owner, name: name.clone(), origin: origin.clone(), value };
    let sealed = ports.outside().seal_key(job).await.map_err(|error| {
        tracing::warn!(%error, "a key was not sealed");
        Failure::new(ErrorCode::KeysUnavailable, error.to_string())
    })?;
    let key = SealedKey { name, origin, sealed, set_at_ms: ports.clock().now_ms() };
    match ports.store().put_sealed_key(user, &key).await {
        Ok(SealedKeyResult::Stored) => Ok(()),
        Ok(SealedKeyResult::TooMany) => {
            Err(Failure::new(ErrorCode::TooManyKeys, MAX_SEALED_KEYS.to_string()))
        }
        Err(error) => Err(store_failure(&error)),
    }
}

/// Deletes a user's keys of this name. Needs no gateway.
///
/// # Errors
/// Returns `key_not_found` if the user has none, and `store_unavailable`.
pub async fn delete_user_key<P: Ports>(
    ports: &P,
    user: &UserKey,
    name: &KeyName,
) -> Result<(), Failure> {
    match ports.store().delete_sealed_keys(user, name).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(ErrorCode::KeyNotFound.into()),
        Err(error) => Err(store_failure(&error)),
    }
}

/// Returns the names of the tenant's tools with the keys that they need. Modes and agents do not matter.
fn list_needed_keys<P: Ports>(ports: &P, user: &UserKey) -> Vec<(String, NeededKey)> {
    let audience = ToolAudience { user: user.clone(), mode: String::new(), output_style: None };
    let tools = ports.configured_tools().callable;
    let tools = tools
        .iter()
        .filter(|tool| matches!(tool.check_audience(&audience), Ok(()) | Err(OfferProblem::Mode)));
    let needed =
        tools.filter_map(|tool| Some((tool.definition.name().to_owned(), tool.needed_key()?)));
    needed.collect()
}

/// Checks that a header can carry the key.
fn check_value(value: &Secret) -> Result<(), Failure> {
    let text = value.reveal();
    let problem = if text.is_empty() {
        Failure::new(ErrorCode::InvalidField, "`value` is empty")
    } else if text.len() > MAX_KEY {
        Failure::new(ErrorCode::TooLong, format!("`value`, at most {MAX_KEY} bytes"))
    } else if !text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        let problem = "`value` must consist of visible ASCII characters and spaces";
        Failure::new(ErrorCode::InvalidField, problem)
    } else {
        return Ok(());
    };
    Err(problem.with_field(VALUE))
}
