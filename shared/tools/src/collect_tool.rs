//! `collect`: the texts of a session's files, up to the room of the report's model.

use std::sync::Arc;

use djinn_core::file::ProductFile;
use djinn_core::language::Language;
use djinn_core::run::PLAN_FILE;
use djinn_core::tool::{EffectClass, ToolOutput};
use djinn_runtime::port::file::Files;
use djinn_runtime::port::model::RequestImage;
use djinn_runtime::port::sandbox::Sandbox;
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::document::read_text;
use crate::job_files::render_error;
use crate::python_tool::sandbox_tool;
use crate::typed_tool::{ToolDefinition, TypedTool};

/// Tokens reserved for instructions, task and file names.
const OTHER_TOKENS: u64 = 10_000;
/// Default input tokens of a model with an unknown window.
const DEFAULT_WINDOW: u64 = 60_000;
/// Bytes per estimated token, as in other estimates.
const BYTES_PER_TOKEN: u64 = 3;
/// Characters reserved for the text around the files.
const MAX_FRAME: u32 = 10_000;
/// Maximum number of files read.
const MAX_FILES: usize = 100;
/// Maximum number of images shown to the model.
const MAX_IMAGES: usize = 20;
/// Minimum room in bytes for another text.
const MIN_BYTES: usize = 200;

/// A tool that reads the run's files within 80 % of the model's input. Files named by the task are read
/// first, then results of code and searches, then the others, newest first. Agent files call the tool before
/// their first turn.
pub struct CollectTool<F> {
    files: Arc<F>,
    prompts: Arc<Prompts>,
    sandbox: Arc<dyn Sandbox>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CollectArguments {
    task: Option<String>,
}

/// The texts of the files read, and the names of the others.
#[derive(Default)]
struct Material {
    texts: Vec<ShownText>,
    left_out: Vec<String>,
    unreadable: Vec<String>,
}

#[derive(Serialize)]
struct ShownText {
    name: String,
    text: String,
    is_cut: bool,
}

impl<F: Files + Send + Sync> CollectTool<F> {
    /// Creates the tool: reads files from `files`, and other documents through `sandbox`.
    #[must_use]
    pub fn new(files: Arc<F>, prompts: Arc<Prompts>, sandbox: Arc<dyn Sandbox>) -> Self {
        Self { files, prompts, sandbox }
    }

    /// Reads texts while room is left. A text not named by the task gets at most half of the room.
    async fn read_material(
        &self,
        context: &ToolContext,
        task: &str,
        files: Vec<ProductFile>,
    ) -> Material {
        let mut room = count_room(context);
        let mut material = Material::default();
        for (nth, file) in files.into_iter().enumerate() {
            let name = file.name.to_string();
            let most = if task.contains(&name) { room } else { room / 2 };
            if nth >= MAX_FILES || most < MIN_BYTES {
                material.left_out.push(name);
                continue;
            }
            match read_text(&*self.files, &*self.sandbox, context, &file, most).await {
                Some(reading) => {
                    room = room.saturating_sub(reading.text.len());
                    let file_text = ShownText { name, text: reading.text, is_cut: reading.is_cut };
                    material.texts.push(file_text);
                }
                None => material.unreadable.push(name),
            }
        }
        material
    }
}

impl<F: Files + Send + Sync> TypedTool for CollectTool<F> {
    type Arguments = CollectArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        let words = self.prompts.describe_tool(language, prompt::TOOL_COLLECT);
        sandbox_tool("collect", words, EffectClass::Read, self.sandbox.as_ref())
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: CollectArguments,
    ) -> Result<ToolOutput, ToolError> {
        let task = arguments.task.unwrap_or_default();
        let run_files = self.files.list_files(&context.session).await.map_err(|_| {
            render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({}))
        })?;
        let run_files = run_files.into_iter().filter(|file| context.files.contains(&file.name));
        let (images, texts): (Vec<_>, Vec<_>) =
            run_files.partition(|file| file.media_type.starts_with("image/"));
        let material = self.read_material(context, &task, order_files(texts, &task)).await;
        let names: Vec<_> = images.iter().map(|image| image.name.as_str()).collect();
        let values = json!({
            "files": material.texts, "images": names.join(", "),
            "left_out": material.left_out.join(", "), "unreadable": material.unreadable.join(", "),
        });
        let text = self.prompts.render(context.language, prompt::COLLECT_RESULT, values);
        let recent_images = images.iter().rev().filter(|image| RequestImage::can_show(image));
        let images = recent_images.take(MAX_IMAGES).cloned().collect();
        Ok(ToolOutput { images, ..ToolOutput::from_text(text) })
    }
}

/// Returns the room in bytes of text: every character has at least a byte.
pub(crate) fn count_room(context: &ToolContext) -> usize {
    let window = match context.max_input_tokens {
        0 => DEFAULT_WINDOW,
        tokens => tokens,
    };
    let bytes = (window / 10 * 8).saturating_sub(OTHER_TOKENS).saturating_mul(BYTES_PER_TOKEN);
    let most = context.max_observe.saturating_sub(MAX_FRAME);
    usize::try_from(bytes.min(most.into())).unwrap_or(usize::MAX)
}

/// Sorts `files`, given in order of writing, into reading order.
fn order_files(mut files: Vec<ProductFile>, task: &str) -> Vec<ProductFile> {
    // The usual names of results of code and searches.
    let is_finding = |name: &str| {
        name.ends_with("_search_result.txt")
            || name.ends_with("的搜索结果.md")
            || name.starts_with("search results - ")
            || name.contains("代码输出")
            || (name.starts_with("result-") && name.ends_with(".txt"))
    };
    files.retain(|file| file.name.as_str() != PLAN_FILE);
    files.reverse();
    // The stable sort keeps newer files first within a group.
    files.sort_by_key(|file| match file.name.as_str() {
        name if task.contains(name) => 0,
        name if is_finding(name) => 1,
        _ => 2,
    });
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_task_names_is_read_first_and_then_findings_and_the_newest() {
        let names =
            ["old.md", "TODO.md", "result-1a-t1.c1.txt", "b.csv", "金价的搜索结果.md", "c.md"];
        let known = names.map(|name| {
            serde_json::from_value(json!({
                "name": name, "description": "", "size": 1, "internal": false,
                "media_type": "text/plain", "object": "o", "version": "v",
            }))
            .unwrap()
        });
        let ordered = order_files(known.to_vec(), "Sum up old.md, please.");
        let ordered: Vec<_> = ordered.iter().map(|file| file.name.as_str()).collect();
        let expected = ["old.md", "金价的搜索结果.md", "result-1a-t1.c1.txt", "c.md", "b.csv"];
        assert_eq!(ordered, expected);
    }
}
