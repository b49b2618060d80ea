//! Users' keys, sealed with AES-256-GCM. Only this process has the secrets, and it stores nothing.
//!
//! A sealed key is bound to its owner, name and origin. It consists of a version, a random nonce and the
//! ciphertext, as base64.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use djinn_core::id::KeyName;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::outside::{OutsideError, SealJob, StoredUserKey};
use djinn_runtime::port::secret::{Secret, SecretError, Secrets};
use djinn_settings::table::web::SEAL_KEY;
use serde_json::json;

use crate::keys::{KeyCache, KeyLocation};

/// The only version of sealed keys.
const VERSION: u8 = 1;

/// Minimum bytes of a secret.
const MIN_SECRET: usize = 32;

/// Maximum number of secrets: the first and earlier ones.
const MAX_SECRETS: usize = 8;

/// Bytes of a key of AES-256.
const KEY_BYTES: usize = 32;

/// The purpose of the derived keys.
const PURPOSE: &[u8] = b"djinn user keys 1";

/// The secrets of a deployment. The first secret seals, and all secrets open.
pub(crate) struct SealKeys(Vec<Secret>);

impl SealKeys {
    /// Parses comma-separated secrets.
    ///
    /// # Errors
    /// Returns the problem, without repeating a secret.
    pub(crate) fn parse(text: &Secret) -> Result<Self, String> {
        let secrets: Vec<Secret> = text.reveal().split(',').map(Secret::new).collect();
        let is_long = |secret: &Secret| secret.reveal().len() >= MIN_SECRET;
        if secrets.iter().all(is_long) && secrets.len() <= MAX_SECRETS {
            return Ok(Self(secrets));
        }
        let lengths = secrets.iter().map(|secret| format!("{} bytes", secret.reveal().len()));
        Err(lengths.collect::<Vec<_>>().join(", "))
    }

    fn seal(&self, job: &SealJob) -> Option<String> {
        let key = derive_key(self.0.first()?).ok()?;
        let mut text = job.value.reveal().as_bytes().to_vec();
        let place = Aad::from(bind(&job.owner, &job.name, &job.origin));
        let nonce = key.seal_in_place_append_tag(place, &mut text).ok()?;
        let sealed = [&[VERSION], nonce.as_ref().as_slice(), &text].concat();
        Some(STANDARD.encode(sealed))
    }

    /// Returns the key; `None` if no secret opens it for this place.
    fn open(&self, stored: &StoredUserKey, name: &KeyName, origin: &str) -> Option<Secret> {
        let sealed = STANDARD.decode(&stored.sealed).ok()?;
        let sealed = sealed.strip_prefix(&[VERSION])?;
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
        let place = bind(&stored.owner, name, origin);
        self.0.iter().find_map(|secret| {
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut text = text.to_vec();
            let key = derive_key(secret).ok()?;
            let opened = key.open_in_place(nonce, Aad::from(&place), &mut text).ok()?;
            std::str::from_utf8(opened).ok().map(Secret::new)
        })
    }
}

fn derive_key(secret: &Secret) -> Result<RandomizedNonceKey, Unspecified> {
    let derived = Salt::new(HKDF_SHA256, &[]).extract(secret.reveal().as_bytes());
    let mut bytes = [0; KEY_BYTES];
    derived.expand(&[PURPOSE], HKDF_SHA256)?.fill(&mut bytes)?;
    RandomizedNonceKey::new(&AES_256_GCM, &bytes)
}

/// Returns the associated data. JSON separates the parts unambiguously.
fn bind(owner: &UserKey, name: &KeyName, origin: &str) -> Vec<u8> {
    json!([owner.tenant, owner.user, name, origin]).to_string().into_bytes()
}

/// The reason why a stored key was not opened.
pub(crate) enum OpenError {
    /// No secret opens the key for this owner, name and origin: the user has to set the key again.
    NotOurs,
    /// The secrets cannot be read, for this reason.
    Unavailable(String),
}

/// Seals and opens keys with secrets that may be stored.
pub(crate) struct KeySealer<'a, S> {
    pub(crate) location: &'a KeyLocation,
    pub(crate) keys: &'a KeyCache<S>,
}

impl<S: Secrets> KeySealer<'_, S> {
    /// Seals a key under the current first secret.
    pub(crate) async fn seal(&self, job: &SealJob) -> Result<String, OutsideError> {
        // Another process may have changed the secret since, and a removed one opens nothing.
        self.forget_secrets();
        let sealed = self.load_secrets().await?.seal(job);
        sealed.ok_or_else(|| OutsideError::Unavailable("the key was not sealed".to_owned()))
    }

    /// Opens a key. Stored secrets are read again if those in the cache do not open it.
    pub(crate) async fn open(
        &self,
        stored: &StoredUserKey,
        name: &KeyName,
        origin: &str,
    ) -> Result<Secret, OpenError> {
        let is_stored = matches!(self.location, KeyLocation::Stored(_));
        for is_last in [!is_stored, true] {
            let secrets = self.load_secrets().await;
            let secrets = secrets.map_err(|error| OpenError::Unavailable(error.to_string()))?;
            if let Some(key) = secrets.open(stored, name, origin) {
                return Ok(key);
            }
            if is_last {
                break;
            }
            self.forget_secrets();
        }
        Err(OpenError::NotOurs)
    }

    async fn load_secrets(&self) -> Result<SealKeys, OutsideError> {
        let text = self.keys.find_key(self.location).await.map_err(|error| match error {
            SecretError::Missing(why) => OutsideError::Disabled(why),
            SecretError::Unavailable(why) => OutsideError::Unavailable(why),
        })?;
        let setting = SEAL_KEY.name;
        let text = text.ok_or_else(|| {
            OutsideError::Disabled(format!("users cannot set keys here: set {setting}"))
        })?;
        SealKeys::parse(&text).map_err(|problem| {
            OutsideError::Disabled(format!("{setting} has keys of {problem}: use 32 or more"))
        })
    }

    fn forget_secrets(&self) {
        self.keys.forget_location(self.location);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> SealKeys {
        SealKeys::parse(&Secret::new(text)).unwrap()
    }

    fn job(user: &str) -> SealJob {
        let owner = UserKey {
            tenant: "t".to_owned().try_into().unwrap(),
            user: user.to_owned().try_into().unwrap(),
        };
        let name = KeyName::new("CRM").unwrap();
        let origin = "https://crm.example".to_owned();
        SealJob { owner, name, origin, value: Secret::new("canary") }
    }

    fn stored(job: &SealJob, sealed: String) -> StoredUserKey {
        StoredUserKey { owner: job.owner.clone(), sealed }
    }

    fn open(keys: &SealKeys, stored: &StoredUserKey) -> Option<Secret> {
        keys.open(stored, &KeyName::new("CRM").unwrap(), "https://crm.example")
    }

    #[test]
    fn a_key_opens_for_its_owner_name_and_origin_only() {
        let keys = keys(&"a".repeat(32));
        let ann = job("ann");
        let sealed = keys.seal(&ann).unwrap();
        assert_eq!(open(&keys, &stored(&ann, sealed.clone())), Some(ann.value.clone()));
        assert_ne!(keys.seal(&ann).unwrap(), sealed);
        assert_eq!(open(&keys, &stored(&job("bob"), sealed.clone())), None);
        let mut abroad = job("ann");
        abroad.owner.tenant = "u".to_owned().try_into().unwrap();
        assert_eq!(open(&keys, &stored(&abroad, sealed.clone())), None);
        let ours = stored(&ann, sealed.clone());
        assert_eq!(keys.open(&ours, &KeyName::new("CRN").unwrap(), &ann.origin), None);
        assert_eq!(keys.open(&ours, &ann.name, "http://crm.example"), None);
        let bytes = STANDARD.decode(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            let other = STANDARD.encode(other);
            assert_eq!(open(&keys, &stored(&ann, other)), None, "byte {at}");
        }
        for wrong in ["", "AQ==", "no base64", &*STANDARD.encode([VERSION; 13])] {
            assert_eq!(open(&keys, &stored(&ann, wrong.to_owned())), None, "{wrong}");
        }
    }

    #[test]
    fn an_earlier_secret_opens_until_it_is_removed() {
        let old = "o".repeat(32);
        let new = "n".repeat(40);
        let ann = job("ann");
        let sealed = keys(&old).seal(&ann).unwrap();
        let both = keys(&format!("{new}, {old}"));
        assert!(open(&both, &stored(&ann, sealed.clone())).is_some());
        assert_eq!(open(&keys(&new), &stored(&ann, sealed)), None);
        let sealed = both.seal(&ann).unwrap();
        assert!(open(&keys(&new), &stored(&ann, sealed.clone())).is_some());
        assert_eq!(open(&keys(&old), &stored(&ann, sealed)), None);
    }

    #[test]
    fn secrets_are_long_and_few_and_no_problem_repeats_one() {
        for wrong in ["short", &*vec!["x".repeat(32); MAX_SECRETS + 1].join(",")] {
            let problem = SealKeys::parse(&Secret::new(wrong)).err().unwrap();
            assert!(problem.ends_with("bytes") && !problem.contains(wrong), "{problem}");
        }
        let text = format!("{:?}", job("ann"));
        assert!(!text.contains("canary"), "{text}");
    }
}
