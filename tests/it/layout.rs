//! The layout's rules (ARCHITECTURE.md). Each module holds one, and shows that it can be broken.

mod arrow;
mod clock;
mod cycles;
mod decision;
mod modes;
mod modules;
mod names;
mod prompt;
mod purity;
mod settings;
mod size;
mod small_core;
mod source;
mod tasks;
mod vocabulary;
mod walls;
mod word;
mod wordings;

pub(crate) use source::{files_below, root};

/// Fails with every complaint, one a line.
#[track_caller]
fn none(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<_> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Fails unless there is exactly one complaint, and it says this.
#[track_caller]
fn one(complaints: impl IntoIterator<Item = String>, saying: &str) {
    let complaints: Vec<_> = complaints.into_iter().collect();
    match complaints.as_slice() {
        [complaint] if complaint.contains(saying) => {}
        others => panic!("not one complaint with `{saying}` but {others:?}"),
    }
}
