//! The start of a session file as text: read directly, or through the sandbox for other documents.

use djinn_core::file::ProductFile;
use djinn_core::language::Language;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::sandbox::{ExtractValue, Sandbox, SandboxFile, SandboxJob, SandboxWork};
use djinn_runtime::port::tool::ToolContext;
use djinn_runtime::prompt::{self, Prompts};
use djinn_text::truncate::truncate_text;
use serde_json::json;

use crate::job_files::job_context;

/// Maximum bytes of a document for the sandbox.
pub(crate) const MAX_DOCUMENT: u64 = 64 * 1024 * 1024;

/// The beginning of a file.
pub(crate) struct FileText {
    /// The text, masked for the run.
    pub(crate) text: String,
    /// True if the text ends before the file does.
    pub(crate) is_cut: bool,
}

/// Returns a file's text up to `max_bytes`; `None` if the file is not text, or is unreadable.
pub(crate) async fn read_text<F: Files>(
    files: &F,
    sandbox: &dyn Sandbox,
    context: &ToolContext,
    file: &ProductFile,
    max_bytes: usize,
) -> Option<FileText> {
    // An extra byte shows that the text is cut.
    let limit = (max_bytes as u64).saturating_add(1);
    let bytes = files.read_file(&context.session, file, limit).await.ok()?;
    let (text, goes_on) = match decode_text(&bytes) {
        Some(text) => (text.to_owned(), file.size > limit),
        None => extract_text(files, sandbox, context, file, limit).await?,
    };
    let text = context.mask_text(text).await;
    let excerpt = truncate_text(&text, max_bytes);
    Some(FileText { is_cut: goes_on || excerpt.len() < text.len(), text: excerpt })
}

async fn extract_text<F: Files>(
    files: &F,
    sandbox: &dyn Sandbox,
    context: &ToolContext,
    file: &ProductFile,
    limit: u64,
) -> Option<(String, bool)> {
    if file.size > MAX_DOCUMENT.min(sandbox.max_bytes()) {
        return None;
    }
    let content = files.read_file(&context.session, file, file.size).await.ok()?;
    let name = file.name.clone();
    let language = context.language;
    let work = SandboxWork::Extract { name, offset: 0, limit, language };
    let input_files = vec![SandboxFile { name: file.name.clone(), content }];
    let job = SandboxJob { work, files: input_files, state: Vec::new() };
    let answer = sandbox.run_job(&job_context(context), job).await.ok()?;
    let part: ExtractValue = serde_json::from_value(answer.value).ok()?;
    part.problem.is_none().then(|| (part.text, part.next_offset.is_some()))
}

/// Renders a sentence for a model about the sandbox's note; see [`ExtractValue::notes`].
pub(crate) fn render_note(prompts: &Prompts, language: Language, note: &str) -> String {
    let (note, value) = note.split_once(':').unwrap_or((note, ""));
    prompts.render(language, prompt::DOCUMENT_NOTE, json!({"note": note, "value": value}))
}

/// Decodes a file's text; `None` for invalid UTF-8, or for a PDF, possibly all ASCII. A last character cut by
/// the limit is left out.
pub(crate) fn decode_text(bytes: &[u8]) -> Option<&str> {
    if bytes.starts_with(b"%PDF-") {
        return None;
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_text_is_told_from_what_was_cut_in_a_character() {
        assert_eq!(decode_text(b"\xef\xbb\xbfa,b"), Some("a,b"));
        assert_eq!(decode_text("ab界".as_bytes().get(..4).unwrap()), Some("ab"));
        assert_eq!(decode_text(b"\x89PNG\r\n"), None);
        assert_eq!(decode_text(b"%PDF-1.7\n1 0 obj"), None);
        assert_eq!(decode_text(b"a\0b"), None);
    }
}
