//! `file_tool`: reads and writes the text files of a session.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::estimate::Estimate;
use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ResultView, Risk, SafeArguments, ToolOutput, ToolPolicy};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file::{Files, NewFile, has_rows};
use djinn_runtime::port::sandbox::{
    ExtractValue, Sandbox, SandboxError, SandboxFile, SandboxJob, SandboxWork,
};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Fragment, Prompts};
use djinn_runtime::texts::MAX_DESCRIPTION;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::document::{MAX_DOCUMENT, decode_text, render_note};
use crate::job_files::{explain_sandbox_error, job_context};
use crate::typed_tool::{ToolDefinition, TypedTool};

/// Maximum bytes of a text read directly.
const MAX_READ: u64 = 10_000_000;
/// Maximum bytes of a file written by one call.
const MAX_WRITE: usize = 1_000_000;
/// Characters reserved for the text around a part of a file.
const FRAME_CHARS: usize = 600;

/// A tool that reads (`get`) and writes (`upload`) session files. Names, parameters and results match
/// JoyAgent's tool of the same name; `offset` is our extension.
pub struct FileTool<F> {
    files: Arc<F>,
    prompts: Arc<Prompts>,
    sandbox: Arc<dyn Sandbox>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FileArguments {
    command: FileCommand,
    filename: String,
    description: Option<String>,
    content: Option<String>,
    offset: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum FileCommand {
    Get,
    Upload,
}

impl<F: Files + Send + Sync> FileTool<F> {
    /// Keeps files in `files`, and has documents of Office and PDF read in `sandbox`.
    #[must_use]
    pub fn new(files: Arc<F>, prompts: Arc<Prompts>, sandbox: Arc<dyn Sandbox>) -> Self {
        Self { files, prompts, sandbox }
    }

    async fn upload_file(
        &self,
        context: &ToolContext,
        arguments: &FileArguments,
    ) -> Result<ToolOutput, ToolError> {
        let name = with_extension(&arguments.filename);
        let rejection = |problem: &str| {
            let values = json!({"problem": problem, "name": prompt::truncate_text(&name, 100),
                "limit": MAX_WRITE});
            self.render_error(context, prompt::FILE_REFUSED, values)
        };
        let file_name = FileName::new(name.as_str()).map_err(|_| rejection("bad_name"))?;
        let Some(content) = &arguments.content else {
            return Err(rejection("no_content"));
        };
        if content.len() > MAX_WRITE {
            return Err(rejection("too_long"));
        }
        let new = NewFile {
            media_type: media_type_of(file_name.as_str()).to_owned(),
            name: file_name.clone(),
            description: prompt::truncate_text(
                arguments.description.as_deref().unwrap_or_default(),
                MAX_DESCRIPTION,
            ),
            internal: false,
            uploaded: false,
            writer: context.user.clone(),
        };
        let result = self.files.write_file(&context.session, &new, content.as_bytes()).await;
        let file = result.map_err(|error| self.unavailable_error(context, &error))?;
        let occupied_name = if file.name == file_name { "" } else { file_name.as_str() };
        let values = json!({"name": file.name, "size": file.size, "taken": occupied_name});
        let text = self.prompts.render(context.language, prompt::FILE_WRITTEN, values);
        let view = ResultView::FileWritten { file: file.clone() };
        Ok(ToolOutput { view, files: vec![file], ..ToolOutput::from_text(text) })
    }

    async fn get_file(
        &self,
        context: &ToolContext,
        arguments: &FileArguments,
    ) -> Result<ToolOutput, ToolError> {
        let file = self.find_file(context, &arguments.filename).await?;
        let bytes = self.files.read_file(&context.session, &file, MAX_READ).await;
        let bytes = bytes.map_err(|error| self.unavailable_error(context, &error))?;
        let Some(content) = decode_text(&bytes) else {
            let bytes = self.read_document(context, &file, bytes).await?;
            return self.extract_document(context, file, bytes, arguments).await;
        };
        let has_rows = file.has_rows.or_else(|| has_rows(&file.media_type, &bytes));
        let file = ProductFile { has_rows, ..file };
        let offset = arguments.offset.unwrap_or_default();
        let content = context.mask_text(content.to_owned()).await;
        let part = TextPart::of(&content, offset, context.max_observe as usize);
        let values = json!({
            "name": file.name, "start": part.start, "end": part.end, "total": part.total,
            "more": part.end < part.total, "text": part.text,
        });
        let text = self.prompts.render(context.language, prompt::FILE_READ, values);
        Ok(ToolOutput { view: ResultView::FileRead { file }, ..ToolOutput::from_text(text) })
    }

    /// Returns all bytes of a document for the sandbox, after a first read of [`MAX_READ`] bytes.
    async fn read_document(
        &self,
        context: &ToolContext,
        file: &ProductFile,
        beginning: Vec<u8>,
    ) -> Result<Vec<u8>, ToolError> {
        let most = MAX_DOCUMENT.min(self.sandbox.max_bytes());
        if file.size <= MAX_READ || most == 0 {
            return Ok(beginning);
        }
        if file.size > most {
            let values = json!({"problem": "too_large"});
            return Err(self.render_error(context, prompt::DOCUMENT_PROBLEM, values));
        }
        let document = self.files.read_file(&context.session, file, file.size).await;
        document.map_err(|error| self.unavailable_error(context, &error))
    }

    /// Returns a part of a document, read by the sandbox. A document beyond the sandbox's abilities has no
    /// text.
    async fn extract_document(
        &self,
        context: &ToolContext,
        file: ProductFile,
        content: Vec<u8>,
        arguments: &FileArguments,
    ) -> Result<ToolOutput, ToolError> {
        let offset = arguments.offset.unwrap_or_default();
        let limit = u64::from(context.max_observe).saturating_sub(FRAME_CHARS as u64).max(100);
        let language = context.language;
        let work = SandboxWork::Extract { name: file.name.clone(), offset, limit, language };
        let input = SandboxFile { name: file.name.clone(), content };
        let job = SandboxJob { work, files: vec![input], state: Vec::new() };
        let answer = match self.sandbox.run_job(&job_context(context), job).await {
            Ok(answer) => answer.value,
            Err(SandboxError::Disabled(_)) => serde_json::Value::Null,
            Err(error) => return Err(explain_sandbox_error(&self.prompts, context, &error)),
        };
        let not_text = json!({"name": file.name, "media_type": file.media_type});
        let Ok(part) = serde_json::from_value::<ExtractValue>(answer) else {
            return Err(self.render_error(context, prompt::FILE_NOT_TEXT, not_text));
        };
        if let Some(problem) = part.problem {
            let values = json!({"problem": problem});
            return Err(self.render_error(context, prompt::DOCUMENT_PROBLEM, values));
        }
        let text = self.tell_part(context, &file, offset, part).await;
        Ok(ToolOutput { view: ResultView::FileRead { file }, ..ToolOutput::from_text(text) })
    }

    async fn tell_part(
        &self,
        context: &ToolContext,
        file: &ProductFile,
        offset: u64,
        part: ExtractValue,
    ) -> String {
        let notes =
            part.notes.iter().map(|note| render_note(&self.prompts, context.language, note));
        let notes: Vec<String> = notes.collect();
        let text = context.mask_text(part.text).await;
        let end = offset + u64::try_from(text.chars().count()).unwrap_or_default();
        // A long document is never read whole, so only the existence of more text is known.
        let total = part.total_chars.or(part.next_offset).unwrap_or(end);
        let values = json!({
            "name": file.name, "start": offset, "end": part.next_offset.unwrap_or(end),
            "total": total, "more": part.next_offset.is_some(), "text": text,
        });
        let rendered_text = self.prompts.render(context.language, prompt::FILE_READ, values);
        notes.into_iter().chain([rendered_text]).collect::<Vec<_>>().join("\n")
    }

    async fn find_file(
        &self,
        context: &ToolContext,
        requested_name: &str,
    ) -> Result<ProductFile, ToolError> {
        let mut existing_file = None;
        if let Ok(name) = FileName::new(requested_name) {
            let file = self.files.find_file(&context.session, &name).await;
            existing_file = file.map_err(|error| self.unavailable_error(context, &error))?;
        }
        existing_file.ok_or_else(|| {
            let files: Vec<_> = context.files.iter().map(FileName::as_str).collect();
            let values =
                json!({"name": prompt::truncate_text(requested_name, 100), "files": files.join(", ")});
            self.render_error(context, prompt::FILE_MISSING, values)
        })
    }

    fn unavailable_error(&self, context: &ToolContext, _: &StoreError) -> ToolError {
        self.render_error(context, prompt::FILE_UNAVAILABLE, json!({}))
    }

    fn render_error(&self, context: &ToolContext, fragment: Fragment, values: Value) -> ToolError {
        ToolError::from_detail(self.prompts.render(context.language, fragment, values))
    }
}

impl<F: Files + Send + Sync> TypedTool for FileTool<F> {
    type Arguments = FileArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        ToolDefinition {
            name: "file_tool".to_owned(),
            words: self.prompts.describe_tool(language, prompt::TOOL_FILE),
            effect: EffectClass::Idempotent,
            // Written files are visible to others, reads change nothing. Content read is tainted separately.
            policy: ToolPolicy {
                risk: Risk::Medium,
                safe_arguments: Some(SafeArguments {
                    argument: "command".to_owned(),
                    values: vec!["get".to_owned()],
                }),
                estimate: Estimate { tokens: 1_000, ms: 500, calls: 1, ..Estimate::default() },
                ..ToolPolicy::default()
            },
            // A document waits for the sandbox.
            timeout: self.sandbox.call_timeout().max(Duration::from_secs(30)),
            visible: false,
            for_agents_only: false,
            state_owner: None,
        }
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: FileArguments,
    ) -> Result<ToolOutput, ToolError> {
        match arguments.command {
            FileCommand::Get => self.get_file(context, &arguments).await,
            FileCommand::Upload => self.upload_file(context, &arguments).await,
        }
    }
}

/// Adds a text extension to a name without an extension.
fn with_extension(name: &str) -> String {
    let name = name.trim();
    if name.is_empty() || name.contains('.') { name.to_owned() } else { format!("{name}.txt") }
}

/// The part of a text within one result, counted in characters.
struct TextPart<'a> {
    text: &'a str,
    start: usize,
    end: usize,
    total: usize,
}

impl<'a> TextPart<'a> {
    fn of(content: &'a str, offset: u64, max_observe: usize) -> Self {
        let total = content.chars().count();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(total);
        let end = (start + max_observe.saturating_sub(FRAME_CHARS).max(100)).min(total);
        let byte_at = |character: usize| {
            content.char_indices().nth(character).map_or(content.len(), |(byte, _)| byte)
        };
        let text = content.get(byte_at(start)..byte_at(end)).unwrap_or_default();
        Self { text, start, end, total }
    }
}

#[cfg(test)]
mod tests;
