//! Answers one request of the function.

use djinn_runtime::port::database::wire::{DatabaseEnvelope, DatabaseReply, DatabaseWork, FORMAT};
use djinn_runtime::port::database::{Database, DatabaseError};

/// Answers requests over a database port.
pub(crate) struct RequestHandler<D> {
    database: D,
}

impl<D: Database> RequestHandler<D> {
    pub(crate) fn new(database: D) -> Self {
        Self { database }
    }

    /// Does the work of a request. `tenant` is the tenant of the environment, which no other tenant's request may use.
    pub(crate) async fn handle_request(
        &self,
        envelope: DatabaseEnvelope,
        tenant: Option<&str>,
    ) -> DatabaseReply {
        let DatabaseEnvelope { v, connection, work } = envelope;
        if v != FORMAT {
            tracing::error!(v, "a request has another format: deploy this function and the stack");
            return DatabaseReply::Failed(DatabaseError::Unavailable);
        }
        if tenant != Some(work.tenant().as_str()) {
            tracing::error!("a request is not one of the tenant of this environment");
            return DatabaseReply::Failed(DatabaseError::Unavailable);
        }
        match &work {
            DatabaseWork::Describe { relation, tenant, time_zone } => {
                let table = self.database.describe(&connection, relation, tenant, *time_zone).await;
                table.map_or_else(DatabaseReply::Failed, DatabaseReply::of_table)
            }
            DatabaseWork::Query(query) => {
                let rows = self.database.query(&connection, query).await;
                rows.map_or_else(DatabaseReply::Failed, DatabaseReply::of_rows)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use djinn_agents::DatabaseRelation;
    use djinn_core::id::TenantId;
    use djinn_core::time_zone::TimeZone;
    use djinn_runtime::port::database::{
        DatabaseConnection, DatabaseQuery, DatabaseRows, DatabaseTable,
    };
    use djinn_runtime::port::tool::BoxFuture;
    use serde_json::json;

    use super::*;

    /// Returns the tenant of a description, and the text of a query.
    struct Echo;

    impl Database for Echo {
        fn describe<'a>(
            &'a self,
            _: &'a DatabaseConnection,
            _: &'a DatabaseRelation,
            tenant: &'a TenantId,
            _: TimeZone,
        ) -> BoxFuture<'a, Result<DatabaseTable, DatabaseError>> {
            let names = vec![tenant.to_string()];
            Box::pin(async { Ok(DatabaseTable { names, ..DatabaseTable::default() }) })
        }

        fn query<'a>(
            &'a self,
            _: &'a DatabaseConnection,
            query: &'a DatabaseQuery,
        ) -> BoxFuture<'a, Result<DatabaseRows, DatabaseError>> {
            Box::pin(async {
                match query.text.as_str() {
                    "fail" => Err(DatabaseError::Rejected),
                    text => {
                        Ok(DatabaseRows { rows: vec![text.to_owned()], ..DatabaseRows::default() })
                    }
                }
            })
        }
    }

    async fn ask(v: u16, work: serde_json::Value, tenant: Option<&str>) -> DatabaseReply {
        let envelope = json!({
            "v": v, "work": work,
            "connection": {
                "host": "h", "port": 1, "database": "d", "user": "u", "password": "iam",
            },
        });
        let envelope = serde_json::from_value(envelope).unwrap();
        RequestHandler::new(Echo).handle_request(envelope, tenant).await
    }

    fn query(text: &str) -> serde_json::Value {
        json!({"kind": "query", "arguments": {
            "text": text, "views": [], "user": {"tenant": "acme", "user": "ann"},
            "time_zone": "UTC", "max_rows": 1, "max_bytes": 1, "timeout_ms": 1,
        }})
    }

    #[tokio::test]
    async fn request_is_answered_in_the_environment_of_its_tenant_alone() {
        let rows = ask(1, query("1"), Some("acme")).await.into_rows().unwrap();
        assert_eq!(rows.rows, ["1"]);
        let failed = ask(1, query("fail"), Some("acme")).await;
        assert_eq!(failed, DatabaseReply::Failed(DatabaseError::Rejected));
        let describe = json!({"kind": "describe", "arguments": {
            "relation": {"query": "SELECT 1"}, "tenant": "acme", "time_zone": "UTC",
        }});
        let table = ask(1, describe.clone(), Some("acme")).await.into_table().unwrap();
        assert_eq!(table.names, ["acme"]);
        let unavailable = DatabaseReply::Failed(DatabaseError::Unavailable);
        for (v, work, tenant) in [
            (2, query("1"), Some("acme")),
            (1, query("1"), Some("globex")),
            (1, query("1"), None),
            (1, describe, Some("globex")),
        ] {
            assert_eq!(ask(v, work, tenant).await, unavailable);
        }
    }
}
