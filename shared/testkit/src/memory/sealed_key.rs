//! Users' sealed keys in memory, by user, name and origin.

use djinn_core::id::KeyName;
use djinn_runtime::port::sealed_key::{MAX_SEALED_KEYS, SealedKey, SealedKeyResult, SealedKeys};
use djinn_runtime::port::{StoreError, UserKey};

use super::{MemoryStore, OpKind, State};

impl SealedKeys for MemoryStore {
    async fn put_sealed_key(
        &self,
        user: &UserKey,
        key: &SealedKey,
    ) -> Result<SealedKeyResult, StoreError> {
        self.perform(OpKind::PutSealedKey, None, None, |state| {
            let place = (user.clone(), key.name.clone(), key.origin.clone());
            let is_new = !state.sealed_keys.contains_key(&place);
            if is_new && state.list_sealed_keys(user).len() >= MAX_SEALED_KEYS {
                return Ok(SealedKeyResult::TooMany);
            }
            state.sealed_keys.insert(place, key.clone());
            Ok(SealedKeyResult::Stored)
        })
        .await
    }

    async fn find_sealed_key(
        &self,
        user: &UserKey,
        name: &KeyName,
        origin: &str,
    ) -> Result<Option<SealedKey>, StoreError> {
        let place = (user.clone(), name.clone(), origin.to_owned());
        self.perform(OpKind::FindSealedKey, None, None, |state| {
            Ok(state.sealed_keys.get(&place).cloned())
        })
        .await
    }

    async fn list_sealed_keys(&self, user: &UserKey) -> Result<Vec<SealedKey>, StoreError> {
        self.perform(OpKind::ListSealedKeys, None, None, |state| Ok(state.list_sealed_keys(user)))
            .await
    }

    async fn delete_sealed_keys(&self, user: &UserKey, name: &KeyName) -> Result<bool, StoreError> {
        self.perform(OpKind::DeleteSealedKeys, None, None, |state| {
            let before = state.sealed_keys.len();
            state.sealed_keys.retain(|(owner, other, _), _| owner != user || other != name);
            Ok(state.sealed_keys.len() < before)
        })
        .await
    }
}

impl State {
    fn list_sealed_keys(&self, user: &UserKey) -> Vec<SealedKey> {
        let keys = self.sealed_keys.iter().filter(|((owner, _, _), _)| owner == user);
        keys.map(|(_, key)| key.clone()).collect()
    }
}
