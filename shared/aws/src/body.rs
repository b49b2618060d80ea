//! The content of an item: inline JSON, or a pointer to an object.

use serde::{Deserialize, Serialize};

/// Maximum bytes of inline JSON; longer JSON is stored in S3. Keeps items well below DynamoDB's 400 KB, and
/// transactions below 4 MB.
pub(crate) const MAX_INLINE: usize = 100 * 1024;

/// Maximum bytes of a round's start stored inline with each child; a longer start is stored once for all
/// children. Below this size, the write units of two children cost less than an object and its readers.
pub(crate) const MAX_INLINE_ROUND_START: usize = 4 * 1024;

/// The JSON of something stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    /// Inline JSON, at most `MAX_INLINE` bytes.
    Inline(String),
    /// A pointer to an object, written before the pointer.
    Spilled(Pointer),
}

impl Body {
    /// Returns the length of the JSON in bytes.
    pub(crate) fn total_bytes(&self) -> u64 {
        match self {
            Self::Inline(json) => json.len() as u64,
            Self::Spilled(pointer) => pointer.length,
        }
    }
}

/// A pointer to a body's object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pointer {
    /// The object's key in the bucket.
    pub(crate) object: String,
    /// The SHA-256 of the object's bytes, in hexadecimal digits.
    pub(crate) sha256: String,
    /// The length of the stored object is given in bytes.
    pub(crate) length: u64,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a strategy for inline texts of up to 60 characters, and for pointers.
    pub(crate) fn any_body() -> impl Strategy<Value = Body> {
        prop_oneof![".{0,60}".prop_map(Body::Inline), any_pointer().prop_map(Body::Spilled),]
    }

    /// Returns a strategy for well-formed pointers to objects that may not exist.
    pub(crate) fn any_pointer() -> impl Strategy<Value = Pointer> {
        ("[a-z/]{1,20}", "[0-9a-f]{64}", any::<u64>())
            .prop_map(|(object, sha256, length)| Pointer { object, sha256, length })
    }
}
