//! The operator's keys of engines and tools, with a cache of stored keys.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use djinn_runtime::port::secret::{Secret, SecretError, Secrets};

/// Statuses of a rejected key.
pub(crate) const KEY_REFUSALS: [u16; 2] = [401, 403];

/// The location of a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KeyLocation {
    None,
    Inline(Secret),
    Stored(String),
}

/// A store of keys. A stored key is read on first use, and again after a server rejected the key.
pub(crate) struct KeyCache<S> {
    secrets: S,
    /// Cached keys by name.
    keys: Mutex<BTreeMap<String, Secret>>,
}

impl<S: Secrets> KeyCache<S> {
    pub(crate) fn new(secrets: S) -> Self {
        Self { secrets, keys: Mutex::default() }
    }

    /// Returns the key; `None` if the location names none.
    pub(crate) async fn find_key(
        &self,
        location: &KeyLocation,
    ) -> Result<Option<Secret>, SecretError> {
        let name = match location {
            KeyLocation::None => return Ok(None),
            KeyLocation::Inline(key) => return Ok(Some(key.clone())),
            KeyLocation::Stored(name) => name,
        };
        if let Some(key) = self.lock_keys().get(name) {
            return Ok(Some(key.clone()));
        }
        let key = self.secrets.read_secret(name).await?;
        self.lock_keys().insert(name.clone(), key.clone());
        Ok(Some(key))
    }

    /// Removes a rejected key from the cache, unless a newer key was read meanwhile. Returns true if the key
    /// is a stored key.
    pub(crate) fn forget_key(&self, location: &KeyLocation, rejected: Option<&Secret>) -> bool {
        let KeyLocation::Stored(name) = location else { return false };
        let mut keys = self.lock_keys();
        if keys.get(name) == rejected {
            keys.remove(name);
        }
        true
    }

    /// Removes a stored key from the cache, so that its next reader reads the store.
    pub(crate) fn forget_location(&self, location: &KeyLocation) {
        if let KeyLocation::Stored(name) = location {
            self.lock_keys().remove(name);
        }
    }

    fn lock_keys(&self) -> MutexGuard<'_, BTreeMap<String, Secret>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
