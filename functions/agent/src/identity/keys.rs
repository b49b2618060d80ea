//! API keys: the list of their hashes and holders, and how it is kept.

use std::sync::Arc;

use djinn_core::api_key::{KeyHash, KeyHolder};
use djinn_core::code::{ErrorCode, Failure};
use djinn_runtime::port::secret::{SecretError, Secrets};
use tokio::sync::Mutex;

use super::Caller;
use super::auth::{KeyList, holders};

/// How long a list that was read is used before it is read again: so long a new key may be refused
/// and one that was withdrawn accepted.
const KEPT_MS: i64 = 5 * 60 * 1000;
/// When a list that could not be read is tried again.
const TRIED_AGAIN_MS: i64 = 15 * 1000;
/// How long a list is used while its secret cannot be reached.
const STALE_MS: i64 = 60 * 60 * 1000;

/// The keys of a deployment.
pub(crate) enum Keys<S> {
    Given(Arc<[KeyHolder]>),
    Stored(Stored<S>),
}

pub(crate) struct Stored<S> {
    name: String,
    secrets: S,
    known: Mutex<Known>,
}

/// The list, if there is one to go by, and when it was read and will be again.
#[derive(Default)]
struct Known {
    list: Option<Arc<[KeyHolder]>>,
    read_at_ms: i64,
    again_at_ms: i64,
}

impl<S: Secrets> Keys<S> {
    pub(super) fn new(list: &KeyList, secrets: S) -> Self {
        match list {
            KeyList::Given(holders) => Self::Given(holders.as_slice().into()),
            KeyList::Secret(name) => {
                Self::Stored(Stored { name: name.clone(), secrets, known: Mutex::default() })
            }
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
            Self::Stored(stored) => stored.list(now_ms).await?,
        };
        let holder = KeyHolder::of(&hash, &list).ok_or_else(refused)?;
        Ok(Caller { tenant: holder.tenant.clone(), user: holder.user.clone() })
    }
}

impl<S: Secrets> Stored<S> {
    /// Locked while it is read: requests at the same time ask once.
    async fn list(&self, now_ms: i64) -> Result<Arc<[KeyHolder]>, Failure> {
        let mut known = self.known.lock().await;
        if now_ms >= known.again_at_ms {
            self.read_into(&mut known, now_ms).await;
        }
        known.list.clone().ok_or_else(|| {
            Failure::new(ErrorCode::IdentityUnavailable, "the list of keys cannot be read")
        })
    }

    async fn read_into(&self, known: &mut Known, now_ms: i64) {
        known.again_at_ms = now_ms + TRIED_AGAIN_MS;
        match self.secrets.secret(&self.name).await {
            Ok(secret) => match holders(secret.reveal()) {
                Ok(list) => {
                    let (list, again_at_ms) = (Some(list.into()), now_ms + KEPT_MS);
                    *known = Known { list, read_at_ms: now_ms, again_at_ms };
                }
                Err(found) => {
                    tracing::error!(secret = self.name, found, "no list of keys in the secret");
                    known.list = None;
                }
            },
            Err(error @ SecretError::Missing(_)) => {
                tracing::error!(%error, "list of keys not read");
                known.list = None;
            }
            Err(error @ SecretError::Unavailable(_)) => {
                tracing::warn!(%error, "list of keys not read");
                known.list = known.list.take().filter(|_| now_ms - known.read_at_ms < STALE_MS);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::api_key::key_of;
    use djinn_core::id::{TenantId, UserId};
    use djinn_runtime::port::secret::Secret;
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
            Keys::Stored(stored) => stored.secrets.0.lock().unwrap().len(),
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
