//! Decisions are short pages that are numbered.

use std::fs;

use super::source::{files_below, root};
use super::{none, one};

/// Lines of a page.
const PAGE: usize = 40;

/// The list of all pages, which is none.
const INDEX: &str = "docs/adr/README.md";

const PARTS: [&str; 3] = ["## Context", "## Decision", "## Consequences"];

#[test]
fn every_decision_is_a_short_page_with_its_number() {
    let mut pages = files_below("docs/adr");
    pages.retain(|path| path != INDEX);
    assert!(!pages.is_empty(), "there are no decisions");
    for (number, path) in (1..).zip(&pages) {
        let text = fs::read_to_string(root().join(path)).unwrap();
        none(complaints(number, path, &text));
    }
}

fn complaints(number: usize, path: &str, text: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    let problems = [
        (!name.starts_with(&format!("{number:04}-")), "its name does not begin with its number"),
        (!text.starts_with(&format!("# {number}. ")), "its title does not begin with its number"),
        (text.lines().count() > PAGE, "it is longer than 40 lines"),
        (headings != PARTS, "its parts are context, decision, consequences"),
    ];
    let problems = problems.into_iter().filter(|(is_there, _)| *is_there);
    problems.map(|(_, problem)| format!("{path}: {problem}")).collect()
}

#[test]
fn a_page_of_another_form_is_noticed() {
    let page = format!("# 1. It is so\n\n{}\n", PARTS.join("\n\n"));
    none(complaints(1, "docs/adr/0001-it-is-so.md", &page));
    one(complaints(1, "docs/adr/0002-it-is-so.md", &page), "its name");
    one(complaints(1, "docs/adr/0001-it-is-so.md", &page.replace("1.", "2.")), "its title");
    one(complaints(1, "docs/adr/0001-it-is-so.md", &(page.clone() + &"\n".repeat(40))), "longer");
    one(complaints(1, "docs/adr/0001-it-is-so.md", &page.replace("## Decision\n", "")), "parts");
}
