//! API keys: the list of their hashes and holders, and how it is kept.

use std::sync::Arc;

use djinn_core::api_key::{KeyHash, KeyHolder};
use djinn_core::code::{ErrorCode, Failure};
use djinn_runtime::port::secret::Secrets;

use super::Caller;
use super::auth::{KeyList, holders};
use crate::stored::Stored;

/// The keys of a deployment.
pub(crate) enum Keys<S> {
    Given(Arc<Vec<KeyHolder>>),
    Stored(Stored<S, Vec<KeyHolder>>),
}

impl<S: Secrets> Keys<S> {
    pub(super) fn new(list: &KeyList, secrets: S) -> Self {
        match list {
            KeyList::Given(holders) => Self::Given(Arc::new(holders.clone())),
            KeyList::Secret(name) => Self::Stored(Stored::new(name, secrets, holders)),
        }
    }

    /// The holder of the key that came with a request. What is no key costs no read.
    pub(super) async fn caller(&self, key: Option<&str>, now_ms: i64) -> Result<Caller, Failure> {
        let refused =
            || Failure::new(ErrorCode::CredentialsRefused, "it is no key of this deployment");
        let Some(key) = key else {
            let how = "send your key as `Authorization: Bearer djinn_…` or `x-api-key`; whoever \
                       runs this deployment makes one with `cargo xtask key`";
            return Err(Failure::new(ErrorCode::CredentialsMissing, how));
        };
        let hash = KeyHash::of(key).ok_or_else(refused)?;
        let list = match self {
            Self::Given(list) => Arc::clone(list),
            Self::Stored(stored) => stored.get(now_ms).await.ok_or_else(|| {
                Failure::new(ErrorCode::IdentityUnavailable, "the list of keys cannot be read")
            })?,
        };
        let holder = KeyHolder::of(&hash, &list).ok_or_else(refused)?;
        Ok(Caller { tenant: holder.tenant.clone(), user: holder.user.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::{KEPT_MS, STALE_MS, TRIED_AGAIN_MS};
    use djinn_core::api_key::key_of;
    use djinn_core::id::{TenantId, UserId};
    use djinn_runtime::port::secret::{Secret, SecretError};
    use std::collections::VecDeque;

    /// Answers each question with the next of these.
    struct Answers(std::sync::Mutex<VecDeque<Result<String, SecretError>>>);

    impl Secrets for Answers {
        async fn secret(&self, name: &str) -> Result<Secret, SecretError> {
            assert_eq!(name, "djinn/keys");
            let answer = self.0.lock().unwrap().pop_front();
            answer.expect("nobody was to ask again").map(|text| Secret::new(&text))
        }
    }

    fn list(chances: &[u8]) -> String {
        let holders: Vec<_> = chances
            .iter()
            .map(|chance| KeyHolder {
                sha256: KeyHash::of(&key_of(&[*chance; 32])).unwrap(),
                tenant: TenantId::new(format!("tenant-{chance}")).unwrap(),
                user: UserId::new("anna").unwrap(),
            })
            .collect();
        serde_json::to_string(&holders).unwrap()
    }

    fn keys<const N: usize>(answers: [Result<String, SecretError>; N]) -> Keys<Answers> {
        let answers = Answers(std::sync::Mutex::new(answers.into()));
        Keys::new(&KeyList::Secret("djinn/keys".to_owned()), answers)
    }

    async fn tenant(keys: &Keys<Answers>, chance: u8, now_ms: i64) -> Result<String, ErrorCode> {
        let caller = keys.caller(Some(&key_of(&[chance; 32])), now_ms).await;
        caller.map(|caller| caller.tenant.to_string()).map_err(|failure| failure.code)
    }

    fn left(keys: &Keys<Answers>) -> usize {
        match keys {
            Keys::Given(_) => 0,
            Keys::Stored(stored) => stored.secrets().0.lock().unwrap().len(),
        }
    }

    const START: i64 = 1_700_000_000_000;

    #[tokio::test]
    async fn a_list_is_read_once_and_again_when_it_is_old() {
        let keys = keys([Ok(list(&[1, 2])), Ok(list(&[2, 3]))]);
        for wrong in [None, Some(""), Some("djinn_1"), Some("sk-1")] {
            assert!(keys.caller(wrong, START).await.is_err());
        }
        assert_eq!(left(&keys), 2, "what is no key costs no read");
        for now in [START, START + KEPT_MS - 1] {
            assert_eq!(tenant(&keys, 1, now).await, Ok("tenant-1".to_owned()));
            assert_eq!(tenant(&keys, 3, now).await, Err(ErrorCode::CredentialsRefused));
        }
        let now = START + KEPT_MS;
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
        let later = START + KEPT_MS;
        for now in [later, later + TRIED_AGAIN_MS - 1] {
            assert_eq!(tenant(&keys, 1, now).await, known, "and it is asked once");
        }
        let later = START + STALE_MS;
        assert_eq!(tenant(&keys, 1, later).await, Err(ErrorCode::IdentityUnavailable));
        let later = later + TRIED_AGAIN_MS;
        assert_eq!(tenant(&keys, 1, later).await, known);
        let later = later + KEPT_MS;
        assert_eq!(tenant(&keys, 1, later).await, Err(ErrorCode::IdentityUnavailable));
        assert_eq!(left(&keys), 0);
    }

    #[tokio::test]
    async fn a_secret_that_is_no_list_lets_nobody_in() {
        let keys = keys([Ok(key_of(&[1; 32]))]);
        for now in [START, START + TRIED_AGAIN_MS - 1] {
            assert_eq!(tenant(&keys, 1, now).await, Err(ErrorCode::IdentityUnavailable));
        }
    }
}
