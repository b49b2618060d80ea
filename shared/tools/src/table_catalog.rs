//! The tables of the deployment, which the sandbox reads once for each content and, with a filter, for each caller.

mod description;
mod listing;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use djinn_agents::TableFile;
use djinn_core::id::{FileName, sha256_hex};
use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::database::{Database, DatabaseConnection, DatabaseError, NoDatabase};
use djinn_runtime::port::sandbox::table::{FileTable, TableNote, TableRule, TablesValue};
use djinn_runtime::port::sandbox::{
    JobContext, Sandbox, SandboxError, SandboxFile, SandboxJob, SandboxWork,
};
use djinn_runtime::port::text_folder::{TABLES, TextFolder};

use self::description::read_description;

/// Maximum size of all tables that a process keeps, in bytes.
const MAX_KEPT: usize = 64 * 1024 * 1024;

/// Maximum number of tables that a process keeps.
const MAX_KEPT_TABLES: usize = 2_000;

/// Maximum tables that are read at the same time.
pub(crate) const READS_AT_ONCE: usize = 4;

/// The tables of a deployment's configuration folder, and those that were read lately.
pub struct TableCatalog {
    /// The databases of connections.
    database: Arc<dyn Database>,
    current: RwLock<CurrentTables>,
    /// The tables that were read lately, the newest last.
    read: Mutex<VecDeque<(String, Arc<ReadTable>)>>,
}

#[derive(Clone, Default)]
struct CurrentTables {
    /// The folder with the data.
    folder: Option<Arc<dyn TextFolder>>,
    tables: Arc<[CatalogTable]>,
}

/// A table of the deployment.
#[derive(Debug, Clone)]
pub struct CatalogTable {
    /// The content of its file.
    pub file: Arc<TableFile>,
    /// The SHA-256 of the file and its data or connection together.
    pub sha256: Arc<str>,
    /// The connection to the database with the rows.
    pub connection: Option<Arc<DatabaseConnection>>,
}

/// A table as a caller has it.
#[derive(Debug, Default)]
pub struct ReadTable {
    /// The description and the data, unless there is a problem.
    pub table: Option<(FileTable, Vec<u8>)>,
    /// Facts about the file of the data.
    pub notes: Vec<TableNote>,
    /// The reason for a missing table, as [`TablesValue::problem`], or `unavailable`.
    pub problem: String,
}

impl Default for TableCatalog {
    fn default() -> Self {
        Self::new(Arc::new(NoDatabase))
    }
}

impl fmt::Debug for TableCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableCatalog").finish_non_exhaustive()
    }
}

impl CatalogTable {
    /// Returns a key that changes with all that decides what a caller has: the file, the data, the time zone and, with a
    /// filter, the caller. The description of a table of a database is the same for all callers.
    #[must_use]
    pub fn key_for(&self, user: &UserKey, time_zone: TimeZone) -> String {
        let rows = self.file.rows.as_ref().filter(|_| self.connection.is_none());
        let caller = rows.map(|_| (user.tenant.as_str(), user.user.as_str()));
        sha256_hex(format!("{} {} {caller:?}", self.sha256, time_zone.as_str()).as_bytes())
    }

    fn rule_for(&self, user: &UserKey) -> TableRule {
        let TableFile { name, source, sheet, sql, rows, columns, .. } = &*self.file;
        let names = |is_meant: fn(&djinn_agents::DescribedColumn) -> bool| -> Vec<String> {
            columns.iter().filter(|it| is_meant(it)).map(|column| column.name.clone()).collect()
        };
        TableRule {
            table: name.clone(),
            source: source.clone(),
            sheet: sheet.clone(),
            sql: sql.clone(),
            rows: rows.clone(),
            user: user.user.to_string(),
            tenant: user.tenant.to_string(),
            hidden: names(|column| column.is_hidden),
            sampled: names(|column| column.has_values),
            known: names(|_| true),
        }
    }
}

impl TableCatalog {
    /// Creates a catalogue without tables, whose connections lead to `database`.
    #[must_use]
    pub fn new(database: Arc<dyn Database>) -> Self {
        Self { database, current: RwLock::default(), read: Mutex::default() }
    }

    pub(crate) fn database(&self) -> &dyn Database {
        &*self.database
    }

    /// Replaces the tables from now on, whose data are in `folder`.
    pub fn replace(&self, folder: Arc<dyn TextFolder>, tables: Vec<CatalogTable>) {
        let current = CurrentTables { folder: Some(folder), tables: tables.into() };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
    }

    /// Returns the tables of a caller's tenant, in the order of their names.
    #[must_use]
    pub fn list_tables(&self, user: &UserKey) -> Vec<CatalogTable> {
        let is_offered = |table: &&CatalogTable| {
            let tenants = &table.file.tenants;
            tenants.is_empty() || tenants.iter().any(|own| own == user.tenant.as_str())
        };
        self.current().tables.iter().filter(is_offered).cloned().collect()
    }

    /// Reads a table for a caller in the sandbox, unless it was read lately.
    ///
    /// # Errors
    /// Returns [`SandboxError`] if the job was not done.
    pub async fn read_table(
        &self,
        sandbox: &dyn Sandbox,
        job: &JobContext,
        table: &CatalogTable,
        user: &UserKey,
        time_zone: TimeZone,
    ) -> Result<Arc<ReadTable>, SandboxError> {
        let key = table.key_for(user, time_zone);
        if let Some(known) = self.find_read(&key) {
            return Ok(known);
        }
        if table.connection.is_some() {
            return Ok(self.describe_again(table, user, time_zone).await);
        }
        let unavailable = |problem: &str| {
            tracing::warn!(table = table.file.name, problem, "the data of a table cannot be read");
            Ok(Arc::new(ReadTable { problem: "unavailable".to_owned(), ..ReadTable::default() }))
        };
        let source = &table.file.source;
        let Some(folder) = self.current().folder else { return unavailable("no folder") };
        let content = match folder.read_data(&format!("{}/{source}", TABLES.name)).await {
            Ok(content) => content,
            Err(error) => return unavailable(&error.to_string()),
        };
        let Ok(name) = FileName::new(source) else { return unavailable("the name is invalid") };
        let names = vec![name.clone()];
        let work = SandboxWork::ReadTables {
            names,
            time_zone,
            rule: Some(Box::new(table.rule_for(user))),
        };
        let files = vec![SandboxFile { name: name.clone(), content }];
        let mut answer =
            sandbox.run_job(job, SandboxJob { work, files, state: Vec::new() }).await?;
        let value = answer.value.get_mut(name.as_str()).map(serde_json::Value::take);
        let value = value.and_then(|value| serde_json::from_value(value).ok());
        let broken = || TablesValue { problem: "broken".to_owned(), ..TablesValue::default() };
        let TablesValue { tables, notes, problem, detail } = value.unwrap_or_else(broken);
        if !problem.is_empty() {
            tracing::warn!(table = table.file.name, problem, detail, "a table cannot be read");
        }
        let found = tables.into_iter().next().and_then(|table| {
            let product = answer.products.into_iter();
            let data = product.into_iter().find(|file| file.name.as_str() == table.parquet)?;
            Some((table, data.content))
        });
        let read = Arc::new(ReadTable { table: found, notes, problem });
        self.keep(key, &read);
        Ok(read)
    }

    /// Describes a table of a database, also if it was described lately.
    pub(crate) async fn describe_again(
        &self,
        table: &CatalogTable,
        user: &UserKey,
        time_zone: TimeZone,
    ) -> Arc<ReadTable> {
        let described = match (&table.connection, &table.file.relation) {
            (Some(connection), Some(relation)) => {
                self.database.describe(connection, relation, &user.tenant, time_zone).await
            }
            _ => Err(DatabaseError::Changed),
        };
        let content = Arc::new(read_description(&table.file, described));
        self.keep(table.key_for(user, time_zone), &content);
        content
    }

    fn current(&self) -> CurrentTables {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn find_read(&self, key: &str) -> Option<Arc<ReadTable>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let place = read.iter().position(|(known, _)| known == key)?;
        let entry = read.remove(place)?;
        let found = Arc::clone(&entry.1);
        read.push_back(entry);
        Some(found)
    }

    /// Keeps a table that was read, instead of the oldest ones.
    fn keep(&self, key: String, table: &Arc<ReadTable>) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.retain(|(known, _)| *known != key);
        if table.table.is_none() {
            return;
        }
        read.push_back((key, Arc::clone(table)));
        let size = |table: &ReadTable| table.table.as_ref().map_or(0, |(_, data)| data.len());
        while read.iter().map(|(_, table)| size(table)).sum::<usize>() > MAX_KEPT
            || read.len() > MAX_KEPT_TABLES
        {
            read.pop_front();
        }
    }
}
