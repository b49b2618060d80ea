//! Stored items, with a file for each: the key, the writer and the reader.

pub(crate) mod active;
pub(crate) mod calls;
pub(crate) mod day;
pub(crate) mod exchange;
pub(crate) mod expected_file;
pub(crate) mod file;
pub(crate) mod live;
pub(crate) mod mail;
pub(crate) mod memory;
pub(crate) mod minute;
pub(crate) mod permits;
pub(crate) mod record;
pub(crate) mod request;
pub(crate) mod run;
pub(crate) mod sealed_key;
pub(crate) mod session;
pub(crate) mod share;
pub(crate) mod user_run;
pub(crate) mod user_session;

#[cfg(test)]
pub(crate) mod sample;

use djinn_runtime::port::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::key::{Attributes, ItemKey, PARTITION, SORT};

/// Returns the item's attributes with its key.
fn write_item<T: Serialize>(key: ItemKey, item: &T) -> Result<Attributes, StoreError> {
    let place = format!("{} / {}", key.pk, key.sk);
    let mut attributes: Attributes = serde_dynamo::to_item(item)
        .map_err(|error| StoreError::Unreadable(format!("{place} cannot be written: {error}")))?;
    attributes.extend(key.into_attributes());
    Ok(attributes)
}

/// Reads an item. Unknown attributes are ignored: newer code may have added more.
fn read_item<T: DeserializeOwned>(attributes: Attributes) -> Result<T, StoreError> {
    let text = |name: &str| attributes.get(name).and_then(|v| v.as_s().ok()).cloned();
    let place =
        format!("{} / {}", text(PARTITION).unwrap_or_default(), text(SORT).unwrap_or_default());
    serde_dynamo::from_item(attributes)
        .map_err(|error| StoreError::Unreadable(format!("{place}: {error}")))
}
