//! `cite_queries`: adds the cited queries to an analysis, checks its figures against their results, and saves it.

use std::sync::Arc;

use djinn_core::language::Language;
use djinn_core::tool::ToolOutput;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::citation::{CitedText, check_citations};
use crate::cite_tool::{citation_tool, clean_name, one_line, save_text};
use crate::figures::{KnownNumbers, WrittenFigure, list_figures};
use crate::job_files::render_error;
use crate::table_state::{StoredResult, TABLE_TOOL, TableState};
use crate::typed_tool::{ToolDefinition, TypedTool};

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

    /// Returns the figures of an answer that neither the result, its findings nor the text of a cited query contains.
    async fn find_unsupported(
        &self,
        context: &ToolContext,
        answer: &str,
        state: &TableState,
        cited: &[(usize, &StoredResult)],
    ) -> Result<Vec<WrittenFigure>, StoreError> {
        let mut numbers = KnownNumbers::default();
        for (number, StoredResult { sql, rows, .. }) in cited {
            numbers.add_sql(sql);
            state.list_findings(*number).for_each(|finding| numbers.add_text(finding));
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
}

impl<F: Files + Send + Sync> TypedTool for CiteQueriesTool<F> {
    type Arguments = AnalysisArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        let words = self.prompts.describe_tool(language, prompt::TOOL_CITE_QUERIES);
        citation_tool("cite_queries", words, TABLE_TOOL)
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
        let unsupported = self.find_unsupported(context, &cited_text.text, &state, &cited).await;
        let unsupported = unsupported.map_err(unavailable)?;
        let text = self.render(context.language, &cited_text, results, &cited, &unsupported);
        // A task without a usable name has no file.
        let words = clean_name(&task.unwrap_or_default());
        let name = if words.is_empty() { String::new() } else { format!("{words}.md") };
        let summary = one_line(&cited_text.text);
        let file = save_text(&*self.files, context, name, &summary, false, &text).await;
        let files = file.map_err(unavailable)?.into_iter().collect();
        Ok(ToolOutput { files, ..ToolOutput::from_text(text) })
    }
}
