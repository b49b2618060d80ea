//! The prompts of a deployment's configuration folder in place of ours.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_agents::{FileProblem, ReplacedTemplate, check_replacement};
use djinn_core::language::Language;
use djinn_runtime::port::text_folder::{FolderText, PROMPTS, split_language};
use djinn_runtime::prompt::{ALL, FRAME, Fragment, OwnPrompts};
use djinn_text::near_miss::find_near_miss;

/// The prompts of a deployment, with the last valid state of each file: `prompts/en/react/system.md` replaces our
/// prompt of the same name.
#[derive(Debug, Default)]
pub struct PromptFiles {
    /// The last valid state of each file, by name.
    valid: BTreeMap<String, OwnPrompt>,
}

/// A template, with the replaced prompt of ours.
#[derive(Debug, Clone)]
struct OwnPrompt {
    fragment: Fragment,
    language: Language,
    text: Arc<str>,
}

impl PromptFiles {
    /// Returns the prompts in the texts of a configuration folder at the path `folder`, with the problems of files.
    /// An invalid file keeps its last valid state; without one, our prompt is used.
    pub fn read(&mut self, folder: &str, texts: &[FolderText]) -> (OwnPrompts, Vec<FileProblem>) {
        let mut own = OwnPrompts::default();
        let mut problems = Vec::new();
        for (name, text) in PROMPTS.texts_of(texts) {
            match read_prompt(&text.path_in(folder), name, text) {
                Ok(prompt) => drop(self.valid.insert(text.name.clone(), prompt)),
                Err(problem) => problems.push(problem),
            }
            if let Some(prompt) = self.valid.get(&text.name) {
                own.insert(prompt.fragment, prompt.language, Arc::clone(&prompt.text));
            }
        }
        (own, problems)
    }
}

fn read_prompt(path: &str, name: &str, text: &FolderText) -> Result<OwnPrompt, FileProblem> {
    let problem = |rule: String| FileProblem { path: path.to_owned(), line: 1, rule };
    let (fragment, language) = find_fragment(name).map_err(problem)?;
    let text = text.text.clone().map_err(|rule| problem(format!("it {rule}")))?;
    let other = match language {
        Language::En => Language::Zh,
        Language::Zh => Language::En,
    };
    let ours = ReplacedTemplate {
        text: fragment.template(language),
        other: fragment.template(other),
        max_chars: fragment.max_chars,
        describes_tool: fragment.describes_tool(),
    };
    check_replacement(path, &text, ours)?;
    Ok(OwnPrompt { fragment, language, text })
}

/// Returns our prompt replaced by a file, from its name below the folder.
fn find_fragment(file: &str) -> Result<(Fragment, Language), String> {
    let (Some(language), name) = split_language(file) else {
        return Err("a prompt lies in `en` or `zh`, as `en/react/system.md` does".to_owned());
    };
    let name = name.strip_suffix(".md").unwrap_or(name);
    if name.starts_with("agents/") {
        return Err("an agent's file lies in the folder `agents`".to_owned());
    }
    if name == FRAME.name {
        return Err("the frame around what others wrote cannot be changed".to_owned());
    }
    let fragment = ALL.iter().find(|fragment| fragment.name == name);
    fragment.map(|fragment| (*fragment, language)).ok_or_else(|| {
        let suggestion = find_near_miss(name, ALL.iter().map(|fragment| fragment.name));
        let suggestion = suggestion.map_or_else(
            || "prompts/README.md lists them".to_owned(),
            |suggestion| format!("did you mean `{suggestion}`?"),
        );
        format!("there is no prompt `{name}`: {suggestion}")
    })
}

#[cfg(test)]
mod tests;
