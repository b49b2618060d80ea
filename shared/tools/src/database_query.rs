//! Checked queries over databases, and their rows as results.

use std::time::Duration;

use djinn_agents::DescribedColumn;
use djinn_core::id::FileName;
use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::database::{DatabaseError, DatabaseQuery, DatabaseRows, DatabaseView};
use djinn_runtime::port::sandbox::table::{
    CheckedStatement, ConditionProbe, EmptyReason, FetchedResult, FileTable, QueryColumn,
    QueryError, QueryTable, QueryValue, SqlResult, TableColumn,
};
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, Sandbox, SandboxError, SandboxFile, SandboxJob, SandboxWork,
};
use djinn_text::near_miss::find_near_miss;
use serde_json::Value;

use crate::table_catalog::{CatalogTable, TableCatalog};

/// Maximum rows of a result.
const MAX_ROWS: usize = 100_000;
/// Maximum size of the rows of a result, in bytes.
const MAX_BYTES: usize = 20 * 1024 * 1024;

/// Maximum values that are compared with those of a condition.
const MAX_VALUES: usize = 5_000;
/// Maximum size of these values, in bytes.
const MAX_VALUE_BYTES: usize = 1024 * 1024;
/// Maximum time of a query that explains an empty result, in milliseconds.
const PROBE_TIMEOUT_MS: u32 = 1_500;
/// Maximum time of all these queries of a call.
const PROBES_TIMEOUT: Duration = Duration::from_secs(6);
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
        let Ok(count) = u32::try_from(count.max(1)) else { return Ok(()) };
        let timeout_ms = self.seconds * 1_000 / count;
        let (mut fetched, mut files, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        for (result, number) in value.results.iter_mut().zip(1..) {
            let Some(statement) = result.statement.take() else { continue };
            let limits = (MAX_ROWS, MAX_BYTES, timeout_ms);
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
                Err(error) => result.error = Some(self.explain(&error, &statement).await),
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

    /// Adds their reasons to empty results, which are given by their places, until the time of a call is over.
    async fn add_reasons(
        &self,
        fetched: &mut [FetchedResult],
        empty: &[(usize, CheckedStatement)],
    ) {
        let adding = async {
            for (place, statement) in empty {
                let reason = self.find_reason(statement).await;
                if let Some(result) = fetched.get_mut(*place) {
                    result.reason = reason;
                }
            }
        };
        if tokio::time::timeout(PROBES_TIMEOUT, adding).await.is_err() {
            tracing::warn!("the reasons of empty results are not all known in time");
        }
    }

    /// Finds the condition without which an empty query has rows.
    async fn find_reason(&self, statement: &CheckedStatement) -> Option<EmptyReason> {
        for probe in &statement.probes {
            let limits = (1, MAX_VALUE_BYTES, PROBE_TIMEOUT_MS);
            let rows = self.run_text(statement, &probe.text, limits).await;
            if rows.is_ok_and(|rows| !rows.rows.is_empty() || rows.is_cut) {
                return Some(self.read_values(statement, probe).await);
            }
        }
        None
    }

    /// Adds the values that exist to a condition: those of the description, or else of a query with limits.
    async fn read_values(
        &self,
        statement: &CheckedStatement,
        probe: &ConditionProbe,
    ) -> EmptyReason {
        let ConditionProbe { filter, table, column, wanted, values_text, .. } = probe.clone();
        let mut reason = EmptyReason { filter, column, wanted, ..EmptyReason::default() };
        let described = self.tables.iter().find(|known| known.name == table);
        let mut columns = described.iter().flat_map(|table| &table.description.columns);
        if let Some(column) = columns.find(|column| column.name == reason.column) {
            if column.kind != "text" {
                reason.min = column.min.clone();
                reason.max = column.max.clone();
            } else if u64::try_from(column.samples.len())
                .is_ok_and(|count| count >= column.distinct)
            {
                reason.values.clone_from(&column.samples);
            }
        }
        let is_known = !reason.values.is_empty() || !reason.min.is_null();
        if values_text.is_empty() || is_known {
            return reason;
        }
        let limits = (MAX_VALUES, MAX_VALUE_BYTES, PROBE_TIMEOUT_MS);
        let Ok(rows) = self.run_text(statement, &values_text, limits).await else { return reason };
        for row in &rows.rows {
            let fields: Value = serde_json::from_str(row).unwrap_or_default();
            match fields.get(&reason.column) {
                Some(value) => reason.values.extend(value.as_str().map(str::to_owned)),
                None => {
                    reason.min = fields.get("least").cloned().unwrap_or_default();
                    reason.max = fields.get("most").cloned().unwrap_or_default();
                }
            }
        }
        reason
    }

    /// Returns the error for the model. A table that has changed is described again.
    async fn explain(&self, error: &DatabaseError, statement: &CheckedStatement) -> QueryError {
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
                let mut near = Vec::new();
                for table in used() {
                    let description =
                        self.catalog.describe_again(&table.table, self.user, self.time_zone);
                    if let Some((description, _)) = &description.await.table {
                        let columns = description.columns.iter();
                        near.extend(
                            columns.map(|column| format!("{}.{}", table.name, column.name)),
                        );
                    }
                }
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
        QueryTable {
            name: self.name.clone(),
            parquet: None,
            database: self.description.database.clone(),
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
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use djinn_agents::{DatabaseRelation, TableFile};
    use djinn_core::id::{SessionId, TenantId, UserId};
    use djinn_runtime::port::database::{
        Database, DatabaseConnection, DatabasePassword, DatabaseTable,
    };
    use djinn_runtime::port::sandbox::DisabledSandbox;
    use djinn_runtime::port::sandbox::table::DatabaseSource;
    use djinn_runtime::port::tool::BoxFuture;

    use super::*;

    /// A database without rows, whose queries without a condition take all of their time.
    struct SlowDatabase {
        is_cut: bool,
        probes: Arc<AtomicUsize>,
    }

    impl Database for SlowDatabase {
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
            query: &'a DatabaseQuery,
        ) -> BoxFuture<'a, Result<DatabaseRows, DatabaseError>> {
            Box::pin(async move {
                if query.text == "probe" {
                    self.probes.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(query.timeout_ms.into())).await;
                    return Err(DatabaseError::Timeout);
                }
                Ok(DatabaseRows { is_cut: self.is_cut, ..DatabaseRows::default() })
            })
        }
    }

    fn table() -> DescribedTable {
        let file = TableFile {
            name: "orders".to_owned(),
            title: None,
            source: "shop".to_owned(),
            relation: Some(DatabaseRelation::Query("SELECT 1".to_owned())),
            sheet: None,
            sql: None,
            tenants: Vec::new(),
            rows: None,
            columns: Vec::new(),
            rules: String::new(),
        };
        let connection = DatabaseConnection {
            host: "localhost".to_owned(),
            port: 5432,
            database: "shop".to_owned(),
            user: "djinn".to_owned(),
            password: DatabasePassword::Iam,
            ca: None,
        };
        let source = DatabaseSource { connection: "shop".to_owned(), keys: Vec::new() };
        DescribedTable {
            name: "orders".to_owned(),
            table: CatalogTable {
                file: Arc::new(file),
                sha256: "".into(),
                connection: Some(Arc::new(connection)),
            },
            description: FileTable { database: Some(source), ..FileTable::default() },
        }
    }

    /// Runs eight queries without rows, each of three conditions, and returns the number of probes.
    async fn count_probes(is_cut: bool) -> usize {
        let probes = Arc::new(AtomicUsize::new(0));
        let database = SlowDatabase { is_cut, probes: Arc::clone(&probes) };
        let catalog = TableCatalog::new(Arc::new(database));
        let user =
            UserKey { tenant: TenantId::new("acme").unwrap(), user: UserId::new("ann").unwrap() };
        let job = JobContext::new(&user.session_key(&SessionId::new("s").unwrap()));
        let probe = ConditionProbe { text: "probe".to_owned(), ..ConditionProbe::default() };
        let statement = CheckedStatement {
            connection: "shop".to_owned(),
            tables: vec!["orders".to_owned()],
            probes: vec![probe; 3],
            ..CheckedStatement::default()
        };
        let result = SqlResult { statement: Some(statement), ..SqlResult::default() };
        let mut value = QueryValue { results: vec![result; 8] };
        let queries = DatabaseQueries {
            catalog: &catalog,
            sandbox: &DisabledSandbox(String::new()),
            job: &job,
            tables: &[table()],
            user: &user,
            time_zone: TimeZone::default(),
            seconds: 20,
        };
        let end = queries.fetch(&mut value, &mut Vec::new()).await;
        assert_eq!(end, Err(SandboxError::Disabled(String::new())));
        probes.load(Ordering::Relaxed)
    }

    #[tokio::test(start_paused = true)]
    async fn probes_of_a_call_end_after_six_seconds_and_a_cut_result_has_none() {
        assert_eq!(count_probes(true).await, 0);
        let most = usize::try_from(PROBES_TIMEOUT.as_millis() / u128::from(PROBE_TIMEOUT_MS));
        let probes = count_probes(false).await;
        // The one that begins when the time is over does not end.
        assert!((1..=most.unwrap() + 1).contains(&probes), "{probes}");
    }
}
