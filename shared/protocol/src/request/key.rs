//! A key of the caller for tools.

use std::fmt;

use serde::Deserialize;

/// A key to be stored.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeyRequest {
    /// The key: at most 4096 visible ASCII characters. No route returns it.
    pub value: String,
    /// The origin that receives the key, if tools of several origins need a key of this name.
    pub origin: Option<String>,
}

impl fmt::Debug for KeyRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key for {:?}", self.origin)
    }
}
