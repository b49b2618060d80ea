//! A page for a model, read by the gateway or the sandbox.

use djinn_core::id::FileName;
use djinn_runtime::port::outside::{
    ForeignDocument, OutsideError, PageLink, PageNote, PageProblem, PageTarget, PageText,
};
use djinn_runtime::port::sandbox::{
    ExtractValue, Sandbox, SandboxError, SandboxFile, SandboxJob, SandboxWork,
};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use serde_json::{Value, json};

use crate::job_files::{explain_sandbox_error, job_context, render_error};

/// Maximum number of a page's links shown to a model.
const MAX_TOLD_LINKS: usize = 40;
/// Maximum characters of a link's label.
const MAX_LINK_WORDS: usize = 80;

/// A part of a page.
pub(crate) struct WebPage {
    /// The URL of the page.
    pub(crate) url: String,
    /// The page's title; may be empty.
    pub(crate) title: String,
    /// The part of the text read.
    pub(crate) text: String,
    start: u64,
    total_chars: Option<u64>,
    next_offset: Option<u64>,
    links: Vec<PageLink>,
    notes: Vec<PageNote>,
}

impl WebPage {
    /// Creates the page from the gateway's text, starting at this character.
    pub(crate) fn of_text(page: PageText, start: u64) -> Self {
        let PageText { url, title, text, total_chars, next_offset, links, notes } = page;
        Self { url, title, text, start, total_chars: Some(total_chars), next_offset, links, notes }
    }

    /// Masks the page for this run.
    pub(crate) async fn mask(mut self, context: &ToolContext) -> Self {
        self.title = context.mask_text(self.title).await;
        self.text = context.mask_text(self.text).await;
        self
    }

    /// Returns the values for the page's prompt.
    pub(crate) fn values(&self) -> Value {
        let end = self.start.saturating_add(self.text.chars().count() as u64);
        let links = self.links.iter().take(MAX_TOLD_LINKS).map(|link| {
            let text: String = link.text.chars().take(MAX_LINK_WORDS).collect();
            json!({"text": text, "url": link.url})
        });
        let has = |note: PageNote| self.notes.contains(&note);
        json!({
            "url": self.url, "title": self.title, "text": self.text, "start": self.start, "end": end,
            "total": self.total_chars.unwrap_or(end), "more": self.next_offset.is_some(),
            "next": self.next_offset.unwrap_or_default(), "links": links.collect::<Vec<_>>(),
            "is_cut": has(PageNote::Cut), "no_main_text": has(PageNote::NoMainText),
            "broken_characters": has(PageNote::BrokenCharacters),
        })
    }
}

/// The reason for a failed read of a web document.
pub(crate) enum DocumentProblem {
    /// The sandbox failed.
    Sandbox(SandboxError),
    /// The document has a problem; see [`ExtractValue::problem`].
    Content(String),
}

impl DocumentProblem {
    pub(crate) fn explain(&self, prompts: &Prompts, context: &ToolContext) -> ToolError {
        match self {
            Self::Sandbox(error) => explain_sandbox_error(prompts, context, error),
            Self::Content(problem) => {
                let values = json!({"problem": problem});
                render_error(prompts, context, prompt::DOCUMENT_PROBLEM, values)
            }
        }
    }
}

/// Reads a document in the sandbox.
///
/// # Errors
/// Returns [`DocumentProblem`] if the sandbox fails, or if the document has no text.
pub(crate) async fn read_document(
    sandbox: &dyn Sandbox,
    context: &ToolContext,
    document: ForeignDocument,
    target: &PageTarget,
) -> Result<WebPage, DocumentProblem> {
    let ForeignDocument { url, name: title, content, .. } = document;
    let broken = || DocumentProblem::Content("broken".to_owned());
    let name = FileName::new(title.clone()).map_err(|_| broken())?;
    let work = SandboxWork::Extract {
        name: name.clone(),
        offset: target.offset,
        limit: target.limit,
        language: context.language,
    };
    let job = SandboxJob { work, files: vec![SandboxFile { name, content }], state: Vec::new() };
    let answer = sandbox.run_job(&job_context(context), job).await;
    let answer = answer.map_err(DocumentProblem::Sandbox)?;
    let part: ExtractValue = serde_json::from_value(answer.value).map_err(|_| broken())?;
    if let Some(problem) = part.problem {
        return Err(DocumentProblem::Content(problem));
    }
    Ok(WebPage {
        url,
        title,
        text: part.text,
        start: target.offset,
        total_chars: part.total_chars,
        next_offset: part.next_offset,
        links: Vec::new(),
        notes: Vec::new(),
    })
}

/// Returns a sentence from `prompts/` about an unread page.
pub(crate) fn explain_page_problem(
    prompts: &Prompts,
    context: &ToolContext,
    problem: &PageProblem,
) -> String {
    let status = problem.status.unwrap_or_default();
    let status_kind = match status {
        401..=403 | 407 => "closed",
        404 | 410 => "missing",
        _ => "",
    };
    let values = json!({
        "code": problem.code, "status": status, "status_kind": status_kind, "detail": problem.sentence,
    });
    prompts.render(context.language, prompt::WEB_PAGE_PROBLEM, values)
}

/// Returns the error for the model after a gateway failure.
pub(crate) fn explain_outside_error(
    prompts: &Prompts,
    context: &ToolContext,
    error: &OutsideError,
) -> ToolError {
    let problem = match error {
        OutsideError::Disabled(_) => "disabled",
        OutsideError::Refused(_) => "refused",
        OutsideError::Unavailable(_) => "unavailable",
    };
    tracing::warn!(problem, why = %error, "the gateway did not do a job");
    let values = json!({"problem": problem, "detail": error.to_string()});
    render_error(prompts, context, prompt::WEB_REFUSED, values)
}
