//! Databases: descriptions of their tables, and rows of checked queries.

pub mod wire;

use djinn_agents::DatabaseRelation;
use djinn_core::id::TenantId;
use djinn_core::time_zone::TimeZone;
use serde::{Deserialize, Serialize};

use super::UserKey;
use super::sandbox::table::{ForeignKey, QueryColumn, TableColumn};
use super::secret::Secret;
use super::tool::BoxFuture;

/// The rights of a connection's user limit what anybody can read: grant `SELECT` on the offered tables alone.
pub trait Database: Send + Sync {
    /// Describes a table for a caller of `tenant`, from the catalogue and its statistics, without reading its rows.
    fn describe<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
        relation: &'a DatabaseRelation,
        tenant: &'a TenantId,
        time_zone: TimeZone,
    ) -> BoxFuture<'a, Result<DatabaseTable, DatabaseError>>;

    /// Returns the rows of a checked query, in a transaction that cannot write.
    fn query<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
        query: &'a DatabaseQuery,
    ) -> BoxFuture<'a, Result<DatabaseRows, DatabaseError>>;
}

/// The passwords of connections.
pub trait DatabasePasswords: Send + Sync {
    /// Returns the password for a new connection.
    ///
    /// # Errors
    /// Returns [`DatabaseError::Unavailable`] if it cannot be read; the log has the reason.
    fn read_password<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
    ) -> BoxFuture<'a, Result<Secret, DatabaseError>>;
}

/// The address of a database, and the user's login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseConnection {
    /// The name of the host, which its certificate must have.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The name of the database.
    pub database: String,
    /// The user.
    pub user: String,
    /// The user's password, or its place.
    pub password: DatabasePassword,
    /// The certificates of the authorities that may sign the host's, in PEM. Without them, nothing is encrypted: only
    /// for a host of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
}

/// The password of a connection, or its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabasePassword {
    /// The password itself, which no request contains: a connection with it cannot be serialized.
    #[serde(skip)]
    Inline(Secret),
    /// The name of a stored secret: the password, or a JSON object with the field `password`.
    Stored(String),
    /// A token of AWS IAM in place of a password.
    Iam,
}

/// A table of a database.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DatabaseTable {
    /// An estimate of the number of rows; 0 if unknown.
    pub rows: u64,
    /// The columns that the user may read. Samples have up to 50 frequent values; numbers of values are estimates.
    pub columns: Vec<TableColumn>,
    /// The names of all columns, also of those that the user may not read.
    pub names: Vec<String>,
    /// The columns of each unique index.
    pub keys: Vec<Vec<String>>,
    /// The keys of other tables in the columns of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
}

/// A table as the queries of a caller see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseView {
    /// The name in queries.
    pub name: String,
    /// The rows.
    pub relation: DatabaseRelation,
    /// The visible columns.
    pub columns: Vec<String>,
    /// The condition for the caller's rows, with `{user}` and `{tenant}`.
    pub condition: Option<String>,
}

/// A checked query of a caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseQuery {
    /// The query, written from its checked tree.
    pub text: String,
    /// The tables that it may read.
    pub views: Vec<DatabaseView>,
    /// The verified caller.
    pub user: UserKey,
    /// The zone of times.
    pub time_zone: TimeZone,
    /// Maximum rows.
    pub max_rows: usize,
    /// Maximum size of all rows as JSON, in bytes.
    pub max_bytes: usize,
    /// Maximum time, in milliseconds.
    pub timeout_ms: u32,
}

/// The rows of a query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DatabaseRows {
    /// The columns of the result.
    pub columns: Vec<QueryColumn>,
    /// A JSON object for each row, with the values in the order of the columns.
    pub rows: Vec<String>,
    /// True if there are more rows.
    pub is_cut: bool,
}

/// A failed request to a database. No text has an address or a name of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseError {
    /// The database cannot be reached, or its certificate is not valid; the log has the reason.
    #[error("the database cannot be reached")]
    Unavailable,
    /// The database rejects the user or the password.
    #[error("the database rejects the login")]
    Rejected,
    /// The query took too long.
    #[error("the query took too long")]
    Timeout,
    /// A table does not exist as it was described.
    #[error("a table has changed")]
    Changed,
    /// The query has a column that does not exist.
    #[error("there is no column {0}")]
    UnknownColumn(String),
    /// The query failed, with a sentence about it.
    #[error("{0}")]
    Query(String),
}

/// The passwords that connections have themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct InlinePasswords;

impl DatabasePasswords for InlinePasswords {
    fn read_password<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
    ) -> BoxFuture<'a, Result<Secret, DatabaseError>> {
        Box::pin(async {
            match &connection.password {
                DatabasePassword::Inline(password) => Ok(password.clone()),
                DatabasePassword::Stored(_) | DatabasePassword::Iam => {
                    tracing::warn!("no secret store is available for the password of a database");
                    Err(DatabaseError::Unavailable)
                }
            }
        })
    }
}

/// A deployment without databases.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDatabase;

impl Database for NoDatabase {
    fn describe<'a>(
        &'a self,
        _: &'a DatabaseConnection,
        _: &'a DatabaseRelation,
        _: &'a TenantId,
        _: TimeZone,
    ) -> BoxFuture<'a, Result<DatabaseTable, DatabaseError>> {
        Box::pin(async { Err(DatabaseError::Unavailable) })
    }

    fn query<'a>(
        &'a self,
        _: &'a DatabaseConnection,
        _: &'a DatabaseQuery,
    ) -> BoxFuture<'a, Result<DatabaseRows, DatabaseError>> {
        Box::pin(async { Err(DatabaseError::Unavailable) })
    }
}
