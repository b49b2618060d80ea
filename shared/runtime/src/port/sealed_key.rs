//! The keys of single users for tools, sealed by the gateway.

use std::fmt;

use djinn_core::id::KeyName;

use super::{StoreError, UserKey};

/// The maximum number of keys of a user.
pub const MAX_SEALED_KEYS: usize = 100;

/// A user's key for the tools of one origin. Only the gateway can open the key.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedKey {
    /// The name in the files of tools.
    pub name: KeyName,
    /// The only origin that receives the key: scheme, host and port.
    pub origin: String,
    /// The sealed key in base64, as [`Outside::seal_key`](super::outside::Outside::seal_key) returned it.
    pub sealed: String,
    /// The time of the last change, Unix milliseconds.
    pub set_at_ms: i64,
}

impl fmt::Debug for SealedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key {} for {}", self.name, self.origin)
    }
}

/// The result of storing a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedKeyResult {
    /// The key is stored, in place of the user's earlier key of this name and origin.
    Stored,
    /// The user has the maximum number of keys.
    TooMany,
}

/// The store of sealed keys. Needs `dynamodb:GetItem`, `Query`, `PutItem` and `DeleteItem` on the table. Keys do
/// not expire. All reads are strongly consistent.
pub trait SealedKeys {
    /// Stores a user's key. Concurrent writers may exceed the maximum number by one each.
    fn put_sealed_key(
        &self,
        user: &UserKey,
        key: &SealedKey,
    ) -> impl Future<Output = Result<SealedKeyResult, StoreError>> + Send;

    /// Returns a user's key of this name for an origin.
    fn find_sealed_key(
        &self,
        user: &UserKey,
        name: &KeyName,
        origin: &str,
    ) -> impl Future<Output = Result<Option<SealedKey>, StoreError>> + Send;

    /// Returns all keys of a user, by name and origin.
    fn list_sealed_keys(
        &self,
        user: &UserKey,
    ) -> impl Future<Output = Result<Vec<SealedKey>, StoreError>> + Send;

    /// Deletes a user's keys of this name, for every origin; returns `false` if there is none.
    fn delete_sealed_keys(
        &self,
        user: &UserKey,
        name: &KeyName,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;
}
