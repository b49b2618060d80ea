//! No test looks at a clock: it waits for gates and notifications, or moves a clock of its own. Seconds
//! are `cargo bench-run`'s.

use std::fs;

use super::source::{Source, root, rust_files};
use super::word::{Word, all_words};
use super::{none, one};

/// What tells a real time.
const CLOCKS: [&str; 2] = ["Instant", "SystemTime"];

/// Who may, and why.
const REASONS: [(&str, &str); 5] = [
    ("infra/local/tests/it/store/restart.rs", "sets the time of a file's last change back"),
    ("tests/it/world/throttle.rs", "fills partitions up by the second, as DynamoDB does"),
    ("tests/lambdasim/closing.rs", "measures how long a response is open after the end of its run"),
    ("tests/lambdasim/kills.rs", "measures a life, to spread the kills over it"),
    ("xtask/tests/ask.rs", "measures a life, to spread the kills over it"),
];

#[test]
fn no_test_looks_at_a_clock() {
    let mut named = Vec::new();
    let complaints: Vec<_> = rust_files()
        .into_iter()
        .flat_map(|path| {
            let text = fs::read_to_string(root().join(&path)).unwrap();
            let found = clocks(&Source::parse(&path, &text));
            if !found.is_empty() {
                named.push(path);
            }
            found
        })
        .filter(|complaint| !REASONS.iter().any(|(path, _)| complaint.starts_with(path)))
        .collect();
    none(complaints);
    let idle = REASONS.iter().filter(|(path, _)| !named.iter().any(|name| name == path));
    none(idle.map(|(path, _)| format!("{path} needs no reason: it looks at no clock")));
}

fn clocks(source: &Source) -> Vec<String> {
    let path = &source.path;
    let is_test = |line| {
        path.starts_with("tests/")
            || path.contains("/tests/")
            || path.ends_with("_tests.rs")
            || path.ends_with("/tests.rs")
            || source.is_test(line)
    };
    let words = all_words(source).into_iter();
    let found = words.filter_map(|(word, line)| match word {
        Word::Name(name) if CLOCKS.contains(&name.as_str()) && is_test(line) => Some((name, line)),
        _ => None,
    });
    let complain = |(name, line)| {
        format!("{path}:{line} looks at `{name}`: wait for a gate, or move a clock of the test's")
    };
    found.map(complain).collect()
}

#[test]
fn a_test_that_looks_at_a_clock_is_noticed() {
    let found = |path, text| clocks(&Source::parse(path, text));
    one(found("tests/it/a.rs", "fn f() { let now = std::time::Instant::now(); }"), "`Instant`");
    one(found("shared/a/tests/it/b.rs", "use std::time::SystemTime;"), "`SystemTime`");
    one(
        found("shared/a/src/b_tests.rs", "fn f() { g(tokio::time::Instant::now()); }"),
        "`Instant`",
    );
    one(found("a/src/b.rs", "#[cfg(test)]\nmod tests {\n    use std::time::Instant;\n}\n"), ":3");
    none(found("a/src/b.rs", "use std::time::Instant;\n#[cfg(test)]\nmod tests {}\n"));
    none(found("tests/it/a.rs", "//! An Instant.\nuse std::time::Duration;\n"));
}
