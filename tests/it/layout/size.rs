//! Files and functions stay small enough to be read at once, and `foo.rs` stands beside `foo/`.

use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use super::source::{Source, lines, rust_files, sources};
use super::{none, one};

/// The most lines of a file, tests not counted.
const FILE: usize = 400;

/// The most lines of a function, from `fn` to its closing brace.
const FUNCTION: usize = 60;

#[test]
fn files_and_functions_are_small() {
    none(sources().iter().flat_map(too_long));
}

#[test]
fn no_module_is_called_mod() {
    none(called_mod(&rust_files()));
}

fn too_long(source: &Source) -> Vec<String> {
    let path = &source.path;
    let count = (1..=source.text.lines().count()).filter(|line| !source.is_test(*line)).count();
    let mut found = Functions { source, long: Vec::new() };
    found.visit_file(&source.syntax);
    let mut complaints = found.long;
    if count > FILE {
        complaints.push(format!(
            "{path} has {count} lines without its tests, and {FILE} are the most: move a part into \
             a module of its own"
        ));
    }
    complaints
}

struct Functions<'a> {
    source: &'a Source,
    long: Vec<String>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &Signature, block: &Block) {
        let first = signature.fn_token.span.start().line;
        let count = lines(block.brace_token.span.close()).end() + 1 - first;
        if count > FUNCTION && !self.source.is_test(first) {
            let (path, name) = (&self.source.path, &signature.ident);
            self.long.push(format!(
                "{path}:{first} `{name}` has {count} lines, and {FUNCTION} are the most: give a \
                 part of it a name"
            ));
        }
    }
}

impl<'a> Visit<'a> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'a ImplItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'a TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn called_mod(files: &[String]) -> Vec<String> {
    let found = files.iter().filter(|path| path.ends_with("/mod.rs"));
    found.map(|path| format!("{path}: name it after its directory and put it beside it")).collect()
}

#[test]
fn a_long_file_is_noticed_and_its_tests_do_not_count() {
    let tests = "#[cfg(test)]\nmod tests {\n    const A: u8 = 1;\n}\n";
    let fits = Source::parse("a.rs", &("//\n".repeat(FILE) + tests));
    none(too_long(&fits));
    let long = Source::parse("a.rs", &("//\n".repeat(FILE + 1) + tests));
    one(too_long(&long), "a.rs has 401 lines without its tests");
}

#[test]
fn a_long_function_is_noticed_wherever_it_stands() {
    let body = |lines: usize| "    ;\n".repeat(lines);
    let function = |lines| format!("/// Doc.\nfn f() {{\n{}}}\n", body(lines - 2));
    none(too_long(&Source::parse("a.rs", &function(FUNCTION))));
    one(too_long(&Source::parse("a.rs", &function(FUNCTION + 1))), "a.rs:2 `f` has 61 lines");
    let method = format!("impl A {{\n{}}}\n", function(FUNCTION + 1));
    one(too_long(&Source::parse("a.rs", &method)), "a.rs:3 `f`");
    let provided = format!("trait A {{\n{}}}\n", function(FUNCTION + 1));
    one(too_long(&Source::parse("a.rs", &provided)), "a.rs:3 `f`");
    let test = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(FUNCTION + 1));
    none(too_long(&Source::parse("a.rs", &test)));
}

#[test]
fn a_module_called_mod_is_noticed() {
    one(called_mod(&["a/b/mod.rs".to_owned(), "a/model.rs".to_owned()]), "a/b/mod.rs");
}
