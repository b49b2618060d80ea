//! The files of a run: readable files, and files that the run wrote.

use std::collections::BTreeSet;

use djinn_text::deliverables::{Deliverables, find_names};

use crate::file::{FileList, ProductFile};

/// Maximum files written by a run that its next children see, so that each child's spec does not grow with
/// the plan. Older files can still be read by name.
const MAX_PRODUCED_FILES: usize = 200;

/// The files of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunFiles {
    readable: FileList,
    produced: FileList,
    /// The ids of the messages by which users added files.
    seen_ids: BTreeSet<String>,
}

impl RunFiles {
    /// Creates the file lists of a new run.
    pub(super) fn of(files: &[ProductFile]) -> Self {
        Self {
            readable: FileList::of(files.iter().cloned()),
            produced: FileList::default(),
            seen_ids: BTreeSet::new(),
        }
    }

    pub(super) fn readable(&self) -> &FileList {
        &self.readable
    }

    /// Returns the files that the run and its children wrote.
    pub(super) fn produced(&self) -> &FileList {
        &self.produced
    }

    /// Adds a user's file from the message with this id. Returns true if the message is new.
    pub(super) fn add_users_file(&mut self, id: &str, file: &ProductFile) -> bool {
        let is_new = self.seen_ids.insert(id.to_owned());
        if is_new {
            self.readable.insert(file.clone());
        }
        is_new
    }

    /// Adds files that the run or one of its children wrote.
    pub(super) fn add_produced(&mut self, files: &[ProductFile]) {
        for file in files {
            self.readable.insert(file.clone());
            self.produced.insert(file.clone());
        }
    }

    /// Returns the files for a new child: the users' files and the newest files that the run wrote.
    pub(super) fn list_for_child(&self) -> Vec<ProductFile> {
        let produced_files = self.produced.all();
        let old = produced_files
            .get(..produced_files.len().saturating_sub(MAX_PRODUCED_FILES))
            .unwrap_or_default();
        let old: BTreeSet<_> = old.iter().map(|file| &file.name).collect();
        self.readable.all().iter().filter(|file| !old.contains(&file.name)).cloned().collect()
    }

    /// Returns the names of all files.
    pub(super) fn deliverables(&self) -> Deliverables {
        Deliverables::of(self.readable.all().iter().map(|file| file.name.to_string()).collect())
    }

    /// Returns the run's files that a user sees, newest first.
    pub(super) fn list_offered(&self) -> Vec<ProductFile> {
        self.produced.deliverable_files()
    }

    /// Returns the files in a summary's list, in the order of the list, as in `growth.md, growth.csv`.
    /// Without a match, returns every file that a user sees, newest first.
    pub(super) fn find_listed(&self, names: &str) -> Vec<ProductFile> {
        let offered_files = self.list_offered();
        let mut files: Vec<ProductFile> = Vec::new();
        for (part, name) in self.deliverables().split_list(names) {
            let exactly = offered_files.iter().find(|file| file.name.as_str() == name);
            let file_names = exactly.map_or_else(|| self.names_in(part), |_| Vec::new());
            let named_files =
                offered_files.iter().filter(|file| file_names.contains(&file.name.as_str()));
            for file in exactly.into_iter().chain(named_files) {
                if !files.contains(file) {
                    files.push(file.clone());
                }
            }
        }
        if files.is_empty() { offered_files } else { files }
    }

    /// Returns the run's files that a text names, newest first. Without a match, returns every file that a
    /// user sees.
    pub(super) fn find_named(&self, text: &str) -> Vec<ProductFile> {
        let offered_files = self.list_offered();
        let names = self.names_in(text);
        let has_name = |file: &&ProductFile| names.contains(&file.name.as_str());
        let files: Vec<ProductFile> = offered_files.iter().filter(has_name).cloned().collect();
        if files.is_empty() { offered_files } else { files }
    }

    /// Returns those of these files that a text names, newest first. Without a match, returns all of them.
    pub(super) fn find_named_among(&self, text: &str, files: &[ProductFile]) -> Vec<ProductFile> {
        let names = self.names_in(text);
        let newest_first = || files.iter().rev();
        let named = newest_first().filter(|file| names.contains(&file.name.as_str()));
        let named: Vec<ProductFile> = named.cloned().collect();
        if named.is_empty() { newest_first().cloned().collect() } else { named }
    }

    /// Returns the names of readable files in a text.
    fn names_in(&self, text: &str) -> Vec<&str> {
        find_names(text, self.readable.all().iter().map(|file| file.name.as_str()).collect())
    }

    /// Returns the same files with other descriptions, for the model view.
    pub(super) fn with_view(&self, view: impl Fn(&[ProductFile]) -> FileList) -> Self {
        Self {
            readable: view(self.readable.all()),
            produced: view(self.produced.all()),
            seen_ids: self.seen_ids.clone(),
        }
    }
}
