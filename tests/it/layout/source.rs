//! The workspace's Rust sources.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use proc_macro2::TokenTree;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ImplItem, Item, ItemMod, Lit, Meta};

/// The directories that hold crates.
const CRATES: [&str; 6] = ["examples", "functions", "infra", "shared", "tests", "xtask"];

/// One Rust file: its text and its syntax tree.
pub(super) struct Source {
    /// Its path from the workspace's root.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) syntax: syn::File,
    /// The lines of its `#[cfg(test)]` items, from 1.
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    pub(super) fn parse(path: &str, text: &str) -> Self {
        let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let tests = test_lines(&syntax.items);
        Self { path: path.to_owned(), text: text.to_owned(), syntax, tests }
    }

    /// Whether a line belongs to a test.
    pub(super) fn is_test(&self, line: usize) -> bool {
        self.tests.iter().any(|lines| lines.contains(&line))
    }
}

/// The directory of the workspace, which all paths here begin at.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Every file below a directory of the workspace, by its path from the root.
pub(crate) fn files_below(directory: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root().join(directory)];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(root()).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// Every Rust file of the workspace, tests included, by its path.
pub(super) fn rust_files() -> Vec<String> {
    let files = CRATES.into_iter().flat_map(files_below);
    files.filter(|path| path.ends_with(".rs")).collect()
}

/// Every source file that is part of what is built: no tests, neither in directories of their own
/// nor as `#[cfg(test)] mod tests;`.
pub(super) fn sources() -> Vec<Source> {
    let files = rust_files().into_iter().filter(|path| path.contains("/src/"));
    let read =
        |path: String| Source::parse(&path, &fs::read_to_string(root().join(&path)).unwrap());
    let sources: Vec<_> = files.map(read).collect();
    let tests: BTreeSet<_> = sources.iter().flat_map(test_files).collect();
    let below = |path: &str| tests.iter().any(|test| is_below(path, test));
    sources.into_iter().filter(|source| !below(&source.path)).collect()
}

/// Whether a file is this module's or one of the modules within it.
fn is_below(path: &str, module: &str) -> bool {
    path == module || path.starts_with(&format!("{}/", module.trim_end_matches(".rs")))
}

/// The files that a file's `#[cfg(test)] mod name;` name.
fn test_files(source: &Source) -> Vec<String> {
    let file = Path::new(&source.path);
    let directory = file.parent().unwrap();
    let within = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main") => directory.to_owned(),
        _ => file.with_extension(""),
    };
    let place = |module: &ItemMod| -> PathBuf {
        match module.attrs.iter().find_map(path_attribute) {
            Some(path) => directory.join(path),
            None => within.join(format!("{}.rs", module.ident)),
        }
    };
    let modules = source.syntax.items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && has_cfg_test(&module.attrs) => {
            Some(place(module).display().to_string())
        }
        _ => None,
    });
    modules.collect()
}

fn path_attribute(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("path") => match &meta.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(path) => Some(path.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn test_lines(items: &[Item]) -> Vec<RangeInclusive<usize>> {
    let mut found = Vec::new();
    for item in items {
        if has_cfg_test(attributes(item)) {
            found.push(lines(item.span()));
            continue;
        }
        match item {
            Item::Mod(module) => {
                let items = module.content.as_ref().map(|(_, items)| items.as_slice());
                found.extend(test_lines(items.unwrap_or_default()));
            }
            Item::Impl(block) => found.extend(block.items.iter().filter_map(|item| match item {
                ImplItem::Fn(function) if has_cfg_test(&function.attrs) => {
                    Some(lines(function.span()))
                }
                _ => None,
            })),
            _ => {}
        }
    }
    found
}

/// The lines of a piece of source, from 1.
pub(super) fn lines(span: proc_macro2::Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

/// Whether something is only there in tests: `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn has_cfg_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let mut words = list.tokens.clone().into_iter();
            match (words.next(), words.next()) {
                (Some(TokenTree::Ident(word)), None) => word == "test",
                (Some(TokenTree::Ident(word)), Some(TokenTree::Group(group))) if word == "all" => {
                    group
                        .stream()
                        .into_iter()
                        .any(|word| matches!(&word, TokenTree::Ident(word) if word == "test"))
                }
                _ => false,
            }
        }
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[test]
fn the_workspace_is_found() {
    let paths: BTreeSet<_> = sources().into_iter().map(|source| source.path).collect();
    for path in ["shared/core/src/lib.rs", "functions/agent/src/main.rs", "xtask/src/main.rs"] {
        assert!(paths.contains(path), "{path} is not among {paths:?}");
    }
    assert!(!paths.iter().any(|path| path.contains("/tests/") || path.starts_with("tests/")));
}

#[test]
fn tests_are_told_from_what_is_built() {
    let source = Source::parse(
        "shared/x/src/a.rs",
        "fn built() {}\n#[cfg(test)]\nmod sample;\n#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod b;\n\
         #[cfg(any(test, unix))]\nmod c;\nimpl X {\n    #[cfg(test)]\n    fn d() {}\n}\n\
         #[cfg(test)]\nmod tests {\n}\n",
    );
    let tests: Vec<_> = (1..=15).filter(|line| source.is_test(*line)).collect();
    assert_eq!(tests, [2, 3, 4, 5, 6, 10, 11, 13, 14, 15]);
    assert_eq!(test_files(&source), ["shared/x/src/a/sample.rs", "shared/x/src/b_tests.rs"]);
    assert!(
        is_below("a/sample/deep.rs", "a/sample.rs") && !is_below("a/samples.rs", "a/sample.rs")
    );
}
