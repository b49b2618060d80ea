//! Secrets: API keys, their store, and a type that never shows a key.

use std::fmt;

/// An API key without `Display`; its `Debug` prints `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret from a key, without the white space that files and consoles add.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Returns the key itself, only for sending.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The error of reading a secret. The text names the secret, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The secret does not exist, or access is denied.
    #[error("{0}")]
    Missing(String),
    /// The store was unreachable or throttled; the same request may succeed later.
    #[error("{0}")]
    Unavailable(String),
}

/// A store of secrets, read for the key of each model whose `key` is `secret:NAME`: on the first call of the
/// model, and again after a provider rejected the key.
///
/// Needs `secretsmanager:GetSecretValue` on the secrets named by the settings.
pub trait Secrets: Send + Sync {
    /// Reads the secret with this name or ARN.
    ///
    /// # Errors
    /// Returns [`SecretError`]: a missing secret ends the run, an unavailable store is retried.
    fn read_secret(&self, name: &str) -> impl Future<Output = Result<Secret, SecretError>> + Send;
}

/// A missing store: every request returns [`SecretError::Missing`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoSecrets;

impl Secrets for NoSecrets {
    async fn read_secret(&self, name: &str) -> Result<Secret, SecretError> {
        Err(SecretError::Missing(format!("no secret store is available to read `{name}` from")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_trimmed_and_never_shown() {
        let secret = Secret::new(" sk-12345\n");
        assert_eq!(secret.reveal(), "sk-12345");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "*** Some(***)");
    }
}
