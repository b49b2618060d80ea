//! `find_tables`: the tables of the deployment and in the files of a session, read by the sandbox.

use std::sync::Arc;

use djinn_core::file::ProductFile;
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput};
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::sandbox::table::TablesValue;
use djinn_runtime::port::sandbox::{Sandbox, SandboxJob, SandboxWork};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::port::{StoreError, UserKey};
use djinn_runtime::prompt::{self, Prompts};
use futures::{StreamExt as _, TryStreamExt as _, future, stream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::job_files::{JobFiles, bring_files, explain_sandbox_error, job_context, render_error};
use crate::python_tool::sandbox_tool;
use crate::table_catalog::{CatalogTable, READS_AT_ONCE, TableCatalog};
use crate::table_joins::to_joins;
use crate::table_list::list_tables;
use crate::table_state::{ReadFile, StoredTable, TABLE_TOOL, TableState, TableWords};
use crate::typed_tool::{ToolDefinition, TypedTool};

/// Maximum number of files read in one call.
const MAX_READ: usize = 10;
/// Extensions of files that may hold tables.
const EXTENSIONS: [&str; 8] = ["csv", "tsv", "json", "jsonl", "ndjson", "xlsx", "xlsm", "parquet"];
/// The media type of Parquet.
const PARQUET: &str = "application/vnd.apache.parquet";

/// A tool that shows the tables of the deployment, and those in the files known to the run. Each file is read once, and
/// again after a change.
pub struct TableTool<F> {
    files: Arc<F>,
    prompts: Arc<Prompts>,
    sandbox: Arc<dyn Sandbox>,
    catalog: Arc<TableCatalog>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TableArguments {
    task: Option<String>,
}

impl<F: Files + Send + Sync> TableTool<F> {
    /// Creates the tool: reads files from `files` and tables of the deployment from `catalog`, both in `sandbox`.
    #[must_use]
    pub fn new(
        files: Arc<F>,
        prompts: Arc<Prompts>,
        sandbox: Arc<dyn Sandbox>,
        catalog: Arc<TableCatalog>,
    ) -> Self {
        Self { files, prompts, sandbox, catalog }
    }

    /// Reads a table of the deployment for the caller, and stores its data. `tables` are all tables of the caller.
    async fn read_catalog_table(
        &self,
        context: &ToolContext,
        table: &CatalogTable,
        tables: &[CatalogTable],
        user: &UserKey,
    ) -> Result<ReadFile, ToolError> {
        let job = job_context(context);
        let read =
            self.catalog.read_table(&*self.sandbox, &job, table, user, context.time_zone).await;
        let read = read.map_err(|error| explain_sandbox_error(&self.prompts, context, &error))?;
        let name = FileName::new(&table.file.source).map_err(|_| self.unavailable(context))?;
        let mut stored_tables = Vec::new();
        if let Some((description, content)) = &read.table {
            let data = match &description.database {
                Some(_) => None,
                None => {
                    let data_name = FileName::new(&description.parquet);
                    let data_name = data_name.map_err(|_| self.unavailable(context))?;
                    let data = self.store_data(context, data_name, content).await;
                    Some(data.map_err(|_| self.unavailable(context))?)
                }
            };
            let mut words = TableWords::of(&table.file);
            let mut description = description.clone();
            // Foreign keys may name tables that the caller does not have.
            let source = description.database.as_mut();
            let foreign_keys = source.map(|source| std::mem::take(&mut source.foreign_keys));
            words.joins.extend(to_joins(table, &foreign_keys.unwrap_or_default(), tables));
            stored_tables.push(StoredTable {
                name: description.table.clone(),
                table: description,
                data,
                words: Some(words),
            });
        }
        let object = table.key_for(user, context.time_zone);
        let notes = read.notes.clone();
        let problem = read.problem.clone();
        Ok(ReadFile { name, object, tables: stored_tables, notes, problem })
    }

    /// Returns the files that may hold tables: those named by `task` first, then the newest.
    async fn list_candidates(
        &self,
        context: &ToolContext,
        task: &str,
    ) -> Result<Vec<ProductFile>, StoreError> {
        let mut candidates = self.files.list_files(&context.session).await?;
        candidates.retain(|file| context.files.contains(&file.name) && may_hold_tables(file));
        candidates.reverse();
        candidates.sort_by_key(|file| !task.contains(file.name.as_str()));
        Ok(candidates)
    }

    /// Reads files as tables, and stores the data of each.
    async fn read_files(
        &self,
        context: &ToolContext,
        unread: Vec<ProductFile>,
    ) -> Result<(Vec<ReadFile>, Vec<String>), ToolError> {
        let sandbox = self.sandbox.as_ref();
        let job_files =
            bring_files(self.files.as_ref(), context, sandbox, unread.clone(), MAX_READ).await;
        let JobFiles { names, files, context: job_context, left_behind } =
            job_files.map_err(|_| self.unavailable(context))?;
        if names.is_empty() {
            return Ok((Vec::new(), left_behind));
        }
        let work = SandboxWork::ReadTables {
            names: names.clone(),
            time_zone: context.time_zone,
            rule: None,
        };
        let job = SandboxJob { work, files, state: Vec::new() };
        let answer = sandbox.run_job(&job_context, job).await;
        let mut answer =
            answer.map_err(|error| explain_sandbox_error(&self.prompts, context, &error))?;
        let mut read_files = Vec::new();
        for file in unread.into_iter().filter(|file| names.contains(&file.name)) {
            let value = answer.value.get_mut(file.name.as_str()).map(Value::take);
            let value = value.and_then(|value| serde_json::from_value(value).ok());
            let broken = || TablesValue { problem: "broken".to_owned(), ..TablesValue::default() };
            let TablesValue { tables, notes, problem, .. } = value.unwrap_or_else(broken);
            let mut stored_tables = Vec::new();
            for table in tables {
                let product =
                    answer.products.iter().find(|file| file.name.as_str() == table.parquet);
                let Some(product) = product else { continue };
                let data = self.store_data(context, product.name.clone(), &product.content).await;
                let data = Some(data.map_err(|_| self.unavailable(context))?);
                let name = table.table.clone();
                stored_tables.push(StoredTable { name, table, data, words: None });
            }
            let name = file.name;
            let object = file.object;
            read_files.push(ReadFile { name, object, tables: stored_tables, notes, problem });
        }
        Ok((read_files, left_behind))
    }

    async fn store_data(
        &self,
        context: &ToolContext,
        name: FileName,
        content: &[u8],
    ) -> Result<ProductFile, StoreError> {
        let new = NewFile {
            name,
            description: String::new(),
            internal: true,
            media_type: PARQUET.to_owned(),
            uploaded: false,
            writer: context.user.clone(),
        };
        self.files.write_file(&context.session, &new, content).await
    }

    fn unavailable(&self, context: &ToolContext) -> ToolError {
        render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({}))
    }
}

impl<F: Files + Send + Sync> TypedTool for TableTool<F> {
    type Arguments = TableArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        let words = self.prompts.describe_tool(language, prompt::TOOL_FIND_TABLES);
        sandbox_tool(TABLE_TOOL, words, EffectClass::Read, self.sandbox.as_ref())
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: TableArguments,
    ) -> Result<ToolOutput, ToolError> {
        let task = arguments.task.unwrap_or_default();
        let candidates = self.list_candidates(context, &task).await;
        let candidates = candidates.map_err(|_| self.unavailable(context))?;
        let user = UserKey { tenant: context.session.tenant.clone(), user: context.user.clone() };
        let catalog_tables = self.catalog.list_tables(&user);
        let keys: Vec<String> =
            catalog_tables.iter().map(|table| table.key_for(&user, context.time_zone)).collect();
        // The tables of the deployment come first, so that their names stay.
        let objects = keys.iter().map(String::as_str);
        let objects = objects.chain(candidates.iter().map(|file| file.object.as_str()));
        let objects: Vec<&str> = objects.collect();
        let state = TableState::load(self.files.as_ref(), context).await;
        let mut state = state.map_err(|_| self.unavailable(context))?;
        // A database that could not be reached may answer now.
        let is_final = |read: &ReadFile| !["unavailable", "rejected"].contains(&&*read.problem);
        state.files.retain(|read| objects.contains(&read.object.as_str()) && is_final(read));
        let is_known = |object: &str| state.files.iter().any(|read| read.object == object);
        let unread =
            candidates.iter().filter(|file| !is_known(&file.object)).cloned().collect::<Vec<_>>();
        let new_tables: Vec<&CatalogTable> = catalog_tables
            .iter()
            .zip(&keys)
            .filter(|(_, key)| !is_known(key))
            .map(|(table, _)| table)
            .collect();
        let reads = new_tables
            .iter()
            .map(|table| self.read_catalog_table(context, table, &catalog_tables, &user));
        let reads: Vec<_> = reads.collect();
        let reads = stream::iter(reads).buffered(READS_AT_ONCE);
        state.files.extend(reads.try_collect::<Vec<_>>().await?);
        let (read_files, left_behind) = self.read_files(context, unread).await?;
        state.files.extend(read_files);
        let place = |read: &ReadFile| objects.iter().position(|object| *object == read.object);
        state.files.sort_by_key(place);
        state.name_tables();
        // The text is written while the store takes the state.
        let listing =
            async { list_tables(&self.prompts, context.language, &state, &left_behind, &task) };
        let (kept, text) = future::join(state.keep(self.files.as_ref(), context), listing).await;
        let kept = kept.map_err(|_| self.unavailable(context))?;
        Ok(ToolOutput { state: Some(kept), ..ToolOutput::from_text(text) })
    }
}

fn may_hold_tables(file: &ProductFile) -> bool {
    let extension = file.name.as_str().rsplit_once('.').map(|(_, extension)| extension);
    !file.internal
        && extension.is_some_and(|extension| {
            EXTENSIONS.iter().any(|other| extension.eq_ignore_ascii_case(other))
        })
}
