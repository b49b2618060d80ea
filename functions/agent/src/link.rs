//! Links for opening files and responding to human requests, without other credentials.
//!
//! A link is created when a file or a human request is shown, contains everything needed for verification,
//! and is not stored. A link for a response ends with the human request, and after [`LinkSettings::ttl`] at
//! the latest. A link to a file is valid for the file's content until the end of the next morning (UTC).

pub(crate) mod form;
pub(crate) mod page;
mod sign;
mod texts;
mod token;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_runtime::port::secret::Secrets;
use djinn_settings::table::agent::{LINK_KEY, LINK_TTL_S, LINK_URL};
use djinn_settings::{InvalidSetting, VarLookup};
use percent_encoding::percent_decode_str;

use crate::cached_secret::CachedSecret;

pub(crate) use sign::{ConnectTime, LinkSigner};
pub use token::{BadLink, FileGrant, LinkKeys, MIN_KEY, ResponseGrant};
use token::{is_file_token, is_response_token};

/// The path of responses; a link's token follows.
const RESPONSES: &str = "/respond/";

/// The path of files.
const FILES: &str = "/v1/file_tool/";

/// Maximum length of a label, in characters.
const MAX_LABEL: usize = 128;

/// The settings of a deployment's links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSettings {
    /// The keys for signing.
    pub key: LinkKey,
    /// Maximum validity of a link for a response.
    pub ttl: Duration,
    /// The URL prefix of links, if different from the request's origin.
    pub url: Option<String>,
}

/// The location of the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkKey {
    /// The keys in the setting itself.
    Inline(LinkKeys),
    /// The name of a secret with the keys.
    Secret(String),
}

impl LinkSettings {
    /// Reads the keys, validity and URL of links. Returns `None` without a key, which turns links off.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] with the name of the variable, and never repeats a key.
    pub fn from_vars(var: VarLookup<'_>) -> Result<Option<Self>, InvalidSetting> {
        let ttl = Duration::from_secs(LINK_TTL_S.read_number(var)?);
        let url = LINK_URL.find_text(var);
        let url = url.map(|url| url.trim().trim_end_matches('/').to_owned());
        if let Some(url) = url.as_ref().filter(|url| !url.starts_with("http")) {
            return Err(LINK_URL.refuse(url));
        }
        let Some(text) = LINK_KEY.find_text(var) else { return Ok(None) };
        let key = match text.trim().strip_prefix("secret:").map(str::trim) {
            Some("") => Err("secret:".to_owned()),
            Some(name) => Ok(LinkKey::Secret(name.to_owned())),
            None => LinkKeys::parse(&text).map(LinkKey::Inline),
        };
        let key = key.map_err(|problem| LINK_KEY.refuse_described(&problem))?;
        Ok(Some(Self { key, ttl, url }))
    }
}

/// Creates and verifies a deployment's links.
pub(crate) struct SignedLinks {
    source: LinkKeySource,
    url: Option<String>,
}

enum LinkKeySource {
    Inline(Arc<LinkKeys>),
    Stored(Box<dyn StoredKeys>),
}

/// Keys in a store of any kind.
trait StoredKeys: Send + Sync {
    fn keys(&self, now_ms: i64) -> KeysFuture<'_>;
}

type KeysFuture<'a> = Pin<Box<dyn Future<Output = Option<Arc<LinkKeys>>> + Send + 'a>>;

impl<S: Secrets> StoredKeys for CachedSecret<S, LinkKeys> {
    fn keys(&self, now_ms: i64) -> KeysFuture<'_> {
        Box::pin(self.get_value(now_ms))
    }
}

impl SignedLinks {
    pub(crate) fn new<S: Secrets + 'static>(settings: &LinkSettings, secrets: S) -> Self {
        let source = match &settings.key {
            LinkKey::Inline(keys) => LinkKeySource::Inline(Arc::new(keys.clone())),
            LinkKey::Secret(name) => {
                LinkKeySource::Stored(Box::new(CachedSecret::new(name, secrets, LinkKeys::parse)))
            }
        };
        Self { source, url: settings.url.clone() }
    }

    /// Returns the links of the request's deployment, if enabled.
    pub(crate) fn of(parts: &Parts) -> Option<Arc<Self>> {
        parts.extensions.get::<Arc<Self>>().cloned()
    }

    /// The URL prefix of links, if different from the request's origin.
    pub(crate) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Returns the keys; `None` while the keys cannot be read.
    pub(crate) async fn load_keys(&self, now_ms: i64) -> Option<Arc<LinkKeys>> {
        match &self.source {
            LinkKeySource::Inline(keys) => Some(Arc::clone(keys)),
            LinkKeySource::Stored(stored) => stored.keys(now_ms).await,
        }
    }

    /// Returns the current grant of a response link's token.
    ///
    /// # Errors
    /// Returns `link_not_found` for an unknown token or a token for another purpose, `link_expired`, and
    /// `identity_unavailable` while the keys cannot be read. The keys are read only if the token's form is
    /// valid.
    pub(crate) async fn verify_response(
        &self,
        token: &str,
        now_ms: i64,
    ) -> Result<ResponseGrant, Failure> {
        let keys = self.keys_for(is_response_token(token), now_ms).await?;
        Ok(keys.verify_response(token, now_ms)?)
    }

    /// Returns the current grant of a token in a link to a file of this name.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::verify_response`].
    pub(crate) async fn verify_file(
        &self,
        token: &str,
        name: &str,
        now_ms: i64,
    ) -> Result<FileGrant, Failure> {
        let keys = self.keys_for(is_file_token(token, name), now_ms).await?;
        Ok(keys.verify_file(token, name, now_ms)?)
    }

    async fn keys_for(&self, is_token: bool, now_ms: i64) -> Result<Arc<LinkKeys>, Failure> {
        if !is_token {
            return Err(ErrorCode::LinkNotFound.into());
        }
        self.load_keys(now_ms).await.ok_or_else(|| {
            Failure::new(ErrorCode::IdentityUnavailable, "the keys of links cannot be read")
        })
    }
}

impl From<BadLink> for Failure {
    fn from(bad: BadLink) -> Self {
        match bad {
            BadLink::NotOurs => ErrorCode::LinkNotFound.into(),
            BadLink::Expired => ErrorCode::LinkExpired.into(),
        }
    }
}

/// Returns true if a URL's path has the form of a signed link to a file: the key is too long for a label.
pub(crate) fn is_file_link(path: &str) -> bool {
    let is_token = |key| percent_decode_str(key).decode_utf8().is_ok_and(|key| is_token(&key));
    split_file_path(path).is_some_and(|(key, _)| is_token(key))
}

/// Splits the path of a link to a file into the key and the file's name, both still encoded.
pub(crate) fn split_file_path(path: &str) -> Option<(&str, &str)> {
    let mut parts = path.strip_prefix(FILES)?.split('/');
    let verb = parts.next()?;
    let key = parts.next()?;
    let name = parts.next()?;
    let is_link = matches!(verb, "preview" | "download") && !name.is_empty();
    (is_link && parts.next().is_none()).then_some((key, name))
}

/// Returns true if a key is a token and not a label: tokens are longer.
pub(crate) fn is_token(key: &str) -> bool {
    key.len() > MAX_LABEL
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_runtime::port::secret::{Secret, SecretError};

    fn read(vars: &[(&str, &str)]) -> Result<Option<LinkSettings>, String> {
        let var = |name: &str| {
            let found = vars.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        LinkSettings::from_vars(&var).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_key_there_are_no_links_and_a_bad_one_is_not_repeated() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[(LINK_KEY.name, " "), (LINK_TTL_S.name, "60")]), Ok(None));
        let key = "k".repeat(MIN_KEY);
        let settings = read(&[(LINK_KEY.name, &key), (LINK_URL.name, "https://a.example/live/")])
            .unwrap()
            .unwrap();
        assert_eq!(settings.ttl, Duration::from_secs(604_800));
        assert_eq!(settings.url.as_deref(), Some("https://a.example/live"));
        assert!(!format!("{settings:?}").contains(&key), "{settings:?}");
        let stored = read(&[(LINK_KEY.name, "secret:djinn/links"), (LINK_TTL_S.name, "31622400")])
            .unwrap()
            .unwrap();
        assert_eq!(stored.key, LinkKey::Secret("djinn/links".to_owned()));
        assert_eq!(stored.ttl, Duration::from_secs(31_622_400));
        let short = "0123456789abcdef";
        for (vars, part) in [
            (&[(LINK_KEY.name, short)][..], "DJINN_LINK_KEY must be keys of at least 32 bytes"),
            (&[(LINK_KEY.name, "secret: ")], "got `secret:`"),
            (
                &[(LINK_TTL_S.name, "59")],
                "DJINN_PEOPLE__LINK_TTL_S must be a whole number from 60 to 31622400",
            ),
            (&[(LINK_TTL_S.name, "31622401")], "DJINN_PEOPLE__LINK_TTL_S must be"),
            (&[(LINK_URL.name, "answers.example.org")], "DJINN_LINK_URL must be a URL"),
        ] {
            let problem = read(vars).unwrap_err();
            assert!(problem.contains(part) && !problem.contains(short), "{problem}");
        }
    }

    #[test]
    fn only_what_is_longer_than_any_label_is_taken_for_a_token() {
        let token = "t".repeat(129);
        let label = "s".repeat(128);
        let colons = "%3A".repeat(128);
        for (path, opens) in [
            (format!("/v1/file_tool/preview/{token}/a.md"), true),
            (format!("/v1/file_tool/download/{token}/%E9%87%91.md"), true),
            (format!("/v1/file_tool/preview/{label}/a.md"), false),
            (format!("/v1/file_tool/preview/{colons}/a.md"), false),
            (format!("/v1/file_tool/preview/{token}/"), false),
            (format!("/v1/file_tool/preview/{token}"), false),
            (format!("/v1/file_tool/preview/{token}/a/b"), false),
            (format!("/v1/file_tool/get_file/{token}/a.md"), false),
            (format!("/runs/{token}/a.md"), false),
        ] {
            assert_eq!(is_file_link(&path), opens, "{path}");
        }
    }

    /// Two keys in a secret, or none that can be read.
    struct Store(bool);

    impl Secrets for Store {
        async fn read_secret(&self, name: &str) -> Result<Secret, SecretError> {
            assert_eq!(name, "djinn/links");
            if self.0 {
                Ok(Secret::new(&format!("{}, {}", "n".repeat(MIN_KEY), "o".repeat(40))))
            } else {
                Err(SecretError::Missing("there is no secret `djinn/links`".to_owned()))
            }
        }
    }

    #[tokio::test]
    async fn keys_may_be_in_a_secret() {
        let settings = read(&[(LINK_KEY.name, "secret:djinn/links")]).unwrap().unwrap();
        let keys = SignedLinks::new(&settings, Store(true)).load_keys(1).await.unwrap();
        assert_eq!(*keys, LinkKeys::parse(&["n".repeat(32), "o".repeat(40)].join(",")).unwrap());
        assert_eq!(SignedLinks::new(&settings, Store(false)).load_keys(1).await, None);
    }
}
