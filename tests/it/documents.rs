//! What people wrote by hand: sentences, links and names in the Markdown files of the workspace.
//!
//! `cargo verify --only docs` runs what they show: commands and pictures.

mod links;
mod markdown;
mod names;
mod prose;
mod repository;
mod sentences;

use std::fmt::Display;

use crate::layout::root;
use markdown::Document;
use repository::Repository;

#[test]
fn sentences_are_short_and_each_has_a_line() {
    none(Repository::read(root()).documents.iter().flat_map(prose::check));
}

#[test]
fn links_lead_somewhere() {
    none(links::check(&Repository::read(root())));
}

#[test]
fn what_is_named_exists() {
    none(names::check(&Repository::read(root())));
}

/// Fails with every complaint, one a line.
#[track_caller]
fn none(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<_> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "{} problems\n{}\n", complaints.len(), complaints.join("\n"));
}

/// What is wrong in a line of a document.
fn complain(document: &Document, line: usize, what: impl Display) -> String {
    format!("{}:{line}: {what}", document.path)
}
