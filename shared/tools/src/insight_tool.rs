//! `find_insights`: tests the rows of an earlier result for what stands out, in the sandbox.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_agents::AnalysisPart;
use djinn_core::file::ProductFile;
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput};
use djinn_runtime::port::file::Files;
use djinn_runtime::port::sandbox::{InsightValue, JobEnd, Sandbox, SandboxJob, SandboxWork};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::database_query::is_same;
use crate::job_files::{JobFiles, bring_files, explain_sandbox_error, render_error};
use crate::python_tool::sandbox_tool;
use crate::table_state::{TABLE_TOOL, TableState};
use crate::typed_tool::{ToolDefinition, TypedTool};

/// A tool that finds outstanding groups, trends and other patterns in a result of `run_sql`. The answer cites the
/// findings with the label of the result.
pub struct InsightTool<F> {
    files: Arc<F>,
    prompts: Arc<Prompts>,
    sandbox: Arc<dyn Sandbox>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct InsightArguments {
    #[schemars(length(min = 1, max = 20))]
    query: String,
    #[schemars(length(min = 1, max = 300))]
    measure: String,
    #[schemars(length(max = 300))]
    dimension: Option<String>,
    #[schemars(length(max = 300))]
    time: Option<String>,
}

impl<F: Files + Send + Sync> InsightTool<F> {
    /// Creates the tool: reads results from `files`, and tests them in `sandbox`.
    #[must_use]
    pub fn new(files: Arc<F>, prompts: Arc<Prompts>, sandbox: Arc<dyn Sandbox>) -> Self {
        Self { files, prompts, sandbox }
    }

    /// Runs the tests over the rows of a result.
    async fn test_rows(
        &self,
        context: &ToolContext,
        rows: ProductFile,
        arguments: InsightArguments,
    ) -> Result<InsightValue, ToolError> {
        let sandbox = self.sandbox.as_ref();
        let name = rows.name.clone();
        let job_files = bring_files(self.files.as_ref(), context, sandbox, vec![rows], 1).await;
        let JobFiles { names, files, context: job_context, .. } =
            job_files.map_err(|_| self.unavailable(context))?;
        if names.is_empty() {
            return Ok(InsightValue::from_problem("no_rows", &arguments.query));
        }
        let InsightArguments { measure, dimension, time, .. } = arguments;
        let work = SandboxWork::Insights { name, measure, dimension, time };
        let job = SandboxJob { work, files, state: Vec::new() };
        let answer = sandbox.run_job(&job_context, job).await;
        let answer =
            answer.map_err(|error| explain_sandbox_error(&self.prompts, context, &error))?;
        let value = serde_json::from_value(answer.value).ok();
        let value = value.filter(|_| answer.end == JobEnd::Done);
        Ok(value.unwrap_or_else(|| InsightValue::from_problem("failed", "")))
    }

    fn render(&self, language: Language, label: &str, value: &InsightValue) -> String {
        let InsightValue { findings, problem, name, near } = value;
        let values = json!({
            "label": label, "findings": findings, "problem": problem, "name": name, "near": near.join(", "),
        });
        self.prompts.render(language, prompt::INSIGHTS, values)
    }

    fn unavailable(&self, context: &ToolContext) -> ToolError {
        render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({}))
    }
}

/// Returns the problem of a column that has another part in analyses by the file of its table.
fn refuse_part(
    parts: &BTreeMap<String, AnalysisPart>,
    arguments: &InsightArguments,
) -> Option<InsightValue> {
    let InsightArguments { measure, dimension, .. } = arguments;
    let wanted = [
        (Some(measure), AnalysisPart::Measure, "no_measure"),
        (dimension.as_ref(), AnalysisPart::Dimension, "no_dimension"),
    ];
    wanted.into_iter().find_map(|(name, wanted, problem)| {
        let name = name?;
        let (_, part) = parts.iter().find(|(key, _)| is_same(key, name))?;
        let near = parts.iter().filter(|(_, part)| **part == wanted);
        let near = near.map(|(name, _)| name.clone()).collect();
        let value = InsightValue { near, ..InsightValue::from_problem(problem, name) };
        (*part != wanted).then_some(value)
    })
}

impl<F: Files + Send + Sync> TypedTool for InsightTool<F> {
    type Arguments = InsightArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        let words = self.prompts.describe_tool(language, prompt::TOOL_FIND_INSIGHTS);
        ToolDefinition {
            visible: true,
            state_owner: Some(TABLE_TOOL.to_owned()),
            ..sandbox_tool("find_insights", words, EffectClass::Read, self.sandbox.as_ref())
        }
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: InsightArguments,
    ) -> Result<ToolOutput, ToolError> {
        let state = TableState::load(self.files.as_ref(), context).await;
        let mut state = state.map_err(|_| self.unavailable(context))?;
        let query = arguments.query.trim_matches(['[', ']', ' ']).to_owned();
        let number = query.strip_prefix('q').and_then(|number| number.parse::<usize>().ok());
        let place = number.and_then(|number| number.checked_sub(1));
        let value = match place.and_then(|place| state.results.get(place)) {
            None => {
                let near = (1..=state.results.len()).map(|number| format!("q{number}")).collect();
                InsightValue { near, ..InsightValue::from_problem("unknown_query", &query) }
            }
            Some(result) => match result.rows.clone() {
                None => InsightValue::from_problem("no_rows", &query),
                Some(rows) => match refuse_part(&result.parts, &arguments) {
                    Some(value) => value,
                    None => self.test_rows(context, rows, arguments).await?,
                },
            },
        };
        let text = self.render(context.language, &query, &value);
        if !value.problem.is_empty() {
            return Err(ToolError::from_detail(text));
        }
        state.add_finding(number.unwrap_or_default(), text.clone());
        let state = state.keep(self.files.as_ref(), context).await;
        let state = Some(state.map_err(|_| self.unavailable(context))?);
        Ok(ToolOutput { state, ..ToolOutput::from_text(text) })
    }
}
