//! Passwords of databases: secrets of Secrets Manager, and tokens of IAM for RDS.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::config::{Credentials, ProvideCredentials as _};
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use djinn_runtime::port::clock::{Clock as _, SystemClock};
use djinn_runtime::port::database::{
    DatabaseConnection, DatabaseError, DatabasePassword, DatabasePasswords,
};
use djinn_runtime::port::secret::{Secret, Secrets as _};
use djinn_runtime::port::tool::BoxFuture;

use crate::clients::Clients;
use crate::secret::AwsSecrets;

/// The time in which a token begins a connection.
const TOKEN_LIFE: Duration = Duration::from_secs(15 * 60);

/// Passwords with the credentials of the environment.
#[derive(Debug, Clone)]
pub struct AwsDatabasePasswords {
    clients: Arc<Clients>,
}

impl AwsDatabasePasswords {
    pub(crate) fn new(clients: Arc<Clients>) -> Self {
        Self { clients }
    }

    async fn read(&self, connection: &DatabaseConnection) -> Result<Secret, String> {
        match &connection.password {
            DatabasePassword::Inline(password) => Ok(password.clone()),
            DatabasePassword::Stored(name) => {
                let secret = AwsSecrets::new(Arc::clone(&self.clients)).read_secret(name).await;
                secret.map(find_password).map_err(|error| error.to_string())
            }
            DatabasePassword::Iam => {
                let config = self.clients.sdk_config().await;
                let provider = config.credentials_provider();
                let provider = provider.ok_or("the function has no credentials")?;
                let credentials = provider.provide_credentials().await;
                let credentials = credentials.map_err(|error| error.to_string())?;
                let now_ms = u64::try_from(SystemClock.now_ms()).unwrap_or(0);
                let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now_ms);
                let region = config.region().ok_or("the function has no region")?;
                create_token(connection, region.as_ref(), credentials, now)
                    .ok_or_else(|| "no token can be signed".to_owned())
            }
        }
    }
}

impl DatabasePasswords for AwsDatabasePasswords {
    fn read_password<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
    ) -> BoxFuture<'a, Result<Secret, DatabaseError>> {
        Box::pin(async move {
            self.read(connection).await.map_err(|reason| {
                tracing::warn!(reason, "the password of a database cannot be read");
                DatabaseError::Unavailable
            })
        })
    }
}

/// Returns the password of a secret, which may be a JSON object as Secrets Manager writes it for databases.
#[allow(clippy::needless_pass_by_value, reason = "for `map`")]
fn find_password(secret: Secret) -> Secret {
    let fields: Option<serde_json::Value> = serde_json::from_str(secret.reveal()).ok();
    let password = fields.as_ref().and_then(|fields| fields.get("password")?.as_str());
    password.map(Secret::new).unwrap_or(secret)
}

/// Returns a token for a user of RDS: a signed URL without its scheme. `None` if a part of the URL is invalid.
fn create_token(
    connection: &DatabaseConnection,
    region: &str,
    credentials: Credentials,
    at: SystemTime,
) -> Option<Secret> {
    let mut settings = SigningSettings::default();
    settings.expires_in = Some(TOKEN_LIFE);
    settings.signature_location = SignatureLocation::QueryParams;
    let identity = credentials.into();
    let params = SigningParams::builder().identity(&identity).region(region).name("rds-db");
    let params = params.time(at).settings(settings).build().ok()?.into();
    let DatabaseConnection { host, port, user, .. } = connection;
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("Action", "connect").append_pair("DBUser", user);
    let place = format!("{host}:{port}/?");
    let url = format!("https://{place}{}", query.finish());
    let body = SignableBody::Bytes(&[]);
    let request = SignableRequest::new("GET", &url, std::iter::empty(), body).ok()?;
    let (instructions, _) = sign(request, &params).ok()?.into_parts();
    let mut signed = form_urlencoded::Serializer::new(url.strip_prefix("https://")?.to_owned());
    for (name, value) in instructions.params() {
        signed.append_pair(name, value);
    }
    Some(Secret::new(&signed.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::{clients_over, replay_of};
    use crate::settings::Settings;

    fn connection(password: DatabasePassword) -> DatabaseConnection {
        DatabaseConnection {
            host: "prod-instance.us-east-1.rds.amazonaws.com".to_owned(),
            port: 3306,
            database: "shop".to_owned(),
            user: "peccy".to_owned(),
            password,
            ca: None,
        }
    }

    async fn read(
        password: DatabasePassword,
        answers: &[(u16, &str)],
    ) -> Result<Secret, DatabaseError> {
        let clients = clients_over(Settings::new("t", "b"), replay_of(answers));
        AwsDatabasePasswords::new(clients).read_password(&connection(password)).await
    }

    #[tokio::test]
    async fn stored_password_is_a_text_or_a_field_of_json() {
        for (stored, password) in [
            (r#""geheim""#, "geheim"),
            (r#""{\"username\":\"djinn\",\"password\":\"geheim\"}""#, "geheim"),
            (r#""{\"other\":1}""#, r#"{"other":1}"#),
        ] {
            let answer = format!(r#"{{"Name":"djinn/data/shop","SecretString":{stored}}}"#);
            let place = DatabasePassword::Stored("djinn/data/shop".to_owned());
            assert_eq!(read(place, &[(200, &answer)]).await, Ok(Secret::new(password)));
        }
        let place = DatabasePassword::Stored("djinn/data/shop".to_owned());
        let failed = read(place, &[(400, "ResourceNotFoundException")]).await;
        assert_eq!(failed, Err(DatabaseError::Unavailable));
        let inline = DatabasePassword::Inline(Secret::new("geheim"));
        assert_eq!(read(inline, &[]).await, Ok(Secret::new("geheim")));
        let token = read(DatabasePassword::Iam, &[]).await.unwrap();
        assert!(token.reveal().contains("%2Feu-west-1%2Frds-db%2F"), "{}", token.reveal());
    }

    /// The example of AWS's own SDK.
    #[test]
    fn token_is_signed_as_rds_expects() {
        let at = std::time::UNIX_EPOCH + Duration::from_secs(1_724_709_600);
        let credentials = Credentials::new("akid", "secret", None, None, "test");
        let token =
            create_token(&connection(DatabasePassword::Iam), "us-east-1", credentials, at).unwrap();
        let expected = "prod-instance.us-east-1.rds.amazonaws.com:3306/?Action=connect&DBUser=peccy\
            &X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=akid%2F20240826%2Fus-east-1%2Frds-db%2Faws4_request\
            &X-Amz-Date=20240826T220000Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host\
            &X-Amz-Signature=dd0cba843009474347af724090233265628ace491ea17ce3eb3da098b983ad89";
        assert_eq!(token.reveal(), expected);
    }

    /// The parameters and the signature are those of botocore 1.44.8.
    #[test]
    fn token_has_the_session_token_of_temporary_credentials() {
        let at = std::time::UNIX_EPOCH + Duration::from_secs(1_724_709_600);
        let session_token = Some("IQoJb3+a/b+c==".to_owned());
        let credentials = Credentials::new("akid", "secret", session_token, None, "test");
        let token =
            create_token(&connection(DatabasePassword::Iam), "us-east-1", credentials, at).unwrap();
        let (place, query) = token.reveal().split_once('?').unwrap();
        assert_eq!(place, "prod-instance.us-east-1.rds.amazonaws.com:3306/");
        let mut parameters: Vec<&str> = query.split('&').collect();
        parameters.sort_unstable();
        let expected = [
            "Action=connect",
            "DBUser=peccy",
            "X-Amz-Algorithm=AWS4-HMAC-SHA256",
            "X-Amz-Credential=akid%2F20240826%2Fus-east-1%2Frds-db%2Faws4_request",
            "X-Amz-Date=20240826T220000Z",
            "X-Amz-Expires=900",
            "X-Amz-Security-Token=IQoJb3%2Ba%2Fb%2Bc%3D%3D",
            "X-Amz-Signature=291b7f12dada3e6ac6aa1b45e4412d978bda560086a16c6c4adf85890de6f255",
            "X-Amz-SignedHeaders=host",
        ];
        assert_eq!(parameters, expected);
    }
}
