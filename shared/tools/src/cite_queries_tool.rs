//! `cite_queries`: adds the cited queries to an analysis, checks its figures against their results, and saves it.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, Risk, ToolOutput, ToolPolicy};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::citation::{CitedText, check_citations};
use crate::cite_tool::{MAX_DESCRIPTION, clean_name, one_line};
use crate::figures::{KnownNumbers, WrittenFigure, list_figures};
use crate::job_files::render_error;
use crate::table_state::{StoredResult, TABLE_TOOL, TableState};
use crate::typed_tool::{ToolDefinition, TypedTool};

const TIMEOUT: Duration = Duration::from_secs(30);
/// The letter before the number of a query in citations.
const PREFIX: &str = "q";
/// Maximum number of unsupported figures that are listed.
const MAX_FIGURES: usize = 40;

/// A tool that adds the cited queries to an analysis, and lists the figures that none of them contains. Agent files
/// call the tool with the answer.
pub struct CiteQueriesTool<F> {
    files: Arc<F>,
    prompts: Arc<Prompts>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AnalysisArguments {
    task: Option<String>,
    answer: String,
}

impl<F: Files + Send + Sync> CiteQueriesTool<F> {
    /// Reads results from `files`, and keeps analyses there.
    #[must_use]
    pub fn new(files: Arc<F>, prompts: Arc<Prompts>) -> Self {
        Self { files, prompts }
    }

    /// Returns the figures of an answer that neither the result nor the text of a cited query contains.
    async fn find_unsupported(
        &self,
        context: &ToolContext,
        answer: &str,
        cited: &[(usize, &StoredResult)],
    ) -> Result<Vec<WrittenFigure>, StoreError> {
        let mut numbers = KnownNumbers::default();
        for (_, StoredResult { sql, rows, .. }) in cited {
            numbers.add_text(sql);
            if let Some(rows) = rows {
                let csv = self.files.read_file(&context.session, rows, rows.size).await?;
                numbers.add_csv(&String::from_utf8_lossy(&csv));
            }
        }
        Ok(numbers.find_unsupported(list_figures(answer)))
    }

    fn render(
        &self,
        language: Language,
        cited_text: &CitedText,
        results: usize,
        cited: &[(usize, &StoredResult)],
        unsupported: &[WrittenFigure],
    ) -> String {
        let queries = cited.iter().map(|(number, StoredResult { question, sql, .. })| {
            json!({"label": format!("{PREFIX}{number}"), "question": one_line(question), "sql": sql})
        });
        let figures = unsupported.iter().map(|figure| figure.text.as_str());
        let values = json!({
            "text": cited_text.text, "queries": queries.collect::<Vec<_>>(), "results": results,
            "figures": figures.take(MAX_FIGURES).collect::<Vec<_>>(),
            "more_figures": unsupported.len().saturating_sub(MAX_FIGURES),
            "dropped": cited_text.dropped.len(),
        });
        self.prompts.render(language, prompt::CITE_QUERIES_RESULT, values)
    }

    /// Stores an analysis under the name of its task; a task without a usable name has no file.
    async fn save_analysis(
        &self,
        context: &ToolContext,
        task: &str,
        summary: &str,
        text: &str,
    ) -> Result<Option<ProductFile>, StoreError> {
        let words = clean_name(task);
        let name = FileName::new(format!("{words}.md"));
        let Some(name) = name.ok().filter(|_| !words.is_empty()) else { return Ok(None) };
        let new = NewFile {
            description: prompt::truncate_text(&one_line(summary), MAX_DESCRIPTION),
            internal: false,
            media_type: media_type_of(name.as_str()).to_owned(),
            name,
            uploaded: false,
            writer: context.user.clone(),
        };
        self.files.write_file(&context.session, &new, text.as_bytes()).await.map(Some)
    }
}

impl<F: Files + Send + Sync> TypedTool for CiteQueriesTool<F> {
    type Arguments = AnalysisArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        ToolDefinition {
            name: "cite_queries".to_owned(),
            words: self.prompts.describe_tool(language, prompt::TOOL_CITE_QUERIES),
            effect: EffectClass::Idempotent,
            policy: ToolPolicy {
                risk: Risk::Low,
                untrusted: true,
                echoes_model: true,
                ..ToolPolicy::default()
            },
            timeout: TIMEOUT,
            visible: false,
            for_agents_only: true,
            state_owner: Some(TABLE_TOOL.to_owned()),
        }
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: AnalysisArguments,
    ) -> Result<ToolOutput, ToolError> {
        let AnalysisArguments { task, answer } = arguments;
        let unavailable =
            |_| render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({}));
        let state = TableState::load(self.files.as_ref(), context).await.map_err(unavailable)?;
        let results = state.results.len();
        let cited_text = check_citations(&answer, PREFIX, results);
        let numbered = (1..).zip(&state.results);
        let cited: Vec<(usize, &StoredResult)> =
            numbered.filter(|(number, _)| cited_text.cited.contains(number)).collect();
        let unsupported = self.find_unsupported(context, &cited_text.text, &cited).await;
        let unsupported = unsupported.map_err(unavailable)?;
        let text = self.render(context.language, &cited_text, results, &cited, &unsupported);
        let task = task.unwrap_or_default();
        let file = self.save_analysis(context, &task, &cited_text.text, &text).await;
        let files = file.map_err(unavailable)?.into_iter().collect();
        Ok(ToolOutput { files, ..ToolOutput::from_text(text) })
    }
}
