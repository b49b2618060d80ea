//! Databases as a function in their network, which alone reads the passwords.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_lambda::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_lambda::operation::invoke::InvokeOutput;
use aws_sdk_lambda::primitives::Blob;
use djinn_agents::DatabaseRelation;
use djinn_core::id::TenantId;
use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::database::wire::{DatabaseEnvelope, DatabaseReply, DatabaseWork, FORMAT};
use djinn_runtime::port::database::{
    Database, DatabaseConnection, DatabaseError, DatabaseQuery, DatabaseRows, DatabaseTable,
};
use djinn_runtime::port::tool::BoxFuture;
use djinn_settings::table::aws::DATABASE;

use crate::clients::Clients;
use crate::synchronous::FunctionJob;

/// Maximum wait for an invocation: the function's timeout, and a cold start.
const PATIENCE: Duration = Duration::from_secs(50);
/// The longest text of an error in a log.
const MAX_TEXT: usize = 500;

/// Databases whose function is invoked synchronously, with separate environments for each tenant.
#[derive(Debug, Clone)]
pub struct LambdaDatabase {
    function: String,
    clients: Arc<Clients>,
}

impl LambdaDatabase {
    pub(crate) fn new(function: String, clients: Arc<Clients>) -> Self {
        Self { function, clients }
    }

    async fn invoke(
        &self,
        connection: &DatabaseConnection,
        work: DatabaseWork,
    ) -> Result<DatabaseReply, DatabaseError> {
        let tenant = work.tenant().clone();
        let envelope = DatabaseEnvelope { v: FORMAT, connection: connection.clone(), work };
        let payload = serde_json::to_vec(&envelope).map_err(|_| {
            tracing::warn!("the password of a connection is a variable, which is for laptops");
            DatabaseError::Unavailable
        })?;
        let function = &self.function;
        let job = FunctionJob { function, tenant: Some(&tenant), payload, patience: PATIENCE };
        match job.invoke(&self.clients).await {
            Ok(output) => parse_output(&output),
            Err(error) => {
                let code = error.code().unwrap_or_default();
                let detail = DisplayErrorContext(&error).to_string();
                let detail: String = detail.chars().take(MAX_TEXT).collect();
                let setting = DATABASE.name;
                tracing::warn!(function, setting, code, detail, "no database function was invoked");
                Err(DatabaseError::Unavailable)
            }
        }
    }
}

impl Database for LambdaDatabase {
    fn describe<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
        relation: &'a DatabaseRelation,
        tenant: &'a TenantId,
        time_zone: TimeZone,
    ) -> BoxFuture<'a, Result<DatabaseTable, DatabaseError>> {
        let work = DatabaseWork::Describe {
            relation: relation.clone(),
            tenant: tenant.clone(),
            time_zone,
        };
        Box::pin(async move { self.invoke(connection, work).await?.into_table() })
    }

    fn query<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
        query: &'a DatabaseQuery,
    ) -> BoxFuture<'a, Result<DatabaseRows, DatabaseError>> {
        let work = DatabaseWork::Query(query.clone());
        Box::pin(async move { self.invoke(connection, work).await?.into_rows() })
    }
}

fn parse_output(output: &InvokeOutput) -> Result<DatabaseReply, DatabaseError> {
    let payload = output.payload().map(Blob::as_ref).unwrap_or_default();
    if let Some(kind) = output.function_error() {
        let text: String = String::from_utf8_lossy(payload).chars().take(MAX_TEXT).collect();
        tracing::error!(kind, text, "the database function failed");
        let is_late = text.contains("Timedout") || text.contains("timed out");
        return Err(if is_late { DatabaseError::Timeout } else { DatabaseError::Unavailable });
    }
    serde_json::from_slice(payload).map_err(|error| {
        tracing::error!(%error, "the reply of the database function is not valid: deploy it again");
        DatabaseError::Unavailable
    })
}

#[cfg(test)]
mod tests {
    use djinn_core::id::UserId;
    use djinn_runtime::port::UserKey;
    use djinn_runtime::port::database::DatabasePassword;
    use djinn_runtime::port::secret::Secret;
    use serde_json::json;

    use super::*;
    use crate::clients::tests::{clients_over, replay_of, sent_requests};
    use crate::replay::{Replay, response};
    use crate::settings::Settings;

    fn connection(password: DatabasePassword) -> DatabaseConnection {
        DatabaseConnection {
            host: "db.example".to_owned(),
            port: 5432,
            database: "shop".to_owned(),
            user: "djinn".to_owned(),
            password,
            ca: None,
        }
    }

    fn query() -> DatabaseQuery {
        let user =
            UserKey { tenant: TenantId::new("acme").unwrap(), user: UserId::new("ann").unwrap() };
        DatabaseQuery {
            text: "SELECT 1".to_owned(),
            views: Vec::new(),
            user,
            time_zone: TimeZone::default(),
            max_rows: 1,
            max_bytes: 1,
            timeout_ms: 1,
        }
    }

    fn database(http: &Replay) -> LambdaDatabase {
        let clients = clients_over(Settings::new("t", "b"), http.clone());
        LambdaDatabase::new("database".to_owned(), clients)
    }

    async fn ask(http: &Replay) -> Result<DatabaseRows, DatabaseError> {
        let stored = connection(DatabasePassword::Stored("djinn/data/shop".to_owned()));
        database(http).query(&stored, &query()).await
    }

    #[tokio::test]
    async fn query_is_invoked_with_its_tenant_and_the_place_of_the_password() {
        let rows = DatabaseRows { rows: vec!["{}".to_owned()], ..DatabaseRows::default() };
        let reply = json!(DatabaseReply::of_rows(rows.clone())).to_string();
        let http = replay_of(&[(200, &reply)]);
        assert_eq!(ask(&http).await, Ok(rows));
        let requests = http.take_requests();
        assert_eq!(requests[0].headers().get("x-amz-tenant-id"), Some("acme"));
        let body = String::from_utf8_lossy(requests[0].body().bytes().unwrap()).into_owned();
        assert!(body.contains(r#""password":{"stored":"djinn/data/shop"}"#), "{body}");
        let table = DatabaseTable { rows: 2, ..DatabaseTable::default() };
        let http = replay_of(&[(200, &json!(DatabaseReply::of_table(table.clone())).to_string())]);
        let tenant = TenantId::new("globex").unwrap();
        let relation = DatabaseRelation::Query("SELECT 1".to_owned());
        let iam = connection(DatabasePassword::Iam);
        let database = database(&http);
        let described = database.describe(&iam, &relation, &tenant, TimeZone::default());
        assert_eq!(described.await, Ok(table));
        assert_eq!(http.take_requests()[0].headers().get("x-amz-tenant-id"), Some("globex"));
    }

    #[tokio::test]
    async fn errors_of_the_function_are_those_of_a_database() {
        for (status, answer, expected) in [
            (200, r#"{"failed":"rejected"}"#, DatabaseError::Rejected),
            (200, r#"{"failed":{"query":"no"}}"#, DatabaseError::Query("no".to_owned())),
            (200, "[]", DatabaseError::Unavailable),
            (404, "ResourceNotFoundException", DatabaseError::Unavailable),
            (403, "AccessDeniedException", DatabaseError::Unavailable),
        ] {
            assert_eq!(ask(&replay_of(&[(status, answer)])).await, Err(expected));
        }
        for (text, expected) in [
            (r#"{"errorType":"Sandbox.Timedout"}"#, DatabaseError::Timeout),
            (r#"{"errorType":"Runtime.ExitError"}"#, DatabaseError::Unavailable),
        ] {
            let mut answer = response(200, text.to_owned());
            answer.headers_mut().insert("x-amz-function-error", "Unhandled");
            assert_eq!(ask(&Replay::new([answer].into_iter())).await, Err(expected));
        }
    }

    #[tokio::test]
    async fn password_of_a_variable_is_never_sent() {
        let http = replay_of(&[]);
        let inline = connection(DatabasePassword::Inline(Secret::new("geheim-4711")));
        let failed = database(&http).query(&inline, &query()).await;
        assert_eq!(failed, Err(DatabaseError::Unavailable));
        assert!(sent_requests(&http).is_empty());
    }
}
