//! A cached value parsed from a secret. The secret is read on first use and again after [`MAX_AGE_MS`].

use std::sync::Arc;

use djinn_runtime::port::secret::{SecretError, Secrets};
use tokio::sync::Mutex;

/// Time until a cached value is read again. For this long, a new key may be rejected and a withdrawn key
/// accepted.
pub(crate) const MAX_AGE_MS: i64 = 5 * 60 * 1000;
/// Time between a failed read and the next attempt.
pub(crate) const RETRY_MS: i64 = 15 * 1000;
/// Maximum age of a cached value while the secret cannot be read.
pub(crate) const STALE_MS: i64 = 60 * 60 * 1000;

/// A secret's name, and the parser of its text.
pub(crate) struct CachedSecret<S, T> {
    name: String,
    secrets: S,
    /// Parses the text. Errors never repeat the text.
    parse: fn(&str) -> Result<T, String>,
    cache: Mutex<CachedValue<T>>,
}

/// The cached value, with the times of the last and the next read.
struct CachedValue<T> {
    value: Option<Arc<T>>,
    read_at_ms: i64,
    refresh_after_ms: i64,
}

impl<S: Secrets, T> CachedSecret<S, T> {
    pub(crate) fn new(name: &str, secrets: S, parse: fn(&str) -> Result<T, String>) -> Self {
        let cache = CachedValue { value: None, read_at_ms: 0, refresh_after_ms: 0 };
        Self { name: name.to_owned(), secrets, parse, cache: Mutex::new(cache) }
    }

    /// Returns the secret's value; `None` while the secret cannot be read. The cache is locked during a read,
    /// so concurrent requests read once.
    pub(crate) async fn get_value(&self, now_ms: i64) -> Option<Arc<T>> {
        let mut cache = self.cache.lock().await;
        if now_ms < cache.refresh_after_ms {
            return cache.value.clone();
        }
        cache.refresh_after_ms = now_ms + RETRY_MS;
        match self.secrets.read_secret(&self.name).await {
            Ok(secret) => match (self.parse)(secret.reveal()) {
                Ok(value) => {
                    let value = Some(Arc::new(value));
                    let again_at_ms = now_ms + MAX_AGE_MS;
                    *cache =
                        CachedValue { value, read_at_ms: now_ms, refresh_after_ms: again_at_ms };
                }
                Err(problem) => {
                    tracing::error!(secret = self.name, problem, "a secret is not what it must be");
                    cache.value = None;
                }
            },
            Err(error @ SecretError::Missing(_)) => {
                tracing::error!(%error, "secret not read");
                cache.value = None;
            }
            Err(error @ SecretError::Unavailable(_)) => {
                tracing::warn!(%error, "secret not read");
                cache.value = cache.value.take().filter(|_| now_ms - cache.read_at_ms < STALE_MS);
            }
        }
        cache.value.clone()
    }

    /// The source of the secret.
    #[cfg(test)]
    pub(crate) fn secrets(&self) -> &S {
        &self.secrets
    }
}
