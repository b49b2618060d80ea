//! `run_sql`: queries over the tables of a session, run by the sandbox.

use std::sync::Arc;

use djinn_core::file::ProductFile;
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_core::tool::query::QueryRows;
use djinn_core::tool::{EffectClass, ResultView, ToolOutput};
use djinn_runtime::port::UserKey;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::sandbox::table::{
    QueryError, QueryNote, QueryText, QueryValue, SqlResult,
};
use djinn_runtime::port::sandbox::{JobEnd, Sandbox, SandboxAnswer, SandboxJob, SandboxWork};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::database_query::{DatabaseQueries, DescribedTable};
use crate::job_files::{JobFiles, bring_files, explain_sandbox_error, job_context, render_error};
use crate::python_tool::{sandbox_tool, strip_fence};
use crate::table_catalog::{READS_AT_ONCE, TableCatalog};
use crate::table_list::{escape_cell, show};
use crate::table_state::{StoredResult, StoredTable, TABLE_TOOL, TableState};
use crate::typed_tool::{ToolDefinition, TypedTool};

/// Maximum time of all queries of a call, in seconds.
const MAX_SECONDS: u32 = 20;
/// Maximum rows of a result that the model sees.
const MAX_MODEL_ROWS: usize = 50;
/// Maximum tables of a call.
const MAX_TABLES: usize = 100;

/// A tool that runs SQL over the tables that `find_tables` found, and shows the rows to viewers.
pub struct QueryTool<F> {
    files: Arc<F>,
    prompts: Arc<Prompts>,
    sandbox: Arc<dyn Sandbox>,
    catalog: Arc<TableCatalog>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct QueryArguments {
    #[schemars(length(min = 1, max = 5))]
    queries: Vec<AskedQuery>,
}

/// A query of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "")]
pub struct AskedQuery {
    #[schemars(length(max = 2_000))]
    question: String,
    #[schemars(length(min = 1, max = 20_480))]
    sql: String,
    is_confirmed: Option<bool>,
}

impl<F: Files + Send + Sync> QueryTool<F> {
    /// Creates the tool: reads data from `files`, writes results there, and runs queries in `sandbox`, or over the
    /// databases of `catalog`.
    #[must_use]
    pub fn new(
        files: Arc<F>,
        prompts: Arc<Prompts>,
        sandbox: Arc<dyn Sandbox>,
        catalog: Arc<TableCatalog>,
    ) -> Self {
        Self { files, prompts, sandbox, catalog }
    }

    /// Returns the tables of databases among those of a run, as they are described now.
    async fn list_described(
        &self,
        context: &ToolContext,
        state: &TableState,
        user: &UserKey,
    ) -> Result<Vec<DescribedTable>, ToolError> {
        let tables = self.catalog.list_tables(user);
        let stored_tables = state.tables().filter(|table| table.table.database.is_some());
        let reads = stored_tables.map(async |stored| {
            let table = tables.iter().find(|table| table.file.name == stored.table.table);
            let Some(table) = table else { return Ok(None) };
            let job = job_context(context);
            let zone = context.time_zone;
            let read = self.catalog.read_table(&*self.sandbox, &job, table, user, zone).await;
            let read =
                read.map_err(|error| explain_sandbox_error(&self.prompts, context, &error))?;
            Ok(read.table.as_ref().map(|(description, _)| DescribedTable {
                name: stored.name.clone(),
                table: table.clone(),
                description: description.clone(),
            }))
        });
        let reads: Vec<_> = reads.collect();
        let reads = stream::iter(reads).buffered(READS_AT_ONCE);
        let described: Vec<Option<DescribedTable>> = reads.try_collect().await?;
        Ok(described.into_iter().flatten().collect())
    }

    /// Runs the queries of a call in the sandbox, and those over databases there.
    async fn run_queries(
        &self,
        context: &ToolContext,
        state: &TableState,
        queries: Vec<QueryText>,
        accepted: Vec<String>,
    ) -> Result<(QueryValue, SandboxAnswer), ToolError> {
        let sandbox = self.sandbox.as_ref();
        let user = UserKey { tenant: context.session.tenant.clone(), user: context.user.clone() };
        let described = self.list_described(context, state, &user).await?;
        let mut data: Vec<ProductFile> =
            state.tables().filter_map(|table| table.data.clone()).collect();
        data.sort_by(|first, second| first.name.as_str().cmp(second.name.as_str()));
        data.dedup_by(|first, second| first.name == second.name);
        let job_files = bring_files(self.files.as_ref(), context, sandbox, data, MAX_TABLES).await;
        let JobFiles { names, files, context: job_context, .. } =
            job_files.map_err(|_| self.unavailable(context))?;
        let has_data = |table: &&StoredTable| {
            table.data.as_ref().is_some_and(|data| names.contains(&data.name))
        };
        let tables = state.tables().filter(has_data).map(StoredTable::to_query_table);
        let tables = tables.chain(described.iter().map(DescribedTable::to_query_table)).collect();
        let work = SandboxWork::Query {
            tables,
            queries,
            accepted,
            seconds: MAX_SECONDS,
            time_zone: context.time_zone,
        };
        let job = SandboxJob { work, files, state: Vec::new() };
        let answer = sandbox.run_job(&job_context, job).await;
        let mut answer =
            answer.map_err(|error| explain_sandbox_error(&self.prompts, context, &error))?;
        let value = serde_json::from_value(answer.value.take());
        match (answer.end, value) {
            (JobEnd::Done, Ok(mut value)) => {
                let queries = DatabaseQueries {
                    catalog: &self.catalog,
                    sandbox,
                    job: &job_context,
                    tables: &described,
                    user: &user,
                    time_zone: context.time_zone,
                    seconds: MAX_SECONDS,
                };
                let fetched = queries.fetch(&mut value, &mut answer.products).await;
                fetched.map_err(|error| explain_sandbox_error(&self.prompts, context, &error))?;
                Ok((value, answer))
            }
            (JobEnd::Time, _) => Err(self.explain(context.language, "timeout")),
            (JobEnd::Crashed, _) => Err(self.explain(context.language, "too_large")),
            (_, _) => Err(self.explain(context.language, "failed")),
        }
    }

    fn explain(&self, language: Language, code: &str) -> ToolError {
        let error = QueryError { code: code.to_owned(), ..QueryError::default() };
        ToolError::from_detail(self.render_problem(language, &error))
    }

    fn render_problem(&self, language: Language, error: &QueryError) -> String {
        let QueryError { code, name, near, detail, line, column } = error;
        let near = if code == "doubled_total" { String::new() } else { near.join(", ") };
        let detail = if code == "doubled_total" { "" } else { detail };
        let place = |number: &Option<u64>| number.map(|number| number.to_string());
        let values = json!({
            "code": code, "name": name, "near": near, "detail": detail,
            "line": place(line).unwrap_or_default(), "column": place(column).unwrap_or_default(),
        });
        self.prompts.render(language, prompt::QUERY_PROBLEM, values)
    }

    fn render_note(&self, language: Language, note: &QueryNote) -> String {
        let QueryNote { code, filter, column, near, min, max, total, table, joined, keys } = note;
        let values = json!({
            "code": code, "condition": filter, "column": column, "near": near.join(", "),
            "least": show(min), "most": show(max), "total": total, "table": table,
            "joined": joined, "keys": keys.join(", "),
        });
        self.prompts.render(language, prompt::QUERY_NOTE, values)
    }

    /// Renders the results as text for the model, or for the user if the call is the agent's last.
    fn render_results(
        &self,
        language: Language,
        results: &[JudgedResult],
        labels: &ResultLabels,
    ) -> String {
        let results = results.iter().zip(1..).map(|(judged, number)| {
            let JudgedResult { result, rows, error } = judged;
            let problem = error.as_ref().map(|error| self.render_problem(language, error));
            let shown = rows.len().min(MAX_MODEL_ROWS);
            let notes = result.notes.iter().filter(|note| note.code != "facts_unknown");
            let notes = notes.map(|note| self.render_note(language, note));
            json!({
                "label": labels.label(number), "file": labels.shown_file(number),
                "question": result.question, "sql": result.sql,
                "table": show_table(result, rows), "shown": shown, "row_count": result.row_count,
                "is_cut": u64::try_from(shown).unwrap_or_default() < result.row_count,
                "notes": notes.collect::<Vec<_>>().join("\n"), "problem": problem.unwrap_or_default(),
            })
        });
        let values = json!({"results": results.collect::<Vec<_>>()});
        self.prompts.render(language, prompt::QUERY_RESULTS, values)
    }

    /// Stores the rows of each result as an internal file, for citations and for code.
    async fn store_results(
        &self,
        context: &ToolContext,
        answer: &SandboxAnswer,
        state: &TableState,
        results: &[JudgedResult],
        labels: &ResultLabels,
    ) -> Result<Vec<StoredResult>, ToolError> {
        let mut stored_results = Vec::new();
        for (JudgedResult { result, .. }, number) in results.iter().zip(1..) {
            let product = answer.products.iter().find(|file| file.name.as_str() == result.file);
            let mut stored = StoredResult::without_rows(result, state.find_parts(&result.columns));
            if let Some(product) = product {
                let name = FileName::new(labels.file(number));
                let new = NewFile {
                    name: name.unwrap_or_else(|_| product.name.clone()),
                    description: prompt::truncate_text(&result.question, 300),
                    internal: true,
                    media_type: "text/csv".to_owned(),
                    uploaded: false,
                    writer: context.user.clone(),
                };
                let rows = self.files.write_file(&context.session, &new, &product.content).await;
                stored.rows = Some(rows.map_err(|_| self.unavailable(context))?);
            }
            stored_results.push(stored);
        }
        Ok(stored_results)
    }

    fn unavailable(&self, context: &ToolContext) -> ToolError {
        render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({}))
    }
}

/// The names of the results of a call.
struct ResultLabels {
    /// The run below the root, whose files have its path in their names, or empty.
    path: String,
    /// The number of results of earlier calls; `None` if the call fails, so that no result can be cited.
    earlier: Option<usize>,
}

impl ResultLabels {
    /// Returns the label of a result of this call, by its number from 1.
    fn label(&self, number: usize) -> String {
        match self.earlier {
            Some(earlier) => format!("q{}", earlier + number),
            None => number.to_string(),
        }
    }

    fn file(&self, number: usize) -> String {
        let number = self.earlier.unwrap_or_default() + number;
        let path = if self.path.is_empty() { String::new() } else { format!("{}-", self.path) };
        format!("query-{path}{number}.csv")
    }

    /// Returns the name of the file with a result for code that reads it; empty for the results of a user's run,
    /// which are its answer.
    fn shown_file(&self, number: usize) -> String {
        let is_shown = !self.path.is_empty() && self.earlier.is_some();
        if is_shown { self.file(number) } else { String::new() }
    }
}

/// A result with its rows. A result that the model must look at again has an error.
struct JudgedResult {
    result: SqlResult,
    rows: Vec<Vec<Value>>,
    error: Option<QueryError>,
}

impl JudgedResult {
    /// Judges a result. An empty result is an error if other values would have rows, unless it is confirmed.
    async fn judge(context: &ToolContext, mut result: SqlResult, is_confirmed: bool) -> Self {
        let rows: Vec<Vec<Value>> = serde_json::from_str(&result.rows).unwrap_or_default();
        let rows = mask_rows(context, rows).await;
        let has_near = result.notes.iter().any(|note| !note.near.is_empty());
        let error = match result.error.take() {
            Some(error) => Some(error),
            None if has_near && !is_confirmed => {
                Some(QueryError { code: "no_rows".to_owned(), ..QueryError::default() })
            }
            None => None,
        };
        if let Some(error) = error.as_ref().filter(|error| error.code == "doubled_total")
            && let Ok(note) = serde_json::from_str::<QueryNote>(&error.detail)
        {
            result.notes.push(QueryNote { code: error.code.clone(), ..note });
        }
        Self { result, rows, error }
    }

    fn into_view(self) -> QueryRows {
        let Self { result, rows, .. } = self;
        let SqlResult { question, sql, columns, filters, row_count, is_cut, chart, .. } = result;
        let columns = columns.into_iter().map(|column| column.shown).collect();
        let notes = result.notes.into_iter().map(|note| note.code).collect();
        QueryRows { question, sql, columns, filters, rows, row_count, is_cut, chart, notes }
    }
}

impl<F: Files + Send + Sync> TypedTool for QueryTool<F> {
    type Arguments = QueryArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        let words = self.prompts.describe_tool(language, prompt::TOOL_RUN_SQL);
        ToolDefinition {
            visible: true,
            state_owner: Some(TABLE_TOOL.to_owned()),
            ..sandbox_tool("run_sql", words, EffectClass::Read, self.sandbox.as_ref())
        }
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: QueryArguments,
    ) -> Result<ToolOutput, ToolError> {
        let language = context.language;
        let state = TableState::load(self.files.as_ref(), context).await;
        let mut state = state.map_err(|_| self.unavailable(context))?;
        if state.tables().next().is_none() {
            return Err(self.explain(language, "no_tables"));
        }
        let is_confirmed = |query: &AskedQuery| query.is_confirmed.unwrap_or_default();
        let confirmed: Vec<bool> = arguments.queries.iter().map(is_confirmed).collect();
        let queries: Vec<QueryText> = arguments.queries.into_iter().map(to_query_text).collect();
        let accepted = queries.iter().zip(&confirmed).filter(|(_, is_confirmed)| **is_confirmed);
        let accepted = accepted.map(|(query, _)| query.sql.clone()).collect();
        let (value, answer) = self.run_queries(context, &state, queries, accepted).await?;
        let mut results = Vec::new();
        for (result, is_confirmed) in value.results.into_iter().zip(confirmed) {
            results.push(JudgedResult::judge(context, result, is_confirmed).await);
        }
        let has_error = results.iter().any(|result| result.error.is_some());
        let earlier = (!has_error).then_some(state.results.len());
        let labels = ResultLabels { path: context.path.to_string(), earlier };
        let text = self.render_results(language, &results, &labels);
        if has_error {
            return Err(ToolError::from_detail(text));
        }
        let stored_results =
            self.store_results(context, &answer, &state, &results, &labels).await?;
        let files = stored_results.iter().filter_map(|result| result.rows.clone()).collect();
        state.results.extend(stored_results);
        let kept = state.keep(self.files.as_ref(), context).await;
        let kept = kept.map_err(|_| self.unavailable(context))?;
        let results = results.into_iter().map(JudgedResult::into_view).collect();
        let view = ResultView::Rows { results };
        Ok(ToolOutput { view, files, state: Some(kept), ..ToolOutput::from_text(text) })
    }
}

fn to_query_text(query: AskedQuery) -> QueryText {
    QueryText { question: query.question, sql: strip_fence(&query.sql).to_owned() }
}

/// Masks personal data in each value, if the run masks personal data.
async fn mask_rows(context: &ToolContext, mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    if !context.mask_pii {
        return rows;
    }
    for value in rows.iter_mut().flatten() {
        let text = show(value);
        let masked_text = context.mask_text(text.clone()).await;
        if masked_text != text {
            *value = Value::from(masked_text);
        }
    }
    rows
}

/// Returns the first rows as a Markdown table.
fn show_table(result: &SqlResult, rows: &[Vec<Value>]) -> String {
    let header = result.columns.iter().map(|column| escape_cell(&column.shown.key));
    let header: Vec<String> = header.collect();
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let mut lines = vec![line(&header), line(&vec!["---".to_owned(); header.len()])];
    for row in rows.iter().take(MAX_MODEL_ROWS) {
        let cells: Vec<String> = row.iter().map(|value| escape_cell(&show(value))).collect();
        lines.push(line(&cells));
    }
    lines.join("\n")
}
