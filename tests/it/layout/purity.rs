//! Some crates are pure: no I/O, no clock, no randomness, no async. Ids and times come in with
//! inputs.

use super::source::{Source, sources};
use super::word::{Word, words};
use super::{none, one};

/// The sources of the pure crates.
const PURE: [&str; 9] = [
    "shared/settings/src/",
    "shared/agents/src/",
    "shared/inflate/src/",
    "shared/messages/src/",
    "shared/outside/src/",
    "shared/text/src/",
    "shared/core/src/",
    "shared/protocol/src/",
    "shared/schema/src/",
];

/// Names that they have no use for, wherever they come from.
const NAMES: [&str; 9] = [
    "Instant",
    "SystemTime",
    "async",
    "await",
    "fastrand",
    "getrandom",
    "rand",
    "tokio",
    "tracing",
];

/// Modules of the standard library that reach outside, or wait.
const MODULES: [&str; 6] = ["env", "fs", "io", "net", "process", "thread"];

#[test]
fn pure_crates_are_pure() {
    let sources: Vec<_> = sources()
        .into_iter()
        .filter(|source| PURE.iter().any(|place| source.path.starts_with(place)))
        .collect();
    for place in PURE {
        assert!(sources.iter().any(|source| source.path.starts_with(place)), "{place} is gone");
    }
    none(sources.iter().flat_map(impure));
}

fn impure(source: &Source) -> Vec<String> {
    let words = words(source);
    let names = words.iter().filter_map(|(word, line)| match word {
        Word::Name(name) if NAMES.contains(&name.as_str()) => Some((name.clone(), *line)),
        _ => None,
    });
    let modules =
        standard_modules(&words).into_iter().filter(|(name, _)| MODULES.contains(&name.as_str()));
    let found = names.chain(modules.map(|(name, line)| (format!("std::{name}"), line)));
    let complain = |(name, line)| {
        let path = &source.path;
        format!("{path}:{line} uses `{name}`: the crate is pure, let it come in with an input")
    };
    found.map(complain).collect()
}

/// The modules named as `std::name` or within `std::{…}`.
fn standard_modules(words: &[(Word, usize)]) -> Vec<(String, usize)> {
    let is =
        |at: usize, sign| matches!(words.get(at), Some((Word::Sign(found), _)) if *found == sign);
    let name = |at: usize| match words.get(at) {
        Some((Word::Name(name), line)) => Some((name.clone(), *line)),
        _ => None,
    };
    let mut found = Vec::new();
    for at in 0..words.len() {
        if name(at).is_none_or(|(name, _)| name != "std") || !is(at + 1, ':') || !is(at + 2, ':') {
            continue;
        }
        found.extend(name(at + 3));
        if !is(at + 3, '{') {
            continue;
        }
        let mut depth = 0;
        for inner in at + 3..words.len() {
            depth += i32::from(is(inner, '{')) - i32::from(is(inner, '}'));
            let starts = is(inner, '{') || is(inner, ',');
            if depth == 1 && starts {
                found.extend(name(inner + 1));
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

#[test]
fn what_is_impure_is_noticed() {
    let found = |text| impure(&Source::parse("a.rs", text));
    for (text, name) in [
        ("use std::time::SystemTime;", "`SystemTime`"),
        ("fn f() { std::time::Instant::now(); }", "`Instant`"),
        ("fn f() { let _ = std::env::var(\"A\"); }", "`std::env`"),
        ("use std::{collections::{BTreeMap, env}, fs as disk};", "`std::fs`"),
        ("use std::{net};", "`std::net`"),
        ("async fn f() {}", "`async`"),
        ("fn f() { g!(rand::random()); }", "`rand`"),
    ] {
        one(found(text), name);
    }
    none(found("//! No tokio, no std::env.\nuse std::time::Duration;\nuse std::{fmt, mem};"));
    none(found("#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"));
}
