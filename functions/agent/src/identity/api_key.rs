//! API keys. A new key is shown once; only its hash and holder are stored.

use std::fmt;
use std::hint::black_box;

use djinn_core::id::{TenantId, UserId, encode_hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The prefix of every key, which makes leaked keys recognizable.
const PREFIX: &str = "djinn_";

/// Random bytes in a key.
pub const KEY_BYTES: usize = 32;

/// Formats a key from these bytes. The bytes must come from the operating system's random source.
#[must_use]
pub fn format_key(chance: &[u8; KEY_BYTES]) -> String {
    format!("{PREFIX}{}", encode_hex(chance))
}

/// A key's SHA-256, as text 64 hexadecimal digits.
///
/// A plain hash suffices: 256 random bits cannot be guessed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyHash([u8; 32]);

/// The error for a text that is not the hash of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the SHA-256 of a key, 64 hexadecimal digits")]
pub struct BadKeyHash;

impl KeyHash {
    /// Returns the hash of a key; `None` if the text is not a key.
    #[must_use]
    pub fn of(key: &str) -> Option<Self> {
        decode_hex(key.strip_prefix(PREFIX)?)?;
        Some(Self(Sha256::digest(key.as_bytes()).into()))
    }

    /// Returns true for hashes of the same key, in constant time.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        pairs.fold(0, |differs, (one, two)| black_box(differs | (one ^ two))) == 0
    }
}

impl TryFrom<String> for KeyHash {
    type Error = BadKeyHash;
    fn try_from(text: String) -> Result<Self, BadKeyHash> {
        decode_hex(&text).map(Self).ok_or(BadKeyHash)
    }
}

impl From<KeyHash> for String {
    fn from(hash: KeyHash) -> Self {
        encode_hex(&hash.0)
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode_hex(&self.0))
    }
}

/// The holder of a key: an item of the deployment's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyHolder {
    /// The SHA-256 of the key; the key itself is not stored.
    pub sha256: KeyHash,
    /// The tenant of the holder.
    pub tenant: TenantId,
    /// The holder's user id within the tenant.
    pub user: UserId,
}

impl KeyHolder {
    /// Returns the holder of a key. Compares all holders, so the time does not reveal the position.
    #[must_use]
    pub fn of<'a>(key: &KeyHash, holders: &'a [Self]) -> Option<&'a Self> {
        holders.iter().fold(None, |matching_holder, holder| {
            if holder.sha256.matches(key) { Some(holder) } else { matching_holder }
        })
    }
}

/// Decodes 32 bytes from lowercase hexadecimal digits.
fn decode_hex(hex: &str) -> Option<[u8; 32]> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok());
    let bytes = <[u8; 32]>::try_from(bytes.collect::<Option<Vec<u8>>>()?).ok()?;
    // Uppercase digits, signs and a lone digit are rejected.
    (encode_hex(&bytes) == hex).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(chance: u8) -> (String, KeyHolder) {
        let key = format_key(&[chance; KEY_BYTES]);
        let tenant = TenantId::new("acme").unwrap();
        let user = UserId::new("anna").unwrap();
        let sha256 = KeyHash::of(&key).unwrap();
        (key, KeyHolder { sha256, tenant, user })
    }

    #[test]
    fn a_holder_is_found_by_the_whole_key_only() {
        let ((one, first), (two, second)) = (holder(1), holder(0xfe));
        let holders = [first.clone(), second.clone()];
        let of = |key: &str| KeyHash::of(key).and_then(|hash| KeyHolder::of(&hash, &holders));
        assert_eq!((of(&one), of(&two)), (Some(&first), Some(&second)));
        assert_eq!(of(&holder(2).0), None);
        let longer = format!("{one}0");
        let upper = two.to_uppercase();
        for wrong in ["", "djinn_", &one[1..], &one[..one.len() - 1], &longer, &upper, "djinn_é"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_key_holder_keeps_the_hash_and_reads_back() {
        let (key, holder) = holder(7);
        let kept = serde_json::to_string(&holder).unwrap();
        assert!(!kept.contains(&key[6..]), "{kept}");
        assert!(kept.contains(&holder.sha256.to_string()), "{kept}");
        assert_eq!(serde_json::from_str::<KeyHolder>(&kept).unwrap(), holder);
        for wrong in [kept.replace("sha256\":\"", "sha256\":\"0"), kept.replace("user", "name")] {
            assert!(serde_json::from_str::<KeyHolder>(&wrong).is_err(), "{wrong}");
        }
    }
}
