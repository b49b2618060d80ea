//! API keys: the list of hashes and holders, in the setting or in a secret.

use std::sync::Arc;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_runtime::port::secret::Secrets;

use super::Caller;
use super::api_key::{KeyHash, KeyHolder};
use super::auth::{KeyList, parse_key_holders};
use crate::cached_secret::CachedSecret;

/// The keys of a deployment.
pub(crate) enum ApiKeys<S> {
    Inline(Arc<Vec<KeyHolder>>),
    Stored(CachedSecret<S, Vec<KeyHolder>>),
}

impl<S: Secrets> ApiKeys<S> {
    pub(super) fn new(list: &KeyList, secrets: S) -> Self {
        match list {
            KeyList::Inline(holders) => Self::Inline(Arc::new(holders.clone())),
            KeyList::Secret(name) => {
                Self::Stored(CachedSecret::new(name, secrets, parse_key_holders))
            }
        }
    }

    /// Returns the holder of the request's key. A text without the form of a key causes no read.
    pub(super) async fn authenticate(
        &self,
        key: Option<&str>,
        now_ms: i64,
    ) -> Result<Caller, Failure> {
        let refusal =
            || Failure::new(ErrorCode::CredentialsRefused, "it is not a key of this deployment");
        let Some(key) = key else {
            let how = "send your key as `Authorization: Bearer djinn_…` or `x-api-key`; the \
                       operator of this deployment creates one with `cargo xtask key`";
            return Err(Failure::new(ErrorCode::CredentialsMissing, how));
        };
        let hash = KeyHash::of(key).ok_or_else(refusal)?;
        let list = self.holders(now_ms).await.ok_or_else(|| {
            Failure::new(ErrorCode::IdentityUnavailable, "the list of keys cannot be read")
        })?;
        let holder = KeyHolder::of(&hash, &list).ok_or_else(refusal)?;
        Ok(Caller { tenant: holder.tenant.clone(), user: holder.user.clone() })
    }

    /// Returns the list of holders; `None` if the list cannot be read.
    pub(super) async fn holders(&self, now_ms: i64) -> Option<Arc<Vec<KeyHolder>>> {
        match self {
            Self::Inline(list) => Some(Arc::clone(list)),
            Self::Stored(stored) => stored.get_value(now_ms).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cached_secret::{MAX_AGE_MS, RETRY_MS, STALE_MS};
    use crate::identity::api_key::format_key;
    use djinn_core::id::{TenantId, UserId};
    use djinn_runtime::port::secret::{Secret, SecretError};
    use std::collections::VecDeque;

    /// Answers each question with the next of these.
    struct Answers(std::sync::Mutex<VecDeque<Result<String, SecretError>>>);

    impl Secrets for Answers {
        async fn read_secret(&self, name: &str) -> Result<Secret, SecretError> {
            assert_eq!(name, "djinn/keys");
            let answer = self.0.lock().unwrap().pop_front();
            answer.expect("nobody was to ask again").map(|text| Secret::new(&text))
        }
    }

    fn list(chances: &[u8]) -> String {
        let holders: Vec<_> = chances
            .iter()
            .map(|chance| KeyHolder {
                sha256: KeyHash::of(&format_key(&[*chance; 32])).unwrap(),
                tenant: TenantId::new(format!("tenant-{chance}")).unwrap(),
                user: UserId::new("anna").unwrap(),
            })
            .collect();
        serde_json::to_string(&holders).unwrap()
    }

    fn keys<const N: usize>(answers: [Result<String, SecretError>; N]) -> ApiKeys<Answers> {
        let answers = Answers(std::sync::Mutex::new(answers.into()));
        ApiKeys::new(&KeyList::Secret("djinn/keys".to_owned()), answers)
    }

    async fn tenant(keys: &ApiKeys<Answers>, chance: u8, now_ms: i64) -> Result<String, ErrorCode> {
        let caller = keys.authenticate(Some(&format_key(&[chance; 32])), now_ms).await;
        caller.map(|caller| caller.tenant.to_string()).map_err(|failure| failure.code)
    }

    fn left(keys: &ApiKeys<Answers>) -> usize {
        match keys {
            ApiKeys::Inline(_) => 0,
            ApiKeys::Stored(stored) => stored.secrets().0.lock().unwrap().len(),
        }
    }

    const START: i64 = 1_700_000_000_000;

    #[tokio::test]
    async fn a_list_is_read_once_and_again_when_it_is_old() {
        let keys = keys([Ok(list(&[1, 2])), Ok(list(&[2, 3]))]);
        for wrong in [None, Some(""), Some("djinn_1"), Some("sk-1")] {
            assert!(keys.authenticate(wrong, START).await.is_err());
        }
        assert_eq!(left(&keys), 2, "what is no key costs no read");
        for now in [START, START + MAX_AGE_MS - 1] {
            assert_eq!(tenant(&keys, 1, now).await, Ok("tenant-1".to_owned()));
            assert_eq!(tenant(&keys, 3, now).await, Err(ErrorCode::CredentialsRefused));
        }
        let now = START + MAX_AGE_MS;
        assert_eq!(tenant(&keys, 1, now).await, Err(ErrorCode::CredentialsRefused));
        assert_eq!(tenant(&keys, 3, now).await, Ok("tenant-3".to_owned()));
        assert_eq!(left(&keys), 0);
    }

    #[tokio::test]
    async fn a_list_outlives_its_store_for_an_hour_and_no_withdrawn_secret() {
        let gone = || Err(SecretError::Unavailable("throttled".to_owned()));
        let missing = Err(SecretError::Missing("there is no secret".to_owned()));
        let keys = keys([Ok(list(&[1])), gone(), gone(), Ok(list(&[1])), missing]);
        let known = Ok("tenant-1".to_owned());
        assert_eq!(tenant(&keys, 1, START).await, known);
        let later = START + MAX_AGE_MS;
        for now in [later, later + RETRY_MS - 1] {
            assert_eq!(tenant(&keys, 1, now).await, known, "and it is asked once");
        }
        let later = START + STALE_MS;
        assert_eq!(tenant(&keys, 1, later).await, Err(ErrorCode::IdentityUnavailable));
        let later = later + RETRY_MS;
        assert_eq!(tenant(&keys, 1, later).await, known);
        let later = later + MAX_AGE_MS;
        assert_eq!(tenant(&keys, 1, later).await, Err(ErrorCode::IdentityUnavailable));
        assert_eq!(left(&keys), 0);
    }

    #[tokio::test]
    async fn a_secret_that_is_no_list_lets_nobody_in() {
        let keys = keys([Ok(format_key(&[1; 32]))]);
        for now in [START, START + RETRY_MS - 1] {
            assert_eq!(tenant(&keys, 1, now).await, Err(ErrorCode::IdentityUnavailable));
        }
    }
}
