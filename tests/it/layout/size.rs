//! Files stay small enough to be read at once, and `foo.rs` stands beside `foo/`.

use super::source::{Source, rust_files, sources};
use super::{none, one};

/// The most lines of a file, tests not counted.
const FILE: usize = 400;

#[test]
fn files_are_small() {
    none(sources().iter().flat_map(too_long));
}

#[test]
fn no_module_is_called_mod() {
    none(called_mod(&rust_files()));
}

fn too_long(source: &Source) -> Vec<String> {
    let path = &source.path;
    let count = (1..=source.text.lines().count()).filter(|line| !source.is_test(*line)).count();
    let mut complaints = Vec::new();
    if count > FILE {
        complaints.push(format!(
            "{path} has {count} lines without its tests, and {FILE} are the most: move a part into \
             a module of its own"
        ));
    }
    complaints
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
fn a_module_called_mod_is_noticed() {
    one(called_mod(&["a/b/mod.rs".to_owned(), "a/model.rs".to_owned()]), "a/b/mod.rs");
}
