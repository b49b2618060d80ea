//! Files and directories of the workspace.

use super::super::markdown::Document;
use super::super::repository::Repository;
use super::{none, problems_of};

/// What only the code of this workspace ends with, wherever it stands.
const ENDINGS: [&str; 4] = [".rs", ".toml", ".py", ".mjs"];

/// Names that are told not to be given.
const NOWHERE: [&str; 2] = ["mod.rs", "theme.toml"];

/// A file or directory that is written as a path and is not there.
///
/// What begins with an entry of the root is one, and what ends as a source does. Its first directories may be left
/// out.
pub(super) fn missing_path(
    repository: &Repository,
    document: &Document,
    span: &str,
) -> Option<String> {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || "_./{},-".contains(c);
    let first = span.split('/').next()?;
    let is_ours = span.contains('/') && repository.paths.contains(first);
    let is_source = ENDINGS.iter().any(|ending| span.ends_with(ending));
    let elsewhere = span.starts_with(['/', '.']) && !is_ours;
    let is_none = NOWHERE.contains(&span) || is_pattern(span) || !span.chars().all(is_sign);
    if !(is_ours || is_source) || elsewhere || is_none {
        return None;
    }
    let missing = expand(span).into_iter().find(|path| !has_path(repository, document, path));
    missing.map(|path| format!("there is no {path}"))
}

/// Whether a part of a path stands for others: NAME, or NNNN.
fn is_pattern(span: &str) -> bool {
    let is_capital = |part: &str| {
        let stem = part.split(['.', '-']).next().unwrap_or_default();
        stem.len() >= 3 && stem.chars().all(|c| c.is_ascii_uppercase())
    };
    let known = ["LICENSE", "README", "SECURITY", "CHANGELOG", "ARCHITECTURE", "CONTRIBUTING"];
    span.split('/').any(|part| is_capital(part) && !known.iter().any(|name| part.starts_with(name)))
}

/// Every path that one with `{a,b}` stands for.
fn expand(path: &str) -> Vec<String> {
    let braces = path.split_once('{').and_then(|(before, rest)| {
        let (list, behind) = rest.split_once('}')?;
        Some((before, list, behind))
    });
    match braces {
        None => vec![path.trim_end_matches('/').to_owned()],
        Some((before, list, behind)) => {
            let paths = list.split(',').map(|item| format!("{before}{}{behind}", item.trim()));
            paths.flat_map(|path| expand(&path)).collect()
        }
    }
}

fn has_path(repository: &Repository, document: &Document, path: &str) -> bool {
    let beside = document.path.rsplit_once('/').map(|(folder, _)| format!("{folder}/{path}"));
    let end = format!("/{path}");
    let is_there = |path: &str| repository.paths.contains(path);
    is_there(path)
        || beside.is_some_and(|path| is_there(&path))
        || repository.paths.iter().any(|known| known.ends_with(&end))
}

#[test]
fn files_are_found_by_their_ends() {
    for (path, paths) in [
        ("a/b.rs", &["a/b.rs"][..]),
        ("a/{b,c}/d.rs", &["a/b/d.rs", "a/c/d.rs"]),
        ("a/{b, c}/{d,e}/", &["a/b/d", "a/b/e", "a/c/d", "a/c/e"]),
    ] {
        assert_eq!(expand(path), paths, "{path}");
    }
    for text in [
        "`shared/core/src/run.rs`, `core/src/run.rs`, `run.rs` and `src/{run,run}.rs`.",
        "`docs/NAME.md`, `text/plain`, `a/b`, `.djinn/a.toml`, `mod.rs` and `growth.md`.",
    ] {
        none(problems_of(text));
    }
    for (text, problem) in [
        ("`docs/b.md`.", "there is no docs/b.md"),
        ("`core/src/{run,runs}.rs`.", "there is no core/src/runs.rs"),
        ("`un.rs`.", "there is no un.rs"),
    ] {
        let problems = problems_of(text);
        assert!(
            matches!(&problems[..], [found] if found.contains(problem)),
            "{problem}: {problems:?}"
        );
    }
}
