//! `python`: runs a block of Python over the files of a session, in the sandbox.

use std::sync::Arc;

use djinn_core::estimate::Estimate;
use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, Risk, ToolOutput, ToolPolicy, ToolState};
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::sandbox::{
    BlockValue, JobEnd, JobOutput, Sandbox, SandboxAnswer, SandboxFile, SandboxJob, SandboxWork,
};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts, ToolDescription};
use djinn_runtime::texts::MAX_DESCRIPTION;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::job_files::{JobFiles, MAX_FILES, choose_files, explain_sandbox_error, render_error};
use crate::typed_tool::{ToolDefinition, TypedTool};

/// Maximum bytes of an image shown to a model.
const MAX_IMAGE: u64 = 5_000_000;
/// Maximum number of images of one call shown to a model.
const MAX_IMAGES: usize = 20;

/// A tool that runs one block of Python. The block's folder has the files known to the run, and written files
/// become session files. Offered only to agents with the tool in their files.
pub struct PythonTool<F> {
    files: Arc<F>,
    prompts: Arc<Prompts>,
    sandbox: Arc<dyn Sandbox>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PythonArguments {
    #[schemars(length(min = 1, max = 100_000))]
    code: String,
}

impl<F: Files + Send + Sync> PythonTool<F> {
    /// Reads and writes files in `files`, and runs code in `sandbox`.
    #[must_use]
    pub fn new(files: Arc<F>, prompts: Arc<Prompts>, sandbox: Arc<dyn Sandbox>) -> Self {
        Self { files, prompts, sandbox }
    }

    async fn keep_products(
        &self,
        context: &ToolContext,
        code: &str,
        products: &[SandboxFile],
    ) -> Result<Vec<ProductFile>, ToolError> {
        let mut saved_files = Vec::new();
        for product in products {
            let new = NewFile {
                name: product.name.clone(),
                description: prompt::truncate_text(first_comment(code), MAX_DESCRIPTION),
                internal: false,
                media_type: media_type_of(product.name.as_str()).to_owned(),
                uploaded: false,
                writer: context.user.clone(),
            };
            let result = self.files.write_file(&context.session, &new, &product.content).await;
            saved_files.push(result.map_err(|_| {
                render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({}))
            })?);
        }
        Ok(saved_files)
    }

    fn tell_answer(
        &self,
        context: &ToolContext,
        answer: &SandboxAnswer,
        value: &BlockValue,
        products: &[ProductFile],
        left_behind: &[String],
    ) -> String {
        let error = value.error.clone().unwrap_or_default();
        let names: Vec<&str> = products.iter().map(|file| file.name.as_str()).collect();
        let error_text = if error.kind.is_empty() {
            String::new()
        } else {
            format!("{}: {}", error.kind, error.message)
        };
        let new_names = answer.products.iter().zip(products);
        let new_names = new_names.filter(|(product, file)| product.name != file.name);
        let new_names =
            new_names.map(|(product, file)| format!("{} → {}", product.name, file.name));
        let JobOutput { head, tail, omitted } = &answer.output;
        let most = (context.max_observe as usize).saturating_sub(2_000).max(200);
        let printed = if *omitted == 0 && head.chars().count() + tail.chars().count() <= most {
            format!("{head}{tail}")
        } else {
            let beginning: String = head.chars().take(most / 2).collect();
            let end = if tail.is_empty() { head } else { tail };
            let start = end.chars().count().saturating_sub(most / 2);
            let end: String = end.chars().skip(start).collect();
            format!("{beginning}\n{}\n{end}", prompt::CUT_MARK)
        };
        let values = json!({
            "end": answer.end, "error": error_text, "line": error.line.unwrap_or_default(),
            "hint": error.hint, "trace": error.trace.join("\n"), "printed": printed,
            "products": names.join(", "), "renamed": new_names.collect::<Vec<_>>().join(", "),
            "left_out": answer.left_out.join(", "),
            "left_behind": left_behind.join(", "), "lost": value.lost.join(", "),
            "empty_figures": value.empty_figures.join(", "),
        });
        self.prompts.render(context.language, prompt::PYTHON_RESULT, values)
    }

    /// Stores the state for the next block. A block ended from outside keeps the earlier state.
    async fn keep_state(
        &self,
        context: &ToolContext,
        mut earlier: Vec<String>,
        code: &str,
        value: &BlockValue,
        answer: SandboxAnswer,
    ) -> Option<ToolState> {
        if answer.end != JobEnd::Done {
            return context.state.clone();
        }
        if value.error.is_none() {
            earlier.push(code.to_owned());
        }
        let bytes = BlockState { earlier, variables: answer.state }.to_bytes();
        let result = self.files.write_state(&context.session, &bytes).await;
        result.inspect_err(|error| tracing::warn!(%error, "variables are not kept")).ok()
    }
}

/// The state between two blocks.
#[derive(Default)]
struct BlockState {
    /// The blocks that ended without an error, oldest first.
    earlier: Vec<String>,
    /// The variables, in the sandbox's format.
    variables: Vec<u8>,
}

impl BlockState {
    /// Serializes the blocks as a line of JSON, followed by the variables.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = json!(self.earlier).to_string().into_bytes();
        bytes.push(b'\n');
        bytes.extend(&self.variables);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let earlier = serde_json::from_slice(bytes.get(..end)?).ok()?;
        Some(Self { earlier, variables: bytes.get(end + 1..)?.to_vec() })
    }
}

impl<F: Files + Send + Sync> TypedTool for PythonTool<F> {
    type Arguments = PythonArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        let words = self.prompts.describe_tool(language, prompt::TOOL_PYTHON);
        ToolDefinition {
            visible: true,
            ..sandbox_tool("python", words, EffectClass::Idempotent, self.sandbox.as_ref())
        }
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: PythonArguments,
    ) -> Result<ToolOutput, ToolError> {
        let code = strip_fence(&arguments.code);
        let sandbox = self.sandbox.as_ref();
        let most = MAX_FILES;
        let job_files = choose_files(self.files.as_ref(), context, sandbox, most, code);
        let JobFiles { files, context: job_context, left_behind, .. } =
            job_files.await.map_err(|_| {
                render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({}))
            })?;
        let bytes = match &context.state {
            Some(state) => self.files.read_state(&context.session, state).await.map(Some),
            None => Ok(None),
        };
        let bytes = bytes.inspect_err(|error| tracing::warn!(%error, "variables are not read"));
        // An unreadable state of the run's earlier blocks counts as empty.
        let state = bytes.ok().flatten().and_then(|bytes| BlockState::from_bytes(&bytes));
        let BlockState { earlier, variables } = state.unwrap_or_default();
        let work = SandboxWork::Python { code: code.to_owned(), earlier: earlier.clone() };
        let job = SandboxJob { work, files, state: variables };
        let answer = self.sandbox.run_job(&job_context, job).await;
        let answer =
            answer.map_err(|error| explain_sandbox_error(&self.prompts, context, &error))?;
        let products = self.keep_products(context, code, &answer.products).await?;
        // The block's report about itself, possibly forged by foreign code.
        let block_value: BlockValue =
            serde_json::from_value(answer.value.clone()).unwrap_or_default();
        let text = self.tell_answer(context, &answer, &block_value, &products, &left_behind);
        let state =
            self.keep_state(context, earlier, code, &block_value, answer).await.map(Box::new);
        let images: Vec<_> = products
            .iter()
            .filter(|file| file.media_type.starts_with("image/") && file.size <= MAX_IMAGE)
            .filter(|file| file.media_type != "image/svg+xml")
            .take(MAX_IMAGES)
            .cloned()
            .collect();
        Ok(ToolOutput { files: products, images, state, ..ToolOutput::from_text(text) })
    }
}

/// Returns the definition of a tool over jobs of the sandbox, for agent files only. The tool has no outside effects;
/// its results may contain text of a file or of the model.
pub(crate) fn sandbox_tool(
    name: &str,
    words: ToolDescription,
    effect: EffectClass,
    sandbox: &dyn Sandbox,
) -> ToolDefinition {
    let policy = ToolPolicy {
        risk: Risk::Low,
        untrusted: true,
        echoes_model: true,
        estimate: Estimate { tokens: 1_000, ms: 2_000, calls: 1, ..Estimate::default() },
        ..ToolPolicy::default()
    };
    let timeout = sandbox.call_timeout();
    ToolDefinition { policy, timeout, ..ToolDefinition::for_agents(name, words, effect) }
}

/// Returns the first comment of a block, by habit its description.
fn first_comment(code: &str) -> &str {
    let first = code.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    first.strip_prefix('#').map_or("", |comment| comment.trim_start_matches('#').trim())
}

/// Returns a block without the fence often added by models.
pub(crate) fn strip_fence(code: &str) -> &str {
    let inner = code.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inner = inner.and_then(|inner| inner.split_once('\n'));
    match inner {
        Some((language, inner)) if !language.contains(char::is_whitespace) => inner,
        Some(_) | None => code,
    }
}

#[cfg(test)]
mod tests {
    use djinn_core::id::FileName;
    use djinn_runtime::port::sandbox::DisabledSandbox;

    use super::*;
    use crate::search_state::tests::{FullStore, context};

    #[test]
    fn what_a_block_leaves_is_read_as_it_was_kept() {
        for (earlier, variables) in [(vec![], ""), (vec!["x = 1\n", "y = '\n'"], "\n\x00pickle\n")]
        {
            let earlier: Vec<String> = earlier.into_iter().map(str::to_owned).collect();
            let kept = BlockState { earlier, variables: variables.as_bytes().to_vec() };
            let read = BlockState::from_bytes(&kept.to_bytes()).unwrap();
            assert_eq!((read.earlier, read.variables), (kept.earlier, kept.variables));
        }
        assert!(BlockState::from_bytes(b"no state").is_none());
    }

    #[test]
    fn model_learns_which_products_have_another_name() {
        let name = |name: &str| FileName::new(name).unwrap();
        let product = |name| SandboxFile { name, content: Vec::new() };
        let file = |name: &str| -> ProductFile {
            serde_json::from_value(json!({
                "name": name, "description": "", "size": 0, "internal": false,
                "media_type": "text/csv", "object": "o", "version": "v",
            }))
            .unwrap()
        };
        let prompts = Arc::new(Prompts::default());
        let sandbox = Arc::new(DisabledSandbox(String::new()));
        let tool = PythonTool::new(Arc::new(FullStore(None)), prompts, sandbox);
        let answer = SandboxAnswer {
            end: JobEnd::Done,
            seconds: 0.0,
            output: JobOutput::default(),
            value: serde_json::Value::Null,
            products: vec![product(name("a.csv")), product(name("b.csv"))],
            left_out: Vec::new(),
            state: Vec::new(),
        };
        let told = |files: &[ProductFile]| {
            let block = BlockValue::default();
            tool.tell_answer(&context(false), &answer, &block, files, &[]).trim_end().to_owned()
        };
        let text = told(&[file("a.csv"), file("b (2).csv")]);
        assert!(text.contains("Files it wrote: a.csv, b (2).csv\n"), "{text}");
        assert!(text.ends_with("has the first: b.csv → b (2).csv"), "{text}");
        let text = told(&[file("a.csv"), file("b.csv")]);
        assert!(text.ends_with("Files it wrote: a.csv, b.csv"), "{text}");
    }

    #[test]
    fn a_block_is_taken_out_of_its_fence() {
        for (code, block) in [
            ("print(1)", "print(1)"),
            ("```python\nprint(1)\n```", "print(1)\n"),
            ("```\nprint(1)\n```\n", "print(1)\n"),
            ("x = '''```'''", "x = '''```'''"),
            ("```not a language\nprint(1)\n```", "```not a language\nprint(1)\n```"),
        ] {
            assert_eq!(strip_fence(code), block, "{code}");
        }
    }

    #[test]
    fn the_first_comment_says_what_a_block_does() {
        assert_eq!(first_comment("\n# Sums by region\nx = 1"), "Sums by region");
        assert_eq!(first_comment("x = 1 # no"), "");
        assert_eq!(first_comment(""), "");
    }
}
