//! Checks of users' keys.

use djinn_core::id::{KeyName, TenantId, UserId};
use djinn_runtime::port::sealed_key::{MAX_SEALED_KEYS, SealedKey, SealedKeyResult};
use djinn_runtime::port::{Store, UserKey};

use super::Checked;
use super::fixture::FixtureResult;

fn user(tenant: &str, user: &str) -> FixtureResult<UserKey> {
    Ok(UserKey { tenant: TenantId::new(tenant)?, user: UserId::new(user)? })
}

fn key(name: &str, host: &str, sealed: &str) -> FixtureResult<SealedKey> {
    let origin = format!("https://{host}");
    Ok(SealedKey { name: KeyName::new(name)?, origin, sealed: sealed.to_owned(), set_at_ms: 7 })
}

/// A key is found by its user, name and origin, and replaced by another of all three.
pub async fn keys_belong_to_their_user_and_are_replaced_by_name_and_origin(
    store: &impl Store,
) -> Checked {
    let ann = user("t", "ann")?;
    let others = [user("t", "bob")?, user("u", "ann")?, user("t", "ann2")?];
    let [crm, crm2, crm_b] = [key("CRM", "a", "1")?, key("CRM2", "a", "2")?, key("CRM", "b", "3")?];
    for (key, owner) in [(&crm2, &ann), (&crm_b, &ann), (&crm, &ann), (&crm, &ann)] {
        assert_eq!(store.put_sealed_key(owner, key).await?, SealedKeyResult::Stored);
    }
    assert_eq!(store.list_sealed_keys(&ann).await?, [crm.clone(), crm_b.clone(), crm2.clone()]);
    for other in &others {
        assert!(store.list_sealed_keys(other).await?.is_empty());
        assert_eq!(store.find_sealed_key(other, &crm.name, &crm.origin).await?, None);
        assert!(!store.delete_sealed_keys(other, &crm.name).await?);
    }
    let changed = key("CRM", "a", "4")?;
    store.put_sealed_key(&ann, &changed).await?;
    assert_eq!(store.find_sealed_key(&ann, &crm.name, &crm.origin).await?, Some(changed));
    assert_eq!(store.find_sealed_key(&ann, &crm.name, "https://c").await?, None);
    assert!(store.delete_sealed_keys(&ann, &crm.name).await?);
    assert!(!store.delete_sealed_keys(&ann, &crm.name).await?);
    assert_eq!(store.list_sealed_keys(&ann).await?, [crm2]);
    Ok(())
}

/// A new key above the limit is rejected; a stored key can still be replaced.
pub async fn a_user_has_a_hundred_keys_at_most(store: &impl Store) -> Checked {
    let ann = user("t", "ann")?;
    for nth in 0..MAX_SEALED_KEYS {
        let new = key(&format!("K{nth}"), "a", "1")?;
        assert_eq!(store.put_sealed_key(&ann, &new).await?, SealedKeyResult::Stored);
    }
    let another = key("L", "a", "1")?;
    assert_eq!(store.put_sealed_key(&ann, &another).await?, SealedKeyResult::TooMany);
    let again = key("K7", "a", "2")?;
    assert_eq!(store.put_sealed_key(&ann, &again).await?, SealedKeyResult::Stored);
    assert_eq!(store.list_sealed_keys(&ann).await?.len(), MAX_SEALED_KEYS);
    assert_eq!(store.put_sealed_key(&user("t", "bob")?, &another).await?, SealedKeyResult::Stored);
    Ok(())
}
