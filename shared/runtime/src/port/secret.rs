//! Secrets: API keys, where they come from, and a type that never shows them.

use std::fmt;

/// An API key. It has no `Display`, and its `Debug` prints `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key, without the white space that files and consoles leave around it.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The key itself, to be sent and for nothing else.
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

/// Why a secret could not be read. Its text names the secret, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// There is no such secret, or it may not be read.
    #[error("{0}")]
    Missing(String),
    /// The store was not reached or throttled; the same question may succeed later.
    #[error("{0}")]
    Unavailable(String),
}

/// A store of secrets, asked for the key of each model whose `key` is `secret:NAME`: on its first call,
/// and again after a provider refused it.
///
/// Needs `secretsmanager:GetSecretValue` on the secrets that the settings name.
pub trait Secrets: Send + Sync {
    /// Reads the secret with this name or ARN.
    ///
    /// # Errors
    /// [`SecretError`]; a missing one ends the run, an unavailable store is asked again.
    fn read_secret(&self, name: &str) -> impl Future<Output = Result<Secret, SecretError>> + Send;
}

/// No store: every question is answered with [`SecretError::Missing`].
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
