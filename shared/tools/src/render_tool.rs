//! `render`: creates the document of an agent's report.

use std::sync::Arc;

use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ResultView, ToolOutput};
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::sandbox::{
    DocumentFormat, JobEnd, RenderValue, Sandbox, SandboxFile, SandboxJob, SandboxWork,
};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use djinn_runtime::texts::MAX_DESCRIPTION;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::document_templates::DocumentTemplates;
use crate::job_files::{JobFiles, choose_images, explain_sandbox_error, render_error};
use crate::python_tool::{sandbox_tool, strip_fence};
use crate::typed_tool::{ToolDefinition, TypedTool};

/// Maximum characters of a report returned to its caller.
const MAX_BEGINNING: usize = 2_000;
/// Extensions that a requested name may have by mistake.
const ENDINGS: [&str; 9] = ["md", "markdown", "html", "htm", "ppt", "pptx", "doc", "docx", "pdf"];

/// A tool that creates and saves a document from its agent's answer. Agent files call the tool with the
/// answer.
pub struct RenderTool<F> {
    files: Arc<F>,
    prompts: Arc<Prompts>,
    sandbox: Arc<dyn Sandbox>,
    templates: Arc<DocumentTemplates>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderArguments {
    file_type: FileType,
    #[schemars(length(min = 1, max = 200))]
    file_name: String,
    file_description: Option<String>,
    answer: String,
}

/// The form of a document, by JoyAgent's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum FileType {
    Markdown,
    Html,
    Ppt,
    Docx,
    Pptx,
    Pdf,
}

impl FileType {
    /// Returns the format for the sandbox; `None` for Markdown, saved unchanged.
    fn format(self) -> Option<DocumentFormat> {
        match self {
            Self::Markdown => None,
            Self::Html => Some(DocumentFormat::Html),
            Self::Ppt => Some(DocumentFormat::Ppt),
            Self::Docx => Some(DocumentFormat::Docx),
            Self::Pptx => Some(DocumentFormat::Pptx),
            Self::Pdf => Some(DocumentFormat::Pdf),
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html | Self::Ppt => "html",
            Self::Docx => "docx",
            Self::Pptx => "pptx",
            Self::Pdf => "pdf",
        }
    }
}

impl<F: Files + Send + Sync> RenderTool<F> {
    /// Creates the tool: writes documents to `files`, rendered by `sandbox`.
    #[must_use]
    pub fn new(files: Arc<F>, prompts: Arc<Prompts>, sandbox: Arc<dyn Sandbox>) -> Self {
        Self { files, prompts, sandbox, templates: Arc::default() }
    }

    /// Sets the templates of the deployment's documents; the default has none.
    #[must_use]
    pub fn with_templates(self, templates: Arc<DocumentTemplates>) -> Self {
        Self { templates, ..self }
    }

    /// Returns the document's bytes, and the list of missing content.
    async fn make_document(
        &self,
        context: &ToolContext,
        name: &FileName,
        format: DocumentFormat,
        text: &str,
    ) -> Result<(Vec<u8>, RenderValue), ToolError> {
        let job_files = choose_images(&*self.files, context, &*self.sandbox, text).await;
        let JobFiles { mut files, context: job_context, .. } = job_files.map_err(|_| {
            render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({}))
        })?;
        let (theme, theme_files) = self.templates.read_theme(format).await;
        files.extend(theme_files);
        let work = SandboxWork::Render {
            format,
            name: name.clone(),
            text: text.to_owned(),
            title: find_title(name),
            language: context.language,
            theme,
        };
        let job = SandboxJob { work, files, state: Vec::new() };
        let answer = self.sandbox.run_job(&job_context, job).await;
        let answer =
            answer.map_err(|error| explain_sandbox_error(&self.prompts, context, &error))?;
        let value: RenderValue = serde_json::from_value(answer.value).unwrap_or_default();
        for note in value.notes.iter().filter(|note| note.starts_with("theme: ")) {
            tracing::warn!(note, "a file of templates/ is not used");
        }
        let document = answer.products.into_iter().find(|product| product.name == *name);
        match document {
            Some(SandboxFile { content, .. }) if answer.end == JobEnd::Done => Ok((content, value)),
            Some(_) | None => {
                let values = json!({"end": answer.end, "problem": value.problem});
                Err(render_error(&self.prompts, context, prompt::RENDER_PROBLEM, values))
            }
        }
    }

    async fn save_document(
        &self,
        context: &ToolContext,
        name: FileName,
        description: &str,
        content: &[u8],
    ) -> Result<ProductFile, ToolError> {
        let new = NewFile {
            description: prompt::truncate_text(description, MAX_DESCRIPTION),
            internal: false,
            media_type: media_type_of(name.as_str()).to_owned(),
            name,
            uploaded: false,
            writer: context.user.clone(),
        };
        self.files
            .write_file(&context.session, &new, content)
            .await
            .map_err(|_| render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({})))
    }
}

impl<F: Files + Send + Sync> TypedTool for RenderTool<F> {
    type Arguments = RenderArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        let words = self.prompts.describe_tool(language, prompt::TOOL_RENDER);
        sandbox_tool("render", words, EffectClass::Idempotent, self.sandbox.as_ref())
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: RenderArguments,
    ) -> Result<ToolOutput, ToolError> {
        let RenderArguments { file_type, file_name, file_description, answer } = arguments;
        let name = find_file_name(&file_name, file_type).ok_or_else(|| {
            let values = json!({"problem": "name", "end": ""});
            render_error(&self.prompts, context, prompt::RENDER_PROBLEM, values)
        })?;
        let text = strip_fence(&answer);
        let (content, value) = match file_type.format() {
            None => (text.as_bytes().to_vec(), RenderValue::default()),
            Some(format) => self.make_document(context, &name, format, text).await?,
        };
        let description = file_description.unwrap_or_default();
        let file = self.save_document(context, name, &description, &content).await?;
        let beginning: String = text.chars().take(MAX_BEGINNING).collect();
        let details = |kind: &str| {
            let notes = value.notes.iter().filter_map(|note| note.strip_prefix(kind));
            notes.collect::<Vec<_>>().join("; ")
        };
        let is_noted = |note: &str| value.notes.iter().any(|other_note| other_note == note);
        let values = json!({
            "name": file.name, "is_cut": beginning.len() < text.len(), "beginning": beginning,
            "missing_images": value.missing_images.join(", "), "charts": details("chart: "),
            "letters": details("letters: "), "scripts": is_noted("scripts"),
            "addresses": is_noted("addresses"), "cut": is_noted("cut"),
        });
        let rendered_text = self.prompts.render(context.language, prompt::RENDER_RESULT, values);
        let view = ResultView::FileWritten { file: file.clone() };
        Ok(ToolOutput { view, files: vec![file], ..ToolOutput::from_text(rendered_text) })
    }
}

/// Returns the requested name with the extension of the document's type; `None` if no valid name remains.
fn find_file_name(requested_name: &str, file_type: FileType) -> Option<FileName> {
    let last = requested_name.trim().rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = match last.rsplit_once('.') {
        Some((stem, ending))
            if ENDINGS.iter().any(|known_ending| known_ending.eq_ignore_ascii_case(ending)) =>
        {
            stem
        }
        Some(_) | None => last,
    };
    let is_named = stem.chars().any(char::is_alphanumeric);
    let name = format!("{}.{}", stem.trim(), file_type.ending());
    FileName::new(name).ok().filter(|_| is_named)
}

/// Returns the document's title: the name without the extension.
fn find_title(name: &FileName) -> String {
    name.as_str().rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_the_ending_of_its_form() {
        for (wanted, file_type, name) in [
            ("金价报告.md", FileType::Html, Some("金价报告.html")),
            ("report.html", FileType::Html, Some("report.html")),
            ("slides.PPT", FileType::Ppt, Some("slides.html")),
            ("slides", FileType::Pptx, Some("slides.pptx")),
            ("sales v1.2", FileType::Pdf, Some("sales v1.2.pdf")),
            ("../../etc/passwd", FileType::Markdown, Some("passwd.md")),
            (" report .docx ", FileType::Docx, Some("report.docx")),
            (".md", FileType::Markdown, None),
            ("///", FileType::Html, None),
            ("", FileType::Html, None),
        ] {
            let found = find_file_name(wanted, file_type);
            assert_eq!(found.as_ref().map(FileName::as_str), name, "{wanted}");
        }
    }
}
