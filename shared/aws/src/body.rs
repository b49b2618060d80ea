//! What an item holds: the text itself, or a pointer to the object that holds it.

use serde::{Deserialize, Serialize};

/// Bytes of JSON that an item holds itself; longer ones go to S3. Keeps an item far below
/// DynamoDB's 400 KB, and a transaction below its 4 MB.
pub(crate) const MAX_INLINE: usize = 100 * 1024;

/// Bytes of JSON that each child of a round holds itself; more than that is stored once for all of them.
/// Below it, the units that two children are written with cost less than an object and its readers.
pub(crate) const MAX_INLINE_ROUND_START: usize = 4 * 1024;

/// The JSON of something stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    /// The item holds the JSON itself, at most `MAX_INLINE` bytes of it.
    Inline(String),
    /// In the bucket. The object was there before the pointer.
    Spilled(Pointer),
}

/// An object that holds a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pointer {
    /// Its key in the bucket.
    pub(crate) object: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub(crate) sha256: String,
    /// The length of the stored object is given in bytes.
    pub(crate) length: u64,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The strategy makes inline texts of up to 60 characters, and pointers.
    pub(crate) fn any_body() -> impl Strategy<Value = Body> {
        prop_oneof![".{0,60}".prop_map(Body::Inline), any_pointer().prop_map(Body::Spilled),]
    }

    /// The strategy makes pointers of the right form, to objects that need not exist.
    pub(crate) fn any_pointer() -> impl Strategy<Value = Pointer> {
        ("[a-z/]{1,20}", "[0-9a-f]{64}", any::<u64>())
            .prop_map(|(object, sha256, length)| Pointer { object, sha256, length })
    }
}
