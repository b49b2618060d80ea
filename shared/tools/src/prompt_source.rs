//! The prompts of a deployment that stand in the place of ours, out of folders that are read anew while it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use djinn_agents::{FileProblem, ReplacedTemplate, check_replacement, find_near_miss};
use djinn_core::language::Language;
use djinn_runtime::port::text_folder::{
    FolderText, ManifestError, NameDepth, TextFolder, TextFolderError, list_texts,
};
use djinn_runtime::prompt::{ALL, FRAME, Fragment, OwnPrompts};

use crate::known_folders::{KnownFolders, ReadFolder, read_folders};
use crate::local_folder::LocalFolder;

/// What may lie beside the prompts of a folder.
const README: &str = "README.md";

/// Why a deployment's prompts cannot be used. Its text says what to change.
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

/// The prompts of folders: `<folder>/en/react/system.md` stands in the place of ours of that name. Of two
/// folders that have the same, the one that is named later counts.
///
/// A file that is broken when folders are read anew keeps its last good state, or ours is used, and so do the
/// files of a folder that cannot be read; a log line says so.
pub struct PromptSource {
    folders: Vec<Arc<dyn TextFolder>>,
    known: Mutex<KnownPrompts>,
}

/// What was read last.
#[derive(Default)]
struct KnownPrompts {
    folders: KnownFolders,
    /// The last good state of each file, by its path.
    good: BTreeMap<String, OwnPrompt>,
    /// What is wrong, in a sentence each.
    problems: BTreeSet<String>,
}

/// A template, and the one of ours whose place it takes.
#[derive(Clone)]
struct OwnPrompt {
    fragment: Fragment,
    language: Language,
    text: Arc<str>,
}

impl PromptSource {
    /// The prompts of these folders, as they are now where they are asked at the start.
    ///
    /// # Errors
    /// [`PromptSetupError`] for the first file that is broken now.
    pub fn open(folders: Vec<Arc<dyn TextFolder>>) -> Result<(Self, OwnPrompts), PromptSetupError> {
        let mut known = KnownPrompts::default();
        let mut read = Vec::new();
        for folder in &folders {
            if let Some(texts) = folder.read_at_start() {
                let texts = texts?;
                check_texts(&folder.path(), &texts)?;
                read.push(known.folders.update_folder(folder.path(), Ok(texts)));
            }
        }
        let own = known.take_prompts(&read);
        Ok((Self { folders, known: Mutex::new(known) }, own))
    }

    /// The prompts as they are now.
    pub async fn read_prompts(&self) -> OwnPrompts {
        let read = read_folders(&self.folders).await.into_iter();
        let mut known = self.lock_known();
        let before = std::mem::take(&mut known.problems);
        let read: Vec<_> =
            read.map(|(path, texts)| known.folders.update_folder(path, texts)).collect();
        known.problems.extend(read.iter().filter_map(|folder| folder.problem.clone()));
        let own = known.take_prompts(&read);
        known.problems.difference(&before).for_each(|problem| {
            tracing::warn!(problem, "prompts stay as they last were, or ours are used");
        });
        own
    }

    /// What was wrong when they were last read, in sentences for clients too.
    pub fn list_problems(&self) -> Vec<String> {
        self.lock_known().problems.iter().cloned().collect()
    }

    fn lock_known(&self) -> MutexGuard<'_, KnownPrompts> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownPrompts {
    /// The prompts of these folders, of which broken ones are as they last were.
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

/// Fails for the first text of a folder that is no prompt.
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

/// Which of ours a file takes the place of, by its name below its folder.
fn find_fragment(file: &str) -> Result<(Fragment, Language), String> {
    let languages = [Language::En, Language::Zh].into_iter();
    let found = languages.filter_map(|language| {
        Some((file.strip_prefix(language.as_str())?.strip_prefix('/')?, language))
    });
    let Some((name, language)) = found.into_iter().next() else {
        return Err("a prompt lies in `en` or `zh`, as `en/react/system.md` does".to_owned());
    };
    let name = name.strip_suffix(".md").unwrap_or(name);
    if name.starts_with("agents/") {
        return Err("a file of an agent lies in a folder of `DJINN_AGENTS`".to_owned());
    }
    if name == FRAME.name {
        return Err("the frame around what others wrote cannot be changed".to_owned());
    }
    let found = ALL.iter().find(|fragment| fragment.name == name);
    found.map(|fragment| (*fragment, language)).ok_or_else(|| {
        let meant = find_near_miss(name, ALL.iter().map(|fragment| fragment.name));
        let meant = meant.map_or_else(
            || "prompts/README.md lists them".to_owned(),
            |meant| format!("did you mean `{meant}`?"),
        );
        format!("there is no prompt `{name}`: {meant}")
    })
}

/// The manifest of the prompts in a folder, which are checked.
///
/// # Errors
/// [`PromptSetupError`] for the first thing that is wrong.
pub fn make_manifest(folder: &Path) -> Result<String, PromptSetupError> {
    let folder = LocalFolder::new(folder, NameDepth::Group);
    let mut texts = folder.read_at_start().unwrap_or_else(|| Ok(Vec::new()))?;
    texts.retain(|text| text.name != README);
    check_texts(&folder.path(), &texts)?;
    Ok(list_texts(&texts, NameDepth::Group)?)
}

#[cfg(test)]
mod tests;
