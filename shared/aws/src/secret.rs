//! The secrets port is served by Secrets Manager, without a cache.

use std::sync::Arc;

use aws_sdk_secretsmanager::error::ProvideErrorMetadata;
use djinn_runtime::port::secret::{self, Secret, SecretError};

use crate::clients::Clients;
use crate::error::{AwsRequest, store_error};

/// Secrets of Secrets Manager, by name or ARN. Each read is a request without a cache: callers keep the
/// secret, and know when to read again.
#[derive(Debug, Clone)]
pub struct AwsSecrets {
    clients: Arc<Clients>,
}

impl AwsSecrets {
    pub(crate) fn new(clients: Arc<Clients>) -> Self {
        Self { clients }
    }
}

impl secret::Secrets for AwsSecrets {
    async fn read_secret(&self, name: &str) -> Result<Secret, SecretError> {
        let request = self.clients.secrets().await.get_secret_value().secret_id(name);
        let secret = Box::pin(request.send()).await.map_err(|error| {
            let request = AwsRequest { operation: "GetSecretValue", on: name };
            let text = store_error(request, &error).to_string();
            match error.code() {
                Some("AccessDeniedException" | "DecryptionFailure") => {
                    SecretError::Missing(format!("the secret `{name}` may not be read"))
                }
                Some("ResourceNotFoundException") => {
                    SecretError::Missing(format!("there is no secret `{name}`"))
                }
                _ => SecretError::Unavailable(text),
            }
        })?;
        match secret.secret_string() {
            Some(text) => Ok(Secret::new(text)),
            None => Err(SecretError::Missing(format!("the secret `{name}` is not a text"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::{clients_over, replay_of};
    use crate::settings::Settings;
    use djinn_runtime::port::secret::Secrets as _;

    fn secrets(answers: &[(u16, &str)]) -> AwsSecrets {
        AwsSecrets::new(clients_over(Settings::new("t", "b"), replay_of(answers)))
    }

    #[tokio::test]
    async fn a_secret_is_what_is_stored_now() {
        let answer = |key| format!(r#"{{"Name":"djinn/key","SecretString":"{key}\n"}}"#);
        let secrets = secrets(&[(200, &answer("sk-1")), (200, &answer("sk-2"))]);
        for key in ["sk-1", "sk-2"] {
            assert_eq!(secrets.read_secret("djinn/key").await, Ok(Secret::new(key)));
        }
    }

    #[tokio::test]
    async fn what_is_not_there_is_missing_and_what_is_not_reached_is_asked_again() {
        for (status, answer, text) in [
            (400, "ResourceNotFoundException", "there is no secret `key`"),
            (400, "AccessDeniedException", "the secret `key` may not be read"),
            (200, r#"{"Name":"key","SecretBinary":"AAAA"}"#, "the secret `key` is not a text"),
        ] {
            let missing = Err(SecretError::Missing(text.to_owned()));
            assert_eq!(secrets(&[(status, answer)]).read_secret("key").await, missing);
        }
        let secrets = secrets(&[
            (400, "ThrottlingException"),
            (500, "InternalServiceError"),
            (200, r#"{"Name":"key","SecretString":"sk-2"}"#),
        ]);
        for _ in 0..2 {
            let answer = secrets.read_secret("key").await;
            assert!(matches!(answer, Err(SecretError::Unavailable(_))), "{answer:?}");
        }
        assert_eq!(secrets.read_secret("key").await, Ok(Secret::new("sk-2")));
    }
}
