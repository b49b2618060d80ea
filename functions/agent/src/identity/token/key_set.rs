//! A cache of an issuer's keys.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use djinn_core::error_code::{ErrorCode, Failure};
use jsonwebtoken::{Algorithm, DecodingKey};

use super::endpoint::JwksEndpoint;
use super::jwk::{VerifyingKey, parse_key_set};

/// Time until keys are read again. For this long, a withdrawn key may be accepted.
const MAX_AGE_MS: i64 = 10 * 60 * 1000;
/// Minimum time between two reads, except the first two. A new key is found at once, and many tokens with
/// unknown keys do not cause many requests.
const MIN_INTERVAL_MS: i64 = 60 * 1000;
/// Time between failed reads while no keys are cached.
const RETRY_MS: i64 = 15 * 1000;
/// Maximum age of keys while the issuer is unreachable.
const STALE_MS: i64 = 24 * 60 * 60 * 1000;
/// Timeout for a request to the issuer.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The key id and algorithm of a token.
#[derive(Debug, Clone)]
pub(super) struct KeyQuery {
    pub(super) id: Option<String>,
    pub(super) algorithm: Algorithm,
}

/// An issuer's keys, read on the first token.
pub(super) struct KeySet<E>(Arc<SharedKeys<E>>);

struct SharedKeys<E> {
    endpoint: E,
    timeout: Duration,
    cache: Mutex<CachedKeys>,
    /// Held during a read.
    reading: tokio::sync::Mutex<()>,
}

/// The keys, if any, with the times of the last and the next read.
#[derive(Debug, Default)]
struct CachedKeys {
    keys: Option<Vec<VerifyingKey>>,
    read_at_ms: i64,
    refresh_after_ms: i64,
}

impl CachedKeys {
    /// Returns the key with this id. Without an id, returns the only key of the algorithm.
    fn find_key(&self, query: &KeyQuery) -> Option<DecodingKey> {
        let fits = |key: &&VerifyingKey| {
            key.algorithm == query.algorithm && (query.id.is_none() || key.id == query.id)
        };
        let mut matches = self.keys.iter().flatten().filter(fits);
        let first = matches.next()?;
        matches.next().is_none().then(|| first.key.clone())
    }

    fn needs_refresh(&self, query: &KeyQuery, now_ms: i64) -> bool {
        let is_old = now_ms >= self.read_at_ms + MAX_AGE_MS;
        now_ms >= self.refresh_after_ms && (is_old || self.find_key(query).is_none())
    }

    fn apply_read(&mut self, read: Result<Vec<VerifyingKey>, String>, now_ms: i64) {
        let is_first = self.keys.is_none();
        match read {
            Ok(keys) => {
                let again_at_ms = if is_first { now_ms } else { now_ms + MIN_INTERVAL_MS };
                *self =
                    Self { keys: Some(keys), read_at_ms: now_ms, refresh_after_ms: again_at_ms };
            }
            Err(error) => {
                tracing::warn!(error, "the keys of the issuer of tokens are not read");
                self.refresh_after_ms = now_ms + if is_first { RETRY_MS } else { MIN_INTERVAL_MS };
                self.keys.take_if(|_| now_ms - self.read_at_ms >= STALE_MS);
            }
        }
    }
}

impl<E: JwksEndpoint + 'static> KeySet<E> {
    /// `timeout` is the maximum time of a read.
    pub(super) fn new(endpoint: E, timeout: Duration) -> Self {
        let cache = Mutex::default();
        let reading = tokio::sync::Mutex::default();
        Self(Arc::new(SharedKeys { endpoint, timeout, cache, reading }))
    }

    /// Returns a token's key, if the issuer has published the key. A cached key does not wait for a read in
    /// progress.
    ///
    /// # Errors
    /// Returns [`ErrorCode::IdentityUnavailable`] while no keys could be read.
    pub(super) async fn find_key(
        &self,
        query: KeyQuery,
        now_ms: i64,
    ) -> Result<Option<DecodingKey>, Failure> {
        if self.0.lock_cache().needs_refresh(&query, now_ms) {
            let shared_keys = Arc::clone(&self.0);
            let query = query.clone();
            // A separate task, so a read outlives a disconnected caller. Otherwise each of many callers would
            // start a read.
            let reading =
                tokio::spawn(async move { shared_keys.refresh_keys(&query, now_ms).await });
            reading.await.map_err(|_| ErrorCode::Internal)?;
        }
        let cache = self.0.lock_cache();
        match cache.keys {
            Some(_) => Ok(cache.find_key(&query)),
            None => {
                let what = "the keys of the issuer of tokens cannot be read";
                Err(Failure::new(ErrorCode::IdentityUnavailable, what))
            }
        }
    }
}

impl<E: JwksEndpoint> SharedKeys<E> {
    fn lock_cache(&self) -> MutexGuard<'_, CachedKeys> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the keys, unless another task has read them meanwhile.
    async fn refresh_keys(&self, query: &KeyQuery, now_ms: i64) {
        let is_known = self.lock_cache().find_key(query).is_some();
        let _reading = if is_known {
            match self.reading.try_lock() {
                Ok(reading) => reading,
                Err(_) => return,
            }
        } else {
            self.reading.lock().await
        };
        if !self.lock_cache().needs_refresh(query, now_ms) {
            return;
        }
        let result = match tokio::time::timeout(self.timeout, self.endpoint.fetch_keys()).await {
            Ok(result) => result.and_then(|set| parse_key_set(&set)),
            Err(_) => Err(format!("it did not answer within {:?}", self.timeout)),
        };
        self.lock_cache().apply_read(result, now_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use serde_json::json;
    use std::collections::VecDeque;

    /// The response; `None` never responds.
    type Answer = Option<Result<Vec<u8>, String>>;

    /// Answers each question with the next of these, and no more.
    struct Answers(Mutex<VecDeque<Answer>>);

    impl JwksEndpoint for Answers {
        async fn fetch_keys(&self) -> Result<Vec<u8>, String> {
            let answer = self.0.lock().unwrap().pop_front();
            match answer.expect("nobody was to ask again") {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        }
    }

    fn published(ids: &[&str]) -> Answer {
        let keys: Vec<_> = ids
            .iter()
            .map(|id| json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": id}))
            .collect();
        Some(Ok(json!({"keys": keys}).to_string().into_bytes()))
    }

    fn gone() -> Answer {
        Some(Err("connection refused".to_owned()))
    }

    fn set<const N: usize>(answers: [Answer; N]) -> KeySet<Answers> {
        let answers = Answers(Mutex::new(answers.into()));
        KeySet::new(answers, Duration::from_millis(1))
    }

    fn key_query(id: Option<&str>) -> KeyQuery {
        KeyQuery { id: id.map(str::to_owned), algorithm: Algorithm::ES256 }
    }

    async fn has(set: &KeySet<Answers>, id: &str, now_ms: i64) -> Result<bool, ErrorCode> {
        let key = set.find_key(key_query(Some(id)), now_ms).await;
        key.map(|key| key.is_some()).map_err(|failure| failure.code)
    }

    fn left(set: &KeySet<Answers>) -> usize {
        set.0.endpoint.0.lock().unwrap().len()
    }

    const START: i64 = 1_700_000_000_000;

    #[tokio::test]
    async fn a_new_key_is_found_at_once_and_unknown_ones_are_asked_for_once_a_minute() {
        let keys = [&["a"][..], &["a", "b"], &["b", "c"], &["b", "c"]];
        let set = set(keys.map(published));
        assert_eq!(has(&set, "a", START).await, Ok(true));
        assert_eq!((has(&set, "a", START).await, left(&set)), (Ok(true), 3));
        assert_eq!((has(&set, "b", START).await, left(&set)), (Ok(true), 2));
        let minute = START + MIN_INTERVAL_MS;
        for now in [START, minute - 1] {
            for unknown in ["c", "d", "../../a", "https://evil/keys"] {
                assert_eq!(has(&set, unknown, now).await, Ok(false));
            }
        }
        assert_eq!(left(&set), 2);
        assert_eq!((has(&set, "c", minute).await, left(&set)), (Ok(true), 1));
        assert_eq!(has(&set, "a", minute).await, Ok(false), "and it was withdrawn");
        let old = minute + MAX_AGE_MS;
        assert_eq!((has(&set, "c", old - 1).await, left(&set)), (Ok(true), 1));
        assert_eq!((has(&set, "c", old).await, left(&set)), (Ok(true), 0));
    }

    #[tokio::test]
    async fn keys_outlive_their_issuer_for_a_day() {
        let set = set([published(&["a"]), gone(), None, Some(Ok(b"<html>".into())), gone()]);
        assert_eq!(has(&set, "a", START).await, Ok(true));
        let old = START + MAX_AGE_MS;
        for (now, asked) in [(old, 1), (old + MIN_INTERVAL_MS - 1, 1), (old + MIN_INTERVAL_MS, 2)] {
            assert_eq!(has(&set, "a", now).await, Ok(true));
            assert_eq!(has(&set, "b", now).await, Ok(false));
            assert_eq!(left(&set), 4 - asked, "at {}", now - START);
        }
        let day = START + STALE_MS;
        assert_eq!(has(&set, "a", day - MIN_INTERVAL_MS).await, Ok(true));
        assert_eq!(has(&set, "a", day).await, Err(ErrorCode::IdentityUnavailable));
        assert_eq!(left(&set), 0);
    }

    #[tokio::test]
    async fn without_any_keys_nobody_is_known_and_they_are_asked_for_again_soon() {
        let set = set([gone(), None, published(&["a"])]);
        let unavailable = Err(ErrorCode::IdentityUnavailable);
        for (now, asked) in [(0, 1), (RETRY_MS - 1, 1), (RETRY_MS, 2)] {
            assert_eq!(has(&set, "a", START + now).await, unavailable);
            assert_eq!(left(&set), 3 - asked);
        }
        assert_eq!(has(&set, "a", START + 2 * RETRY_MS).await, Ok(true));
    }

    #[tokio::test]
    async fn a_token_without_a_name_of_a_key_means_the_only_one() {
        let one = set([published(&["a"])]);
        assert!(one.find_key(key_query(None), START).await.unwrap().is_some());
        let two = set([published(&["a", "b"]), published(&["a", "b"])]);
        assert!(two.find_key(key_query(None), START).await.unwrap().is_none());
        let other = KeyQuery { algorithm: Algorithm::RS256, ..key_query(Some("a")) };
        assert!(two.find_key(other, START).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_caller_who_goes_away_takes_no_read_with_it() {
        let set = set([None]);
        assert!(has(&set, "a", START).now_or_never().is_none());
        assert_eq!(has(&set, "a", START).await, Err(ErrorCode::IdentityUnavailable));
        assert_eq!(left(&set), 0, "and the next one asks no second time");
    }

    #[tokio::test]
    async fn callers_at_the_same_time_ask_once() {
        let set = set([published(&["a"]), published(&["a"])]);
        let callers = (0..100).map(|_| has(&set, "unknown", START));
        assert!(futures::future::join_all(callers).await.iter().all(|found| *found == Ok(false)));
        assert_eq!(left(&set), 0, "once at first, and once for the unknown key");
    }
}
