//! Serialization of bytes as base64 text in JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(in crate::port) fn serialize<S: Serializer>(
    bytes: &[u8],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

pub(in crate::port) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<u8>, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
    STANDARD.decode(text.as_bytes()).map_err(D::Error::custom)
}
