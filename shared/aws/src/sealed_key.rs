//! Users' keys, each an item of its user's partition.

use djinn_core::id::KeyName;
use djinn_runtime::port::sealed_key::{MAX_SEALED_KEYS, SealedKey, SealedKeyResult, SealedKeys};
use djinn_runtime::port::{StoreError, UserKey};

use crate::change::ItemChange;
use crate::item::sealed_key::SealedKeyItem;
use crate::key::{Attributes, KEY, key_prefix, user_partition};
use crate::query::Query;
use crate::store::AwsStore;

impl SealedKeys for AwsStore {
    async fn put_sealed_key(
        &self,
        user: &UserKey,
        key: &SealedKey,
    ) -> Result<SealedKeyResult, StoreError> {
        let keys = self.list_sealed_keys(user).await?;
        let is_new = !keys.iter().any(|other| other.name == key.name && other.origin == key.origin);
        if is_new && keys.len() >= MAX_SEALED_KEYS {
            return Ok(SealedKeyResult::TooMany);
        }
        self.put_item(SealedKeyItem::from(key.clone()).to_item(user)?).await?;
        Ok(SealedKeyResult::Stored)
    }

    async fn find_sealed_key(
        &self,
        user: &UserKey,
        name: &KeyName,
        origin: &str,
    ) -> Result<Option<SealedKey>, StoreError> {
        let item = self.get_item(SealedKeyItem::key(user, name, origin)).await?;
        let item = item.map(SealedKeyItem::from_item).transpose()?;
        Ok(item.map(SealedKey::from))
    }

    async fn list_sealed_keys(&self, user: &UserKey) -> Result<Vec<SealedKey>, StoreError> {
        self.query_keys(user, &format!("{KEY}#")).await
    }

    async fn delete_sealed_keys(&self, user: &UserKey, name: &KeyName) -> Result<bool, StoreError> {
        let keys = self.query_keys(user, &key_prefix(name)).await?;
        for SealedKey { name, origin, .. } in &keys {
            let key = SealedKeyItem::key(user, name, origin);
            let values = Attributes::new();
            self.delete_item(ItemChange { key, expression: "", condition: "", values }).await?;
        }
        Ok(!keys.is_empty())
    }
}

impl AwsStore {
    async fn query_keys(&self, user: &UserKey, prefix: &str) -> Result<Vec<SealedKey>, StoreError> {
        let query = Query::with_prefix(user_partition(&user.tenant, &user.user), prefix);
        let items = self.query_items(query).await?.into_iter().map(SealedKeyItem::from_item);
        let mut keys: Vec<SealedKey> =
            items.map(|item| item.map(SealedKey::from)).collect::<Result<_, _>>()?;
        keys.sort_by(|one, other| (&one.name, &one.origin).cmp(&(&other.name, &other.origin)));
        Ok(keys)
    }
}
