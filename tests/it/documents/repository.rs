//! The files of the workspace, and the documents among them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::markdown::Document;

/// Directories that nobody wrote.
const MADE: [&str; 3] = ["target", "node_modules", "__pycache__"];

/// Hidden directories that are part of the workspace.
const HIDDEN: [&str; 2] = [".cargo", ".ci"];

/// Where Markdown is no document: what models read, and what tests compare.
const NO_DOCUMENTS: [&str; 2] = ["prompts/", "tests/"];

/// A workspace, as far as documents speak of it.
pub(super) struct Repository {
    /// The paths of all files and directories from its root.
    pub(super) paths: BTreeSet<String>,
    pub(super) documents: Vec<Document>,
    /// The texts of all Rust files that are built.
    pub(super) code: String,
}

impl Repository {
    /// Reads the workspace that has its root here.
    pub(super) fn read(root: &Path) -> Self {
        let mut paths = BTreeSet::new();
        collect_paths(root, root, &mut paths);
        let read = |path: &String| fs::read_to_string(root.join(path)).unwrap();
        let is_code = |path: &&String| path.ends_with(".rs") && path.contains("/src/");
        let code = paths.iter().filter(is_code).map(read).collect();
        let documents = paths.iter().filter(|path| is_document(path));
        let documents = documents.map(|path| Document::parse(path, &read(path))).collect();
        Self { paths, documents, code }
    }

    /// A workspace of these documents and nothing else.
    pub(super) fn of(documents: &[(&'static str, &str)]) -> Self {
        let with_folders = |path: &'static str| {
            let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            ends.map(|end| path[..end].to_owned()).collect::<Vec<_>>()
        };
        Self {
            paths: documents.iter().flat_map(|(path, _)| with_folders(path)).collect(),
            documents: documents.iter().map(|(path, text)| Document::parse(path, text)).collect(),
            code: String::new(),
        }
    }
}

fn collect_paths(root: &Path, directory: &Path, paths: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_hidden = name.starts_with('.') && !HIDDEN.contains(&name) && path.is_dir();
        if MADE.contains(&name) || is_hidden {
            continue;
        }
        paths.insert(path.strip_prefix(root).unwrap().display().to_string());
        if path.is_dir() {
            collect_paths(root, &path, paths);
        }
    }
}

fn is_document(path: &str) -> bool {
    let within = |folder: &&str| path.starts_with(*folder) || path.contains(&format!("/{folder}"));
    path.ends_with(".md") && !NO_DOCUMENTS.iter().any(within)
}

#[test]
fn documents_are_told_from_what_models_and_tests_read() {
    for path in ["README.md", "docs/adr/0001-a.md", "examples/eval/README.md"] {
        assert!(is_document(path), "{path}");
    }
    for path in ["README.txt", "prompts/README.md", "functions/a/tests/jail/b.md"] {
        assert!(!is_document(path), "{path}");
    }
}

#[test]
fn the_documents_are_found() {
    let repository = Repository::read(crate::layout::root());
    assert!(repository.paths.contains("docs/openapi.json") && repository.paths.contains("docs"));
    let paths: Vec<_> = repository.documents.iter().map(|document| &*document.path).collect();
    assert!(paths.contains(&"README.md") && paths.contains(&"docs/events.md"), "{paths:?}");
}
