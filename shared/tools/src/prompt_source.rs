//! A deployment's prompts in place of ours, from folders reread while the process runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use djinn_agents::{FileProblem, ReplacedTemplate, check_replacement};
use djinn_core::language::Language;
use djinn_runtime::port::text_folder::{
    FolderText, ManifestError, NameDepth, TextFolder, TextFolderError, list_texts,
};
use djinn_runtime::prompt::{ALL, FRAME, Fragment, OwnPrompts};
use djinn_text::near_miss::find_near_miss;

use crate::known_folders::{KnownFolders, ReadFolder, read_folders};
use crate::local_folder::LocalFolder;

/// The only other file allowed beside a folder's prompts.
const README: &str = "README.md";

/// An error in a deployment's prompts. The text includes the remedy.
#[derive(Debug, thiserror::Error)]
pub enum PromptSetupError {
    /// A folder cannot be read.
    #[error(transparent)]
    Folder(#[from] TextFolderError),
    /// A file breaks a rule.
    #[error(transparent)]
    File(#[from] FileProblem),
    /// The files cannot be listed in a manifest.
    #[error("the manifest {0}")]
    Manifest(#[from] ManifestError),
}

/// The prompts of folders: `<folder>/en/react/system.md` replaces our prompt of the same name. Of two folders
/// with the same prompt, the later folder counts.
///
/// A file broken at a later read keeps its last valid state, or our prompt is used; the same holds for the
/// files of an unreadable folder. Each case is logged.
pub struct PromptSource {
    folders: Vec<Arc<dyn TextFolder>>,
    known_prompts: Mutex<KnownPrompts>,
}

/// The last state read.
#[derive(Default)]
struct KnownPrompts {
    folders: KnownFolders,
    /// The last valid state of each file, by path.
    good: BTreeMap<String, OwnPrompt>,
    /// The current problems, each as a sentence.
    problems: BTreeSet<String>,
}

/// A template, with the replaced prompt of ours.
#[derive(Clone)]
struct OwnPrompt {
    fragment: Fragment,
    language: Language,
    text: Arc<str>,
}

impl PromptSource {
    /// Opens the prompts of these folders, with the current prompts of all folders readable at the start.
    ///
    /// # Errors
    /// Returns [`PromptSetupError`] for the first broken file.
    pub fn open(folders: Vec<Arc<dyn TextFolder>>) -> Result<(Self, OwnPrompts), PromptSetupError> {
        let mut known_prompts = KnownPrompts::default();
        let mut folder_updates = Vec::new();
        for folder in &folders {
            if let Some(texts) = folder.read_at_start() {
                let texts = texts?;
                check_texts(&folder.path(), &texts)?;
                folder_updates.push(known_prompts.folders.update_folder(folder.path(), Ok(texts)));
            }
        }
        let own = known_prompts.take_prompts(&folder_updates);
        Ok((Self { folders, known_prompts: Mutex::new(known_prompts) }, own))
    }

    /// Returns the current prompts.
    pub async fn read_prompts(&self) -> OwnPrompts {
        let folder_texts = read_folders(&self.folders).await.into_iter();
        let mut known_prompts = self.lock_known();
        let before = std::mem::take(&mut known_prompts.problems);
        let folder_texts: Vec<_> = folder_texts
            .map(|(path, texts)| known_prompts.folders.update_folder(path, texts))
            .collect();
        known_prompts
            .problems
            .extend(folder_texts.iter().filter_map(|folder| folder.problem.clone()));
        let own = known_prompts.take_prompts(&folder_texts);
        known_prompts.problems.difference(&before).for_each(|problem| {
            tracing::warn!(problem, "prompts stay as they last were, or ours are used");
        });
        own
    }

    /// Returns the problems of the last read, as sentences fit for clients.
    pub fn list_problems(&self) -> Vec<String> {
        self.lock_known().problems.iter().cloned().collect()
    }

    fn lock_known(&self) -> MutexGuard<'_, KnownPrompts> {
        self.known_prompts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownPrompts {
    /// Returns the prompts of these folders, with the last valid state of broken files.
    fn take_prompts(&mut self, folders: &[ReadFolder]) -> OwnPrompts {
        let mut own = OwnPrompts::default();
        for ReadFolder { path: folder, texts, .. } in folders {
            for text in texts.iter().filter(|text| text.name != README) {
                let path = text.path_in(folder);
                match read_prompt(&path, text) {
                    Ok(prompt) => drop(self.good.insert(path.clone(), prompt)),
                    Err(problem) => drop(self.problems.insert(problem.to_string())),
                }
                if let Some(OwnPrompt { fragment, language, text }) = self.good.get(&path).cloned()
                {
                    own.insert(fragment, language, text);
                }
            }
        }
        own
    }
}

/// Returns an error for a folder's first text that is not a prompt.
fn check_texts(folder: &str, texts: &[FolderText]) -> Result<(), FileProblem> {
    let mut prompts = texts.iter().filter(|text| text.name != README);
    prompts.try_for_each(|text| read_prompt(&text.path_in(folder), text).map(drop))
}

fn read_prompt(
    path: &str,
    FolderText { name, text }: &FolderText,
) -> Result<OwnPrompt, FileProblem> {
    let problem = |rule: String| FileProblem { path: path.to_owned(), line: 1, rule };
    let (fragment, language) = find_fragment(name).map_err(problem)?;
    let text = text.clone().map_err(|rule| problem(format!("it {rule}")))?;
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
    let languages = [Language::En, Language::Zh].into_iter();
    let candidates = languages.filter_map(|language| {
        Some((file.strip_prefix(language.as_str())?.strip_prefix('/')?, language))
    });
    let Some((name, language)) = candidates.into_iter().next() else {
        return Err("a prompt lies in `en` or `zh`, as `en/react/system.md` does".to_owned());
    };
    let name = name.strip_suffix(".md").unwrap_or(name);
    if name.starts_with("agents/") {
        return Err("a file of an agent lies in a folder of `DJINN_AGENTS`".to_owned());
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

/// Returns the manifest of a folder's prompts, after checks.
///
/// # Errors
/// Returns [`PromptSetupError`] for the first error.
pub fn make_manifest(folder: &Path) -> Result<String, PromptSetupError> {
    let folder = LocalFolder::new(folder, NameDepth::Group);
    let mut texts = folder.read_at_start().unwrap_or_else(|| Ok(Vec::new()))?;
    texts.retain(|text| text.name != README);
    check_texts(&folder.path(), &texts)?;
    Ok(list_texts(&texts, NameDepth::Group)?)
}

#[cfg(test)]
mod tests;
