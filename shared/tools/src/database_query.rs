//! Checked queries over databases, and their rows as results.

mod empty_results;

use std::time::Duration;

use djinn_agents::DescribedColumn;
use djinn_core::id::FileName;
use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::database::{DatabaseError, DatabaseQuery, DatabaseRows, DatabaseView};
use djinn_runtime::port::sandbox::table::{
    CheckedStatement, DatabaseSource, FetchedResult, FileTable, QueryColumn, QueryError,
    QueryTable, QueryValue, SqlResult, TableColumn,
};
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, Sandbox, SandboxError, SandboxFile, SandboxJob, SandboxWork,
};
use djinn_text::near_miss::find_near_miss;
use futures::future::join_all;
use tokio::time::{Instant, timeout_at};

use crate::table_catalog::{CatalogTable, TableCatalog};

/// Maximum rows of a result.
const MAX_ROWS: usize = 100_000;
/// Maximum size of the rows of a result, in bytes.
const MAX_BYTES: usize = 20 * 1024 * 1024;
/// Maximum columns in an error about an unknown one.
const MAX_LISTED: usize = 40;

/// A table of a database with its description.
#[derive(Debug, Clone)]
pub(crate) struct DescribedTable {
    /// The name in queries.
    pub(crate) name: String,
    pub(crate) table: CatalogTable,
    pub(crate) description: FileTable,
}

/// The tables and the caller of queries.
pub(crate) struct DatabaseQueries<'a> {
    pub(crate) catalog: &'a TableCatalog,
    pub(crate) sandbox: &'a dyn Sandbox,
    pub(crate) job: &'a JobContext,
    pub(crate) tables: &'a [DescribedTable],
    pub(crate) user: &'a UserKey,
    pub(crate) time_zone: TimeZone,
    /// Maximum time of all queries, in seconds.
    pub(crate) seconds: u32,
}

impl DatabaseQueries<'_> {
    /// Runs the statements of results, each of which receives its rows or an error. Their files are added to `products`.
    ///
    /// # Errors
    /// Returns [`SandboxError`] if the rows could not be read.
    pub(crate) async fn fetch(
        &self,
        value: &mut QueryValue,
        products: &mut Vec<SandboxFile>,
    ) -> Result<(), SandboxError> {
        let count = value.results.iter().filter(|result| result.statement.is_some()).count();
        let Ok(mut waiting) = u32::try_from(count) else { return Ok(()) };
        let deadline = Instant::now() + Duration::from_secs(self.seconds.into());
        let (mut fetched, mut files, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        for (result, number) in value.results.iter_mut().zip(1..) {
            let Some(statement) = result.statement.take() else { continue };
            let left = deadline.saturating_duration_since(Instant::now()) / waiting;
            waiting -= 1;
            let limits = (MAX_ROWS, MAX_BYTES, u32::try_from(left.as_millis()).unwrap_or(1).max(1));
            match self.run_text(&statement, &statement.text, limits).await {
                Ok(rows) => {
                    if rows.rows.is_empty() && !rows.is_cut {
                        empty.push((fetched.len(), statement.clone()));
                    }
                    let name = FileName::new(format!("rows-{number}.jsonl"));
                    let name = name.map_err(|_| SandboxError::Unavailable(String::new()))?;
                    files.push(SandboxFile {
                        name: name.clone(),
                        content: rows.rows.join("\n").into_bytes(),
                    });
                    fetched.push(to_fetched(number, result, statement, rows, name));
                }
                Err(error) => result.error = Some(self.explain(&error, &statement, deadline).await),
            }
        }
        if fetched.is_empty() {
            return Ok(());
        }
        self.add_reasons(&mut fetched, &empty).await;
        let numbers: Vec<usize> = fetched.iter().map(|result| result.number).collect();
        let work = SandboxWork::ShowRows { results: fetched };
        let job = SandboxJob { work, files, state: Vec::new() };
        let answer = self.sandbox.run_job(self.job, job).await?;
        let typed_rows: QueryValue = match answer.end {
            JobEnd::Done => serde_json::from_value(answer.value).unwrap_or_default(),
            _ => QueryValue::default(),
        };
        products.extend(answer.products);
        let mut typed_results = typed_rows.results.into_iter();
        for number in numbers {
            let Some(result) = value.results.get_mut(number - 1) else { continue };
            match typed_results.next() {
                Some(rows) => *result = rows,
                None => {
                    let code = "too_large".to_owned();
                    result.error = Some(QueryError { code, ..QueryError::default() });
                }
            }
        }
        Ok(())
    }

    /// Runs a checked text over the tables of a statement. The limits are rows, bytes and milliseconds.
    async fn run_text(
        &self,
        statement: &CheckedStatement,
        text: &str,
        (max_rows, max_bytes, timeout_ms): (usize, usize, u32),
    ) -> Result<DatabaseRows, DatabaseError> {
        let find_table = |name: &String| self.tables.iter().find(|table| table.name == *name);
        let views =
            statement.tables.iter().map(|name| find_table(name).and_then(DescribedTable::view));
        let views: Option<Vec<DatabaseView>> = views.collect();
        // The tables of a statement have one connection, also of a statement without tables.
        let connection = self.tables.iter().find(|table| {
            let source = table.description.database.as_ref();
            source.is_some_and(|source| source.connection == statement.connection)
        });
        let connection = connection.and_then(|table| table.table.connection.as_ref());
        let (Some(views), Some(connection)) = (views, connection) else {
            return Err(DatabaseError::Changed);
        };
        let query = DatabaseQuery {
            text: text.to_owned(),
            views,
            user: self.user.clone(),
            time_zone: self.time_zone,
            max_rows,
            max_bytes,
            timeout_ms,
        };
        self.catalog.database().query(connection, &query).await
    }

    /// Returns the error for the model. Tables that have changed are described again, until `deadline`.
    async fn explain(
        &self,
        error: &DatabaseError,
        statement: &CheckedStatement,
        deadline: Instant,
    ) -> QueryError {
        let used = || self.tables.iter().filter(|table| statement.tables.contains(&table.name));
        let with_code = |code: &str| QueryError { code: code.to_owned(), ..QueryError::default() };
        match error {
            DatabaseError::Unavailable => with_code("database_unavailable"),
            DatabaseError::Rejected => with_code("database_rejected"),
            DatabaseError::Timeout => with_code("timeout"),
            DatabaseError::Query(detail) => {
                QueryError { detail: detail.clone(), ..with_code("failed") }
            }
            DatabaseError::UnknownColumn(name) => {
                let columns = used().flat_map(|table| &table.description.columns);
                let columns = columns.map(|column| column.name.as_str());
                let near = find_near_miss(name, columns.clone()).map(|near| vec![near]);
                // A name that is like none was invented, so the model sees all.
                let near = near.unwrap_or_else(|| columns.take(MAX_LISTED).collect());
                let near = near.into_iter().map(str::to_owned).collect();
                QueryError { name: name.clone(), near, ..with_code("unknown_column") }
            }
            DatabaseError::Changed => {
                let describing = used().map(async |table| {
                    let read = self.catalog.describe_again(&table.table, self.user, self.time_zone);
                    let read = timeout_at(deadline, read).await.ok()?;
                    let (description, _) = read.table.as_ref()?;
                    let columns = description.columns.iter();
                    let names = columns.map(|column| format!("{}.{}", table.name, column.name));
                    Some(names.collect::<Vec<_>>())
                });
                let near = join_all(describing).await.into_iter().flatten().flatten().collect();
                QueryError { near, ..with_code("table_changed") }
            }
        }
    }
}

impl DescribedTable {
    /// Returns the table for a job that checks queries.
    pub(crate) fn to_query_table(&self) -> QueryTable {
        let columns = self.description.columns.iter();
        let column = |column: &TableColumn| QueryColumn {
            name: column.name.clone(),
            kind: column.kind.clone(),
        };
        let source = self.description.database.clone();
        QueryTable {
            name: self.name.clone(),
            parquet: None,
            database: source.map(|source| DatabaseSource { foreign_keys: Vec::new(), ..source }),
            columns: columns.map(column).collect(),
        }
    }

    /// Returns the table as the caller's queries see it, without the columns that its file hides.
    fn view(&self) -> Option<DatabaseView> {
        let file = &self.table.file;
        let is_hidden = |name: &str| {
            let hidden = |column: &&DescribedColumn| column.is_hidden;
            file.columns.iter().filter(hidden).any(|column| is_same(&column.name, name))
        };
        let columns = self.description.columns.iter().map(|column| column.name.clone());
        Some(DatabaseView {
            name: self.name.clone(),
            relation: file.relation.clone()?,
            columns: columns.filter(|name| !is_hidden(name)).collect(),
            condition: file.rows.clone(),
        })
    }
}

/// Returns true for names that differ in cases of letters alone.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn to_fetched(
    number: usize,
    result: &SqlResult,
    statement: CheckedStatement,
    rows: DatabaseRows,
    file: FileName,
) -> FetchedResult {
    FetchedResult {
        number,
        question: result.question.clone(),
        sql: result.sql.clone(),
        filters: result.filters.clone(),
        notes: result.notes.clone(),
        facts: statement.facts,
        has_condition: statement.has_condition,
        reason: None,
        is_cut: rows.is_cut,
        columns: rows.columns,
        file,
    }
}

#[cfg(test)]
mod tests;
