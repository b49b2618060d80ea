//! `look`: an overview of a session's files, read by the sandbox.

use std::sync::Arc;

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput};
use djinn_runtime::port::file::Files;
use djinn_runtime::port::sandbox::{LookValue, Sandbox, SandboxJob, SandboxWork};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::document::render_note;
use crate::job_files::{JobFiles, choose_files, explain_sandbox_error, render_error};
use crate::python_tool::sandbox_tool;
use crate::typed_tool::{ToolDefinition, TypedTool};

/// Maximum number of files in one call; other files are listed by name.
const MAX_LOOKS: usize = 10;

/// A tool that shows each file known to the run: columns, types and first rows of tables, the start of texts.
/// Agent files call the tool before their first turn.
pub struct LookTool<F> {
    files: Arc<F>,
    prompts: Arc<Prompts>,
    sandbox: Arc<dyn Sandbox>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct LookArguments {
    task: Option<String>,
}

impl<F: Files + Send + Sync> LookTool<F> {
    /// Creates the tool: reads files from `files`, and their overview from `sandbox`.
    #[must_use]
    pub fn new(files: Arc<F>, prompts: Arc<Prompts>, sandbox: Arc<dyn Sandbox>) -> Self {
        Self { files, prompts, sandbox }
    }
}

impl<F: Files + Send + Sync> TypedTool for LookTool<F> {
    type Arguments = LookArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        let words = self.prompts.describe_tool(language, prompt::TOOL_LOOK);
        sandbox_tool("look", words, EffectClass::Idempotent, self.sandbox.as_ref())
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: LookArguments,
    ) -> Result<ToolOutput, ToolError> {
        let task = arguments.task.unwrap_or_default();
        let sandbox = self.sandbox.as_ref();
        let most = MAX_LOOKS;
        let job_files = choose_files(self.files.as_ref(), context, sandbox, most, &task);
        let JobFiles { names, files, context: job_context, left_behind } =
            job_files.await.map_err(|_| {
                render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({}))
            })?;
        let mut looks = serde_json::Map::new();
        if !names.is_empty() {
            let work = SandboxWork::Look { names: names.clone(), language: context.language };
            let job = SandboxJob { work, files, state: Vec::new() };
            let answer = self.sandbox.run_job(&job_context, job).await;
            let answer =
                answer.map_err(|error| explain_sandbox_error(&self.prompts, context, &error))?;
            looks = answer.value.as_object().cloned().unwrap_or_default();
        }
        let entries = names.iter().map(|name| {
            let look = looks.get(name.as_str()).cloned().unwrap_or_default();
            let LookValue { text, notes, problem } =
                serde_json::from_value(look).unwrap_or_default();
            let why = json!({"problem": problem});
            let text = if problem.is_empty() {
                let note = |note: &String| render_note(&self.prompts, context.language, note);
                notes.iter().map(note).chain([text]).collect::<Vec<_>>().join("\n")
            } else {
                self.prompts.render(context.language, prompt::DOCUMENT_PROBLEM, why)
            };
            json!({"name": name, "text": text})
        });
        let values =
            json!({"files": entries.collect::<Vec<_>>(), "left_behind": left_behind.join(", ")});
        Ok(ToolOutput::from_text(self.prompts.render(
            context.language,
            prompt::LOOK_RESULT,
            values,
        )))
    }
}
