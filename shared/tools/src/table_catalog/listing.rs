//! Tables of the deployment for pages: their descriptions, and their first rows.

use std::time::Duration;

use djinn_agents::DescribedColumn;
use djinn_core::id::{FileName, SessionId};
use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::sandbox::table::{
    CheckedStatement, FileTable, QueryColumn, QueryTable, QueryText, QueryValue, SqlResult,
};
use djinn_runtime::port::sandbox::{JobContext, Sandbox, SandboxFile, SandboxJob, SandboxWork};
use djinn_runtime::port::table::{
    ListedColumn, ListedTable, TablePreview, TableUnavailable, Tables,
};
use djinn_runtime::port::tool::BoxFuture;
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout, timeout_at};

use super::{CatalogTable, READS_AT_ONCE, TableCatalog};
use crate::database_query::{DatabaseQueries, DescribedTable};

/// Maximum time of a query for first rows, in seconds.
const MAX_SECONDS: u32 = 8;

/// The session label of jobs without a run.
const SESSION: &str = "tables";

impl Tables for TableCatalog {
    fn list_tables<'a>(
        &'a self,
        sandbox: &'a dyn Sandbox,
        user: &'a UserKey,
        time_zone: TimeZone,
        wait: Duration,
    ) -> BoxFuture<'a, Vec<ListedTable>> {
        Box::pin(async move {
            let tables = self.list_tables(user);
            let deadline = Instant::now() + wait;
            let listed = tables.iter().map(async |table| {
                let read = self.read_for_page(sandbox, user, time_zone, table);
                let read = timeout_at(deadline, read).await.ok().and_then(Result::ok);
                list_table(table, read.as_ref().map(|(table, _)| table))
            });
            let listed: Vec<_> = listed.collect();
            stream::iter(listed).buffered(READS_AT_ONCE).collect().await
        })
    }

    fn preview_table<'a>(
        &'a self,
        sandbox: &'a dyn Sandbox,
        user: &'a UserKey,
        time_zone: TimeZone,
        name: &'a str,
        rows: u32,
        wait: Duration,
    ) -> BoxFuture<'a, Option<Result<TablePreview, TableUnavailable>>> {
        Box::pin(async move {
            let tables = self.list_tables(user);
            let table = tables.iter().find(|table| table.file.name == name)?;
            let read = self.read_first_rows(sandbox, user, time_zone, table, rows);
            Some(timeout(wait, read).await.unwrap_or(Err(TableUnavailable::Slow)))
        })
    }
}

impl TableCatalog {
    async fn read_for_page(
        &self,
        sandbox: &dyn Sandbox,
        user: &UserKey,
        time_zone: TimeZone,
        table: &CatalogTable,
    ) -> Result<(FileTable, Vec<u8>), TableUnavailable> {
        let job = job_context(user)?;
        let read =
            self.read_table(sandbox, &job, table, user, time_zone).await.map_err(|error| {
                tracing::warn!(%error, table = table.file.name, "a table was not read for a page");
                TableUnavailable::Unreadable
            })?;
        read.table.clone().ok_or(TableUnavailable::Unreadable)
    }

    async fn read_first_rows(
        &self,
        sandbox: &dyn Sandbox,
        user: &UserKey,
        time_zone: TimeZone,
        table: &CatalogTable,
        rows: u32,
    ) -> Result<TablePreview, TableUnavailable> {
        let (description, content) = self.read_for_page(sandbox, user, time_zone, table).await?;
        if description.database.is_some() {
            let described = DescribedTable {
                name: description.table.clone(),
                table: table.clone(),
                description,
            };
            return self.fetch_first_rows(sandbox, user, time_zone, described, rows).await;
        }
        let parquet =
            FileName::new(&description.parquet).map_err(|_| TableUnavailable::Unreadable)?;
        let columns = description.columns.iter();
        let columns = columns
            .map(|column| QueryColumn { name: column.name.clone(), kind: column.kind.clone() });
        let name = description.table;
        let sql = format!("SELECT * FROM \"{name}\" LIMIT {rows}");
        let tables = vec![QueryTable {
            name,
            parquet: Some(parquet.clone()),
            database: None,
            columns: columns.collect(),
        }];
        let queries = vec![QueryText { question: String::new(), sql: sql.clone() }];
        let work = SandboxWork::Query {
            tables,
            queries,
            accepted: Vec::new(),
            seconds: MAX_SECONDS,
            time_zone,
        };
        let files = vec![SandboxFile { name: parquet, content }];
        let job = SandboxJob { work, files, state: Vec::new() };
        let answer = sandbox.run_job(&job_context(user)?, job).await.map_err(|error| {
            tracing::warn!(%error, table = table.file.name, "the first rows were not read");
            TableUnavailable::Unreadable
        })?;
        let value: QueryValue =
            serde_json::from_value(answer.value).map_err(|_| TableUnavailable::Unreadable)?;
        to_preview(sql, value)
    }

    /// Returns the first rows of a table of a database. The statement is ours, so it needs no check.
    async fn fetch_first_rows(
        &self,
        sandbox: &dyn Sandbox,
        user: &UserKey,
        time_zone: TimeZone,
        table: DescribedTable,
        rows: u32,
    ) -> Result<TablePreview, TableUnavailable> {
        let source = table.description.database.as_ref().ok_or(TableUnavailable::Unreadable)?;
        let sql = format!("SELECT * FROM \"{}\" LIMIT {rows}", table.name);
        let statement = CheckedStatement {
            connection: source.connection.clone(),
            text: sql.clone(),
            tables: vec![table.name.clone()],
            ..CheckedStatement::default()
        };
        let result = SqlResult { statement: Some(statement), ..SqlResult::default() };
        let mut value = QueryValue { results: vec![result] };
        let queries = DatabaseQueries {
            catalog: self,
            sandbox,
            job: &job_context(user)?,
            tables: &[table],
            user,
            time_zone,
            seconds: MAX_SECONDS,
        };
        queries.fetch(&mut value, &mut Vec::new()).await.map_err(|error| {
            tracing::warn!(%error, "the first rows of a database were not read");
            TableUnavailable::Unreadable
        })?;
        to_preview(sql, value)
    }
}

fn to_preview(sql: String, value: QueryValue) -> Result<TablePreview, TableUnavailable> {
    let result = value.results.into_iter().next().filter(|result| result.error.is_none());
    let result = result.ok_or(TableUnavailable::Unreadable)?;
    let rows = serde_json::from_str(&result.rows).map_err(|_| TableUnavailable::Unreadable)?;
    let columns = result.columns.into_iter().map(|column| column.shown.key).collect();
    Ok(TablePreview { sql, columns, rows })
}

fn job_context(user: &UserKey) -> Result<JobContext, TableUnavailable> {
    let session = SessionId::new(SESSION).map_err(|_| TableUnavailable::Unreadable)?;
    Ok(JobContext::new(&user.session_key(&session)))
}

/// Returns a table with the columns of its data, or else with those that its file describes.
fn list_table(table: &CatalogTable, read: Option<&FileTable>) -> ListedTable {
    let file = &*table.file;
    let visible = || file.columns.iter().filter(|column| !column.is_hidden);
    let describe = |name: &str, words: Option<&DescribedColumn>| ListedColumn {
        name: name.to_owned(),
        about: words.map(|words| words.about.clone()).unwrap_or_default(),
        also: words.map(|words| words.also.clone()).unwrap_or_default(),
        ..ListedColumn::default()
    };
    let columns = match read {
        Some(read) => {
            let column = |column: &djinn_runtime::port::sandbox::table::TableColumn| {
                let name = column.name.to_lowercase();
                let words = visible().find(|words| words.name.to_lowercase() == name);
                ListedColumn {
                    kind: column.kind.clone(),
                    samples: column.samples.clone(),
                    ..describe(&column.name, words)
                }
            };
            read.columns.iter().map(column).collect()
        }
        None => visible().map(|words| describe(&words.name, Some(words))).collect(),
    };
    ListedTable {
        name: file.name.clone(),
        title: file.title.clone().unwrap_or_else(|| file.name.clone()),
        rules: file.rules.clone(),
        sql: file.sql.clone(),
        columns,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use djinn_agents::{TableSources, read_table};
    use djinn_core::id::{TenantId, UserId};
    use djinn_runtime::port::sandbox::{SandboxAnswer, SandboxError};
    use djinn_runtime::port::text_folder::{FolderText, TextFolder, TextFolderError};

    use super::*;

    /// A sandbox whose Python is still being installed.
    struct InstallingSandbox;

    impl Sandbox for InstallingSandbox {
        fn max_bytes(&self) -> u64 {
            1_000
        }

        fn run_job<'a>(
            &'a self,
            _: &'a JobContext,
            _: SandboxJob,
        ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
            Box::pin(std::future::pending())
        }
    }

    struct OneFile;

    impl TextFolder for OneFile {
        fn path(&self) -> String {
            String::new()
        }

        fn read_texts(&self) -> BoxFuture<'_, Result<Vec<FolderText>, TextFolderError>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn read_data<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<u8>, TextFolderError>> {
            Box::pin(async { Ok(b"a,b\n1,2\n".to_vec()) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn page_waits_for_the_sandbox_no_longer_than_it_says() {
        let sources = TableSources { data: BTreeSet::from(["a.csv"]), ..TableSources::default() };
        let text = "---\nname: a\nsource: a.csv\ncolumns: {b: The second.}\n---\n";
        let file = Arc::new(read_table("a.md", text, &sources).unwrap());
        let catalog = TableCatalog::default();
        let table = CatalogTable { file, sha256: "".into(), connection: None };
        catalog.replace(Arc::new(OneFile), vec![table]);
        let user =
            UserKey { tenant: TenantId::new("acme").unwrap(), user: UserId::new("ann").unwrap() };
        let wait = Duration::from_secs(7);
        let zone = TimeZone::default();
        let tables: &dyn Tables = &catalog;
        let listed = tables.list_tables(&InstallingSandbox, &user, zone, wait).await;
        assert_eq!(listed[0].columns[0].name, "b");
        let preview = tables.preview_table(&InstallingSandbox, &user, zone, "a", 100, wait).await;
        assert_eq!(preview, Some(Err(TableUnavailable::Slow)));
    }
}
