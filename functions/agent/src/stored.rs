//! What a secret holds, as a process keeps it: read when it is needed first, and again when it is old.

use std::sync::Arc;

use djinn_runtime::port::secret::{SecretError, Secrets};
use tokio::sync::Mutex;

/// How long what was read is used before it is read again: so long a new key may be refused and one
/// that was withdrawn accepted.
pub(crate) const KEPT_MS: i64 = 5 * 60 * 1000;
/// When what could not be read is tried again.
pub(crate) const TRIED_AGAIN_MS: i64 = 15 * 1000;
/// How long what was read is used while its secret cannot be reached.
pub(crate) const STALE_MS: i64 = 60 * 60 * 1000;

/// The secret of a name, and what is made of its text.
pub(crate) struct Stored<S, T> {
    name: String,
    secrets: S,
    /// What is wrong with a text is told without repeating it.
    parse: fn(&str) -> Result<T, String>,
    known: Mutex<Known<T>>,
}

/// What there is to go by, and when it was read and will be again.
struct Known<T> {
    value: Option<Arc<T>>,
    read_at_ms: i64,
    again_at_ms: i64,
}

impl<S: Secrets, T> Stored<S, T> {
    pub(crate) fn new(name: &str, secrets: S, parse: fn(&str) -> Result<T, String>) -> Self {
        let known = Known { value: None, read_at_ms: 0, again_at_ms: 0 };
        Self { name: name.to_owned(), secrets, parse, known: Mutex::new(known) }
    }

    /// What the secret holds; `None` while it cannot be read. Locked while it is read: requests at the
    /// same time ask once.
    pub(crate) async fn get(&self, now_ms: i64) -> Option<Arc<T>> {
        let mut known = self.known.lock().await;
        if now_ms >= known.again_at_ms {
            self.read_into(&mut known, now_ms).await;
        }
        known.value.clone()
    }

    async fn read_into(&self, known: &mut Known<T>, now_ms: i64) {
        known.again_at_ms = now_ms + TRIED_AGAIN_MS;
        match self.secrets.secret(&self.name).await {
            Ok(secret) => match (self.parse)(secret.reveal()) {
                Ok(value) => {
                    let (value, again_at_ms) = (Some(Arc::new(value)), now_ms + KEPT_MS);
                    *known = Known { value, read_at_ms: now_ms, again_at_ms };
                }
                Err(found) => {
                    tracing::error!(secret = self.name, found, "a secret is not what it must be");
                    known.value = None;
                }
            },
            Err(error @ SecretError::Missing(_)) => {
                tracing::error!(%error, "secret not read");
                known.value = None;
            }
            Err(error @ SecretError::Unavailable(_)) => {
                tracing::warn!(%error, "secret not read");
                known.value = known.value.take().filter(|_| now_ms - known.read_at_ms < STALE_MS);
            }
        }
    }

    /// Where it is read from.
    #[cfg(test)]
    pub(crate) fn secrets(&self) -> &S {
        &self.secrets
    }
}
