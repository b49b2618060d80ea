//! A content checker over HTTP.
//!
//! The request is a `POST` of `{"direction": "in" | "out", "text", "texts": [{"field", "text"}], "tenant",
//! "user", "session", "run"}`. The checker returns 200 with `{"verdict": "allow"}`, `{"verdict": "refuse",
//! "reason"?}` or `{"verdict": "replace", "text"}`; for several texts `texts` replaces `text`.

use std::time::Duration;

use djinn_runtime::content::{CheckPolicy, ContentPolicy};
use djinn_runtime::port::checker::{
    CheckError, CheckedText, Checker, ContentCheck, ContentOwner, Verdict,
};
use djinn_runtime::port::secret::{Secret, SecretError, Secrets};
use djinn_runtime::port::tool::BoxFuture;
use djinn_settings::table::tools::{
    CONTENT_CHECKER, CONTENT_CHECKER_FAILS, CONTENT_CHECKER_KEY, CONTENT_CHECKER_TIMEOUT_MS,
    DENY_LIST,
};
use djinn_settings::{InvalidSetting, VarLookup};
use djinn_text::deny::DenyList;
use reqwest::{Client, StatusCode, Url, redirect};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Maximum bytes of a response, a replacement text included.
const MAX_ANSWER: usize = 512 * 1024;

/// Bytes of a text in the place of another.
const MAX_TEXT: usize = 64 * 1024;

/// Parses a deployment's content policy: phrases, and an optional checker.
///
/// # Errors
/// Returns [`InvalidSetting`] with the variable's name.
pub fn parse_content_policy<S: Secrets + 'static>(
    var: VarLookup<'_>,
    secrets: S,
) -> Result<ContentPolicy, InvalidSetting> {
    let deny = match DENY_LIST.find_text(var) {
        Some(text) => {
            let phrases: Vec<String> =
                serde_json::from_str(&text).map_err(|_| DENY_LIST.refuse(&text))?;
            let wrong = |bad| DENY_LIST.refuse_for(&format!("a JSON list of {bad}"), &text);
            DenyList::new(&phrases).map_err(wrong)?
        }
        None => DenyList::default(),
    };
    let timeout = Duration::from_millis(CONTENT_CHECKER_TIMEOUT_MS.read_number(var)?);
    let fails_open = CONTENT_CHECKER_FAILS.find_choice(var)? == Some("open");
    let key = parse_key(var)?;
    let Some(url) = CONTENT_CHECKER.find_text(var) else {
        return Ok(ContentPolicy { deny, check_policy: None });
    };
    let checker = HttpChecker::new(parse_url(&url)?, key, secrets, timeout)?;
    Ok(ContentPolicy {
        deny,
        check_policy: Some(CheckPolicy { checker: std::sync::Arc::new(checker), fails_open }),
    })
}

fn parse_url(text: &str) -> Result<Url, InvalidSetting> {
    let url = Url::parse(text.trim()).ok().filter(|url| {
        let is_plain = url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "http" | "https") && url.has_host() && is_plain
    });
    url.ok_or_else(|| CONTENT_CHECKER.refuse(text))
}

/// The source of the checker's key.
#[derive(Debug, Clone, PartialEq)]
enum CheckerKey {
    None,
    Inline(Secret),
    Stored(String),
}

fn parse_key(var: VarLookup<'_>) -> Result<CheckerKey, InvalidSetting> {
    let Some(text) = CONTENT_CHECKER_KEY.find_text(var) else { return Ok(CheckerKey::None) };
    match text.split_once(':') {
        Some(("env", name)) if !name.is_empty() => match var(name) {
            Some(secret) => Ok(CheckerKey::Inline(Secret::new(&secret))),
            None => {
                let expectation = "`env:NAME` of a variable that is set";
                Err(CONTENT_CHECKER_KEY.refuse_for(expectation, &text))
            }
        },
        Some(("secret", name)) if !name.is_empty() => Ok(CheckerKey::Stored(name.to_owned())),
        Some(_) | None => Err(CONTENT_CHECKER_KEY.refuse(&text)),
    }
}

/// A checker at an address.
struct HttpChecker<S> {
    http: Client,
    url: Url,
    key: CheckerKey,
    /// The stored key from the last read.
    cached_key: Mutex<Option<Secret>>,
    secrets: S,
    timeout: Duration,
}

#[derive(Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
enum CheckerResponse {
    Allow,
    Refuse {
        #[serde(default)]
        reason: String,
    },
    Replace {
        text: Option<String>,
        texts: Option<Vec<String>>,
    },
}

impl<S: Secrets> HttpChecker<S> {
    fn new(
        url: Url,
        key: CheckerKey,
        secrets: S,
        timeout: Duration,
    ) -> Result<Self, InvalidSetting> {
        // Redirects are not followed, so that text and key only go to the configured host. Responses are not
        // decompressed, because decompression has no limit.
        let http = Client::builder()
            .no_gzip()
            .redirect(redirect::Policy::none())
            .user_agent(concat!("djinn/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|_| InvalidSetting::new(CONTENT_CHECKER.name, "reachable over HTTP", "it"))?;
        Ok(Self { http, url, key, cached_key: Mutex::default(), secrets, timeout })
    }

    async fn post_check(&self, check: ContentCheck<'_>) -> Result<Vec<u8>, CheckError> {
        let ContentCheck { direction, texts, owner: ContentOwner { tenant, user, session, run } } =
            check;
        let all: Vec<&str> = texts.iter().map(|text| text.text).collect();
        let texts: Vec<Value> =
            texts.iter().map(|text| json!({"field": text.field, "text": text.text})).collect();
        let body = json!({
            "direction": direction.as_str(), "text": all.join("\n\n"), "texts": texts,
            "tenant": tenant, "user": user, "session": session, "run": run,
        });
        let mut request = self.http.post(self.url.clone()).json(&body);
        if let Some(key) = self.load_key().await? {
            request = request.bearer_auth(key.reveal());
        }
        let connection_error = |_| check_error("the checker cannot be reached");
        let mut response = request.send().await.map_err(connection_error)?;
        let status = response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            // The key may have been changed, so the next check reads the key again.
            *self.cached_key.lock().await = None;
        }
        if status != StatusCode::OK {
            return Err(CheckError(format!("the checker answered HTTP {}", status.as_u16())));
        }
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(connection_error)? {
            if answer.len() + chunk.len() > MAX_ANSWER {
                return Err(check_error("the checker's answer is too long"));
            }
            answer.extend_from_slice(&chunk);
        }
        Ok(answer)
    }

    async fn load_key(&self) -> Result<Option<Secret>, CheckError> {
        let name = match &self.key {
            CheckerKey::None => return Ok(None),
            CheckerKey::Inline(key) => return Ok(Some(key.clone())),
            CheckerKey::Stored(name) => name,
        };
        // Locked during the read, so that concurrent checks read the key once.
        let mut key_cache = self.cached_key.lock().await;
        if key_cache.is_none() {
            let unreadable = |error: SecretError| {
                tracing::warn!(%error, "the checker's key not read");
                check_error("the checker's key cannot be read")
            };
            *key_cache = Some(self.secrets.read_secret(name).await.map_err(unreadable)?);
        }
        Ok(key_cache.clone())
    }
}

/// Checks the checker's replacement texts: the same number, not empty, and not too long.
fn check_replacement(
    texts: Vec<String>,
    originals: &[CheckedText<'_>],
) -> Result<Verdict, CheckError> {
    if texts.len() != originals.len() {
        return Err(check_error("the checker replaces other texts than it was asked about"));
    }
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err(check_error("the checker replaces a text by nothing"));
    }
    let is_long = |(text, original): (&String, &CheckedText<'_>)| {
        text.len() > MAX_TEXT && text.as_str() != original.text
    };
    if texts.iter().zip(originals).any(is_long) {
        return Err(check_error("the checker replaces a text by one that is too long"));
    }
    Ok(Verdict::Replace { texts })
}

fn check_error(why: &str) -> CheckError {
    CheckError(why.to_owned())
}

impl<S: Secrets> Checker for HttpChecker<S> {
    fn check<'a>(&'a self, check: ContentCheck<'a>) -> BoxFuture<'a, Result<Verdict, CheckError>> {
        Box::pin(async move {
            let response = tokio::time::timeout(self.timeout, self.post_check(check));
            let answer = response.await.map_err(|_| {
                CheckError(format!("the checker took more than {} ms", self.timeout.as_millis()))
            })??;
            match serde_json::from_slice(&answer) {
                Ok(CheckerResponse::Allow) => Ok(Verdict::Allow),
                Ok(CheckerResponse::Refuse { reason }) => Ok(Verdict::Refuse { reason }),
                Ok(CheckerResponse::Replace { text, texts }) => {
                    let texts = texts.or_else(|| text.map(|text| vec![text])).unwrap_or_default();
                    check_replacement(texts, check.texts)
                }
                Err(_) => Err(check_error("the checker's answer cannot be read")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_runtime::port::secret::NoSecrets;

    #[test]
    fn a_setting_that_cannot_be_used_is_named_and_not_repeated() {
        for (name, value, says) in [
            ("DJINN_SAFETY__DENY_LIST", "bomb", "a JSON list of phrases"),
            ("DJINN_SAFETY__DENY_LIST", "[\"bomb\", \"\"]", "number 2 is not"),
            ("DJINN_SAFETY__CONTENT_CHECKER", "ftp://bomb", "an http or https URL"),
            ("DJINN_SAFETY__CONTENT_CHECKER", "https://u:bomb@h/", "without a user or a password"),
            ("DJINN_SAFETY__CONTENT_CHECKER_KEY", "bomb", "`env:NAME` or `secret:NAME`"),
            ("DJINN_SAFETY__CONTENT_CHECKER_KEY", "env:bomb", "a variable that is set"),
            ("DJINN_SAFETY__CONTENT_CHECKER_FAILS", "maybe", "closed or open"),
            ("DJINN_SAFETY__CONTENT_CHECKER_TIMEOUT_MS", "99", "from 100 to 10000"),
        ] {
            let var = |asked: &str| (asked == name).then(|| value.to_owned());
            let error = parse_content_policy(&var, NoSecrets).err().map(|error| error.to_string());
            let error = error.unwrap_or_default();
            assert!(error.starts_with(name) && error.contains(says), "{error}");
            assert!(!error.contains("bomb"), "{error}");
        }
        assert!(
            parse_content_policy(&|_| None, NoSecrets).is_ok_and(|content| content.allows_all())
        );
    }
}
