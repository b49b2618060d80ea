//! A mode is a file with its work, and a row in each list of modes. Other code asks the mode or the work, and names
//! neither a mode nor a phase of a run.

use syn::Item;

use super::source::{Source, sources};
use super::{none, one};

/// An enum, and the beginnings of the paths that may name its variants.
struct Enumeration {
    name: &'static str,
    file: &'static str,
    homes: &'static [&'static str],
}

const ENUMERATIONS: [Enumeration; 2] = [
    Enumeration {
        name: "Machine",
        file: "shared/core/src/settings.rs",
        homes: &["shared/core/src/run/phase.rs", "shared/protocol/src/mode_support.rs"],
    },
    Enumeration {
        name: "Phase",
        file: "shared/core/src/run/phase.rs",
        homes: &[
            "shared/core/src/run.rs",
            "shared/core/src/run/transition",
            "shared/core/src/run/view.rs",
        ],
    },
];

#[test]
fn modes_and_phases_are_named_in_their_lists() {
    let sources = sources();
    for enumeration in &ENUMERATIONS {
        let home = sources.iter().find(|source| source.path == enumeration.file).unwrap();
        let variants = variants_of(home, enumeration.name);
        assert!(variants.len() > 1, "{variants:?}");
        none(sources.iter().flat_map(|source| enumeration.complaints(source, &variants)));
    }
}

/// The full names of an enum's variants.
fn variants_of(source: &Source, name: &str) -> Vec<String> {
    let variants = source.syntax.items.iter().flat_map(|item| match item {
        Item::Enum(found) if found.ident == name => found.variants.iter().collect(),
        _ => Vec::new(),
    });
    variants.map(|variant| format!("{name}::{}", variant.ident)).collect()
}

impl Enumeration {
    fn complaints(&self, source: &Source, variants: &[String]) -> Vec<String> {
        let path = &source.path;
        if path == self.file || self.homes.iter().any(|home| path.starts_with(home)) {
            return Vec::new();
        }
        let lines = source.text.lines().zip(1..).filter(|(_, line)| !source.is_test(*line));
        let names = |text: &str| variants.iter().find(|variant| has_path(text, variant)).cloned();
        lines
            .filter_map(|(text, line)| {
                let homes = self.homes.join(", ");
                Some(format!("{path}:{line} names `{}`: only {homes} may", names(text)?))
            })
            .collect()
    }
}

/// Whether a line has this path, and not only as a part of other names.
fn has_path(line: &str, path: &str) -> bool {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(path).any(|(at, _)| {
        !line[..at].ends_with(is_name) && !line[at + path.len()..].starts_with(is_name)
    })
}

#[test]
fn a_name_in_another_file_is_noticed() {
    let [mode, _] = &ENUMERATIONS;
    let home = Source::parse(mode.file, "enum Machine { React, PlanSolve }\nenum Other { A }");
    let variants = variants_of(&home, mode.name);
    assert_eq!(variants, ["Machine::React", "Machine::PlanSolve"]);
    let found = |path, text| mode.complaints(&Source::parse(path, text), &variants);
    let text = "fn f(mode: Machine) -> bool {\n    matches!(mode, Machine::PlanSolve)\n}";
    one(found("shared/runtime/src/render.rs", text), "render.rs:2 names `Machine::PlanSolve`");
    none(found("shared/core/src/run/phase.rs", text));
    none(found("a.rs", "fn f() -> Machine {\n    Machine::default()\n}"));
    none(found("a.rs", "fn f() -> FileMode {\n    FileMode::React(Machine::Reacting)\n}"));
    none(found("a.rs", "#[cfg(test)]\nmod tests {\n    const A: Machine = Machine::React;\n}"));
}
