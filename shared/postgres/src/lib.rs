//! The database port over PostgreSQL 12 and later, with TLS.
//!
//! A query runs as `to_json` over views that have the caller's columns and rows alone, in a transaction that cannot write.

mod connect;
mod describe;
mod failure;
mod kind;
mod query;
mod statement;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use djinn_agents::DatabaseRelation;
use djinn_core::id::TenantId;
use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::database::{
    Database, DatabaseConnection, DatabaseError, DatabasePasswords, DatabaseQuery, DatabaseRows,
    DatabaseTable, InlinePasswords,
};
use djinn_runtime::port::tool::BoxFuture;

use connect::OpenConnection;

/// Databases over PostgreSQL's protocol, with a connection for each request.
pub struct PostgresDatabase {
    passwords: Arc<dyn DatabasePasswords>,
    keeps_connection: bool,
    /// The connection of the last request, if the next may use it.
    idle: Mutex<Option<(DatabaseConnection, OpenConnection)>>,
}

impl Default for PostgresDatabase {
    fn default() -> Self {
        Self::new(Arc::new(InlinePasswords))
    }
}

impl fmt::Debug for PostgresDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresDatabase").finish_non_exhaustive()
    }
}

impl PostgresDatabase {
    /// Creates the databases. A password is read for each new connection.
    #[must_use]
    pub fn new(passwords: Arc<dyn DatabasePasswords>) -> Self {
        Self { passwords, keeps_connection: false, idle: Mutex::default() }
    }

    /// Keeps a connection for the next request, for a process whose requests are those of one tenant.
    #[must_use]
    pub fn with_idle_connection(self) -> Self {
        Self { keeps_connection: true, ..self }
    }

    /// Sends a request. If an idle connection has ended meanwhile, another one is opened.
    async fn run<R: Request>(
        &self,
        connection: &DatabaseConnection,
        request: &R,
    ) -> Result<R::Answer, DatabaseError> {
        if let Some(mut open) = self.take_idle(connection) {
            let result = request.send(&mut open).await;
            if !matches!(result, Err(DatabaseError::Unavailable)) {
                self.keep(connection, open);
                return result;
            }
        }
        let password = self.passwords.read_password(connection).await?;
        let mut open = OpenConnection::open(connection, &password).await?;
        let result = request.send(&mut open).await;
        self.keep(connection, open);
        result
    }

    fn take_idle(&self, connection: &DatabaseConnection) -> Option<OpenConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let (idle_connection, open) = idle.take()?;
        (idle_connection == *connection && open.is_usable()).then_some(open)
    }

    fn keep(&self, connection: &DatabaseConnection, open: OpenConnection) {
        if self.keeps_connection && open.is_usable() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            *idle = Some((connection.clone(), open));
        }
    }
}

/// A request over an open connection.
trait Request: Sync {
    type Answer: Send;

    fn send<'a>(
        &'a self,
        open: &'a mut OpenConnection,
    ) -> BoxFuture<'a, Result<Self::Answer, DatabaseError>>;
}

/// The request for a description.
struct Description<'a> {
    relation: &'a DatabaseRelation,
    time_zone: TimeZone,
}

impl Request for Description<'_> {
    type Answer = DatabaseTable;

    fn send<'a>(
        &'a self,
        open: &'a mut OpenConnection,
    ) -> BoxFuture<'a, Result<DatabaseTable, DatabaseError>> {
        Box::pin(describe::describe(open, self.relation, self.time_zone))
    }
}

impl Request for DatabaseQuery {
    type Answer = DatabaseRows;

    fn send<'a>(
        &'a self,
        open: &'a mut OpenConnection,
    ) -> BoxFuture<'a, Result<DatabaseRows, DatabaseError>> {
        Box::pin(query::query(open, self))
    }
}

impl Database for PostgresDatabase {
    fn describe<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
        relation: &'a DatabaseRelation,
        _: &'a TenantId,
        time_zone: TimeZone,
    ) -> BoxFuture<'a, Result<DatabaseTable, DatabaseError>> {
        Box::pin(async move { self.run(connection, &Description { relation, time_zone }).await })
    }

    fn query<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
        query: &'a DatabaseQuery,
    ) -> BoxFuture<'a, Result<DatabaseRows, DatabaseError>> {
        Box::pin(self.run(connection, query))
    }
}
