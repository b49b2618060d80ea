//! Secrets, fetched when they are first asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_sdk_secretsmanager::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use djinn_runtime::port::secret::{self, Secret, SecretError};
use tokio::sync::{Mutex, OnceCell};

use crate::clients::Clients;
use crate::error::{Request, unavailable};

/// Secrets of Secrets Manager, by name or ARN, kept for the life of this object once they were
/// read. Asking again, also at the same time, makes no further request.
#[derive(Debug, Clone)]
pub struct Secrets {
    clients: Arc<Clients>,
    known: Arc<Mutex<BTreeMap<String, Arc<OnceCell<Secret>>>>>,
}

impl Secrets {
    pub(crate) fn new(clients: Arc<Clients>) -> Self {
        Self { clients, known: Arc::default() }
    }

    async fn fetch(&self, name: &str) -> Result<Secret, SecretError> {
        let request = self.clients.secrets().await.get_secret_value().secret_id(name);
        match request.send().await {
            Ok(secret) => match secret.secret_string() {
                Some(text) => Ok(Secret::new(text)),
                None => Err(SecretError::Missing(format!("the secret `{name}` is not a text"))),
            },
            Err(error) => Err(classified(name, &error)),
        }
    }
}

impl secret::Secrets for Secrets {
    async fn secret(&self, name: &str) -> Result<Secret, SecretError> {
        let cell = Arc::clone(self.known.lock().await.entry(name.to_owned()).or_default());
        cell.get_or_try_init(|| self.fetch(name)).await.cloned()
    }
}

fn classified(name: &str, error: &SdkError<GetSecretValueError>) -> SecretError {
    let text = unavailable(Request { operation: "GetSecretValue", on: name }, error).to_string();
    match error.code() {
        Some("AccessDeniedException" | "DecryptionFailure") => {
            SecretError::Missing(format!("the secret `{name}` may not be read"))
        }
        Some("ResourceNotFoundException") => {
            SecretError::Missing(format!("there is no secret `{name}`"))
        }
        _ => SecretError::Unavailable(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::{answering, over};
    use crate::settings::Settings;
    use djinn_runtime::port::secret::Secrets as _;

    fn secrets(answers: &[(u16, &str)]) -> Secrets {
        Secrets::new(over(Settings::new("t", "b"), answering(answers)))
    }

    #[tokio::test]
    async fn a_secret_is_fetched_once_and_never_shown() {
        let secrets = secrets(&[(200, r#"{"Name":"djinn/key","SecretString":"sk-1\n"}"#)]);
        let both = tokio::join!(secrets.secret("djinn/key"), secrets.secret("djinn/key"));
        assert_eq!(both, (Ok(Secret::new("sk-1")), Ok(Secret::new("sk-1"))));
        assert_eq!(secrets.secret("djinn/key").await.unwrap().reveal(), "sk-1");
        assert_eq!(secrets.clients.counter.counts().get("GetSecretValue"), Some(&1));
        assert!(!format!("{secrets:?}").contains("sk-1"));
    }

    #[tokio::test]
    async fn what_is_not_there_is_missing_and_what_is_not_reached_is_asked_again() {
        for (status, answer, text) in [
            (400, "ResourceNotFoundException", "there is no secret `key`"),
            (400, "AccessDeniedException", "the secret `key` may not be read"),
            (200, r#"{"Name":"key","SecretBinary":"AAAA"}"#, "the secret `key` is not a text"),
        ] {
            let missing = Err(SecretError::Missing(text.to_owned()));
            assert_eq!(secrets(&[(status, answer)]).secret("key").await, missing);
        }
        let secrets = secrets(&[
            (400, "ThrottlingException"),
            (500, "InternalServiceError"),
            (200, r#"{"Name":"key","SecretString":"sk-2"}"#),
        ]);
        for _ in 0..2 {
            let answer = secrets.secret("key").await;
            assert!(matches!(answer, Err(SecretError::Unavailable(_))), "{answer:?}");
        }
        assert_eq!(secrets.secret("key").await, Ok(Secret::new("sk-2")));
    }
}
