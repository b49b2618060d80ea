//! A variable of ours is named in the tables of `shared/settings` and nowhere else: what reads one, or
//! sets one for another process, does so by its row.

use super::source::{Source, sources};
use super::word::{Word, words};
use super::{none, one};

/// Where names may stand: in the tables, and where functions are measured.
const HOMES: [&str; 2] = ["shared/settings/src/", "infra/bench/src/"];

#[test]
fn variables_are_named_in_their_tables() {
    let sources = sources().into_iter();
    let strangers =
        sources.filter(|source| !HOMES.iter().any(|home| source.path.starts_with(home)));
    none(strangers.flat_map(|source| named_variables(&source)));
}

fn named_variables(source: &Source) -> Vec<String> {
    let is_name = |text: &str| {
        let name = text.trim_matches('"').strip_prefix("DJINN_");
        name.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let literals = words(source).into_iter().filter_map(|(word, line)| match word {
        Word::Literal(text) if is_name(&text) => Some((text, line)),
        _ => None,
    });
    let complain = |(text, line)| {
        let path = &source.path;
        format!("{path}:{line} names {text}: read it by its row in shared/settings")
    };
    literals.map(complain).collect()
}

#[test]
fn a_variable_that_is_read_past_the_tables_is_noticed() {
    let found = |text| named_variables(&Source::parse("a.rs", text));
    one(
        found("fn f() { var(\"DJINN_LIMITS__MAX_STEPS\"); }"),
        "a.rs:1 names \"DJINN_LIMITS__MAX_STEPS\"",
    );
    one(found("const NAME: &str = \"DJINN_AUTH\";"), "names \"DJINN_AUTH\"");
    none(found("/// Reads `DJINN_AUTH`.\nfn f() { g(\"DJINN_AUTH must be set\"); }"));
    none(found("#[cfg(test)]\nmod tests {\n    const N: &str = \"DJINN_AUTH\";\n}\n"));
}
