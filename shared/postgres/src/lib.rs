//! The database port over PostgreSQL 12 and later: a connection for each request, with TLS.
//!
//! A query runs as `to_json` over views that have the caller's columns and rows alone, in a transaction that cannot write.

mod connect;
mod describe;
mod failure;
mod kind;
mod query;
mod statement;

use djinn_agents::DatabaseRelation;
use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::database::{
    Database, DatabaseConnection, DatabaseError, DatabaseQuery, DatabaseRows, DatabaseTable,
};
use djinn_runtime::port::tool::BoxFuture;

/// Databases over PostgreSQL's protocol.
#[derive(Debug, Clone, Copy, Default)]
pub struct PostgresDatabase;

impl Database for PostgresDatabase {
    fn describe<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
        relation: &'a DatabaseRelation,
        time_zone: TimeZone,
    ) -> BoxFuture<'a, Result<DatabaseTable, DatabaseError>> {
        Box::pin(describe::describe(connection, relation, time_zone))
    }

    fn query<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
        query: &'a DatabaseQuery,
    ) -> BoxFuture<'a, Result<DatabaseRows, DatabaseError>> {
        Box::pin(query::query(connection, query))
    }
}
