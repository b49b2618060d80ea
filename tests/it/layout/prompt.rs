//! Every prompt is there in every language.

use std::collections::BTreeSet;

use super::source::files_below;
use super::{none, one};

#[test]
fn every_prompt_has_its_twin() {
    let (en, zh) = (files_below("prompts/en"), files_below("prompts/zh"));
    assert!(!en.is_empty(), "there are no prompts");
    none(alone(&en, &zh));
}

fn alone(en: &[String], zh: &[String]) -> Vec<String> {
    let names = |files: &[String]| -> BTreeSet<String> {
        let name = |path: &String| path.splitn(3, '/').nth(2).map(str::to_owned);
        files.iter().filter_map(name).collect()
    };
    let (en, zh) = (names(en), names(zh));
    let complain = |name: &String| {
        let (there, missing) = if en.contains(name) { ("en", "zh") } else { ("zh", "en") };
        format!("prompts/{there}/{name} has no twin: write prompts/{missing}/{name}")
    };
    en.symmetric_difference(&zh).map(complain).collect()
}

#[test]
fn a_prompt_without_its_twin_is_noticed() {
    let files = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    let both = files(&["prompts/en/a/b.md"]);
    none(alone(&both, &files(&["prompts/zh/a/b.md"])));
    one(alone(&both, &[]), "prompts/en/a/b.md has no twin: write prompts/zh/a/b.md");
    one(alone(&[], &files(&["prompts/zh/c.md"])), "write prompts/en/c.md");
}
