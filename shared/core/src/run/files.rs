//! The files of a run: those that it can read, and those that it wrote.

use std::collections::BTreeSet;

use djinn_text::deliverables::{Deliverables, find_names};

use crate::file::{FileList, ProductFile};

/// Files that a run made which its next children are told of: what each starts with must not grow with the
/// plan. Older ones can still be read by their names.
const MAX_PRODUCED_FILES: usize = 200;

/// The files of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunFiles {
    readable: FileList,
    produced: FileList,
    /// The messages by which users added files.
    seen_ids: BTreeSet<String>,
}

impl RunFiles {
    /// The files of a run that starts with these.
    pub(super) fn of(files: &[ProductFile]) -> Self {
        Self {
            readable: FileList::of(files.iter().cloned()),
            produced: FileList::default(),
            seen_ids: BTreeSet::new(),
        }
    }

    /// Every file that can be read.
    pub(super) fn readable(&self) -> &FileList {
        &self.readable
    }

    /// The files that the run wrote, its children included.
    pub(super) fn produced(&self) -> &FileList {
        &self.produced
    }

    /// A user added a file, as the message of this id says. Whether that is news.
    pub(super) fn add_users_file(&mut self, id: &str, file: &ProductFile) -> bool {
        let is_new = self.seen_ids.insert(id.to_owned());
        if is_new {
            self.readable.insert(file.clone());
        }
        is_new
    }

    /// The run or one of its children wrote these.
    pub(super) fn add_produced(&mut self, files: &[ProductFile]) {
        for file in files {
            self.readable.insert(file.clone());
            self.produced.insert(file.clone());
        }
    }

    /// The user's files, and the newest that the run made: those that a child starts with.
    pub(super) fn list_for_child(&self) -> Vec<ProductFile> {
        let made = self.produced.all();
        let old = made.get(..made.len().saturating_sub(MAX_PRODUCED_FILES)).unwrap_or_default();
        let old: BTreeSet<_> = old.iter().map(|file| &file.name).collect();
        self.readable.all().iter().filter(|file| !old.contains(&file.name)).cloned().collect()
    }

    /// The names of all files.
    pub(super) fn deliverables(&self) -> Deliverables {
        Deliverables::of(self.readable.all().iter().map(|file| file.name.to_string()).collect())
    }

    /// The files the run wrote that a user is offered, newest first.
    pub(super) fn list_offered(&self) -> Vec<ProductFile> {
        self.produced.deliverable_files()
    }

    /// The files that a summary lists, in its order, as in `growth.md, growth.csv`. Without a match, every
    /// file that a user would be offered, newest first.
    pub(super) fn find_listed(&self, names: &str) -> Vec<ProductFile> {
        let offered = self.list_offered();
        let mut files: Vec<ProductFile> = Vec::new();
        for (part, name) in self.deliverables().split_list(names) {
            let exactly = offered.iter().find(|file| file.name.as_str() == name);
            let named = exactly.map_or_else(|| self.names_in(part), |_| Vec::new());
            let named = offered.iter().filter(|file| named.contains(&file.name.as_str()));
            for file in exactly.into_iter().chain(named) {
                if !files.contains(file) {
                    files.push(file.clone());
                }
            }
        }
        if files.is_empty() { offered } else { files }
    }

    /// The files the run wrote that a text names, newest first. Without any, every file that a user would
    /// be offered.
    pub(super) fn find_named(&self, text: &str) -> Vec<ProductFile> {
        let (offered, named) = (self.list_offered(), self.names_in(text));
        let is_named = |file: &&ProductFile| named.contains(&file.name.as_str());
        let files: Vec<ProductFile> = offered.iter().filter(is_named).cloned().collect();
        if files.is_empty() { offered } else { files }
    }

    /// The names of readable files that a text holds.
    fn names_in(&self, text: &str) -> Vec<&str> {
        find_names(text, self.readable.all().iter().map(|file| file.name.as_str()).collect())
    }

    /// The same files with other words about them: as the model sees them.
    pub(super) fn with_view(&self, view: impl Fn(&[ProductFile]) -> FileList) -> Self {
        Self {
            readable: view(self.readable.all()),
            produced: view(self.produced.all()),
            seen_ids: self.seen_ids.clone(),
        }
    }
}
