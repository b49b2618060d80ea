//! The two parts of an agent file.

use djinn_core::language::Language;

use crate::problem::Fault;

/// Maximum bytes of an agent file.
pub const MAX_FILE: usize = 64 * 1024;

/// The line before and after the front matter.
const FENCE: &str = "---";

/// An agent file as the deployment provides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentFile<'a> {
    /// The path in problem messages.
    pub path: &'a str,
    /// The whole text of the file.
    pub text: &'a str,
    /// The language of its texts for models.
    pub language: Language,
    /// The default of the key `entry`.
    pub entry: bool,
}

/// Front matter and prompt of a file, with line ends as `\n`.
pub(crate) struct FileParts {
    /// The front matter, with an empty first line for the opening fence, so that its lines match the file's.
    pub(crate) front_matter: String,
    /// The line that closes the front matter.
    pub(crate) end_line: usize,
    /// The prompt, without surrounding white space.
    pub(crate) prompt: String,
    /// The first line of the prompt in the file.
    pub(crate) prompt_line: usize,
}

/// Splits a file into its parts, of which none is empty.
pub(crate) fn split_file(text: &str) -> Result<FileParts, Fault> {
    let parts = split_parts(text)?;
    if parts.prompt.is_empty() {
        return Err(Fault::new(parts.end_line, "no prompt follows the front matter"));
    }
    Ok(parts)
}

/// Splits a file into its parts, of which the second may be empty.
pub(crate) fn split_parts(text: &str) -> Result<FileParts, Fault> {
    if text.len() > MAX_FILE {
        let rule = format!("the file has {} bytes: the limit is {MAX_FILE}", text.len());
        return Err(Fault::new(1, rule));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines = text.split_inclusive('\n');
    if lines.next().is_none_or(|line| line.trim_end() != FENCE) {
        return Err(Fault::new(1, "the file begins without front matter: line 1 must be `---`"));
    }
    let mut front_matter = "\n".to_owned();
    let mut end = 1;
    for line in lines.by_ref() {
        end += 1;
        if line.trim_end() == FENCE {
            let body: String = lines.collect();
            let prompt = body.trim();
            let before = body.len() - body.trim_start().len();
            let blank_lines = body.get(..before).unwrap_or_default().matches('\n').count();
            let prompt = prompt.to_owned();
            let prompt_line = end + 1 + blank_lines;
            return Ok(FileParts { front_matter, end_line: end, prompt, prompt_line });
        }
        front_matter.push_str(line);
    }
    Err(Fault::new(1, "the front matter has no end: a line `---` must close it"))
}
