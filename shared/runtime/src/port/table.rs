//! The tables of the deployment, for pages that list them.

use std::time::Duration;

use djinn_core::time_zone::TimeZone;
use serde_json::Value;

use super::UserKey;
use super::sandbox::Sandbox;
use super::tool::BoxFuture;

/// The tables of the deployment as a caller has them. A table that was not read lately needs a job of the sandbox.
pub trait Tables: Send + Sync {
    /// Returns the tables of a caller in the order of their names, with times of `time_zone`. A table that is not read
    /// within `wait` has the columns that its file describes.
    fn list_tables<'a>(
        &'a self,
        sandbox: &'a dyn Sandbox,
        user: &'a UserKey,
        time_zone: TimeZone,
        wait: Duration,
    ) -> BoxFuture<'a, Vec<ListedTable>>;

    /// Returns the first rows of a table, within `wait`; `None` for a table that the caller does not have.
    fn preview_table<'a>(
        &'a self,
        sandbox: &'a dyn Sandbox,
        user: &'a UserKey,
        time_zone: TimeZone,
        name: &'a str,
        rows: u32,
        wait: Duration,
    ) -> BoxFuture<'a, Option<Result<TablePreview, TableUnavailable>>>;
}

/// A table of a caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedTable {
    /// The name in SQL.
    pub name: String,
    /// The name for users.
    pub title: String,
    /// The business rules for models.
    pub rules: String,
    /// The query of a view.
    pub sql: Option<String>,
    /// The columns that the caller has.
    pub columns: Vec<ListedColumn>,
}

/// A column of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedColumn {
    /// The name in the data.
    pub name: String,
    /// The type, as [`TableColumn::kind`](super::sandbox::table::TableColumn::kind); empty if unknown.
    pub kind: String,
    /// The meaning.
    pub about: String,
    /// Other names.
    pub also: Vec<String>,
    /// Frequent values.
    pub samples: Vec<String>,
}

/// The first rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TablePreview {
    /// The query that returned the rows.
    pub sql: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, each with a value for each column.
    pub rows: Vec<Vec<Value>>,
}

/// The reason for missing rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableUnavailable {
    /// The time was over before the rows were read, for example during the installation of Python.
    #[error("the table is still being read")]
    Slow,
    /// The rows cannot be read now; the log has the reason.
    #[error("the table cannot be read")]
    Unreadable,
}

/// A deployment without tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTables;

impl Tables for NoTables {
    fn list_tables<'a>(
        &'a self,
        _: &'a dyn Sandbox,
        _: &'a UserKey,
        _: TimeZone,
        _: Duration,
    ) -> BoxFuture<'a, Vec<ListedTable>> {
        Box::pin(async { Vec::new() })
    }

    fn preview_table<'a>(
        &'a self,
        _: &'a dyn Sandbox,
        _: &'a UserKey,
        _: TimeZone,
        _: &'a str,
        _: u32,
        _: Duration,
    ) -> BoxFuture<'a, Option<Result<TablePreview, TableUnavailable>>> {
        Box::pin(async { None })
    }
}
