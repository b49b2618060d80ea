//! The core names neither how it is asked nor what people read: HTTP and the sentences lie above and below it.

use super::source::{Source, sources};
use super::{none, one};

const CORE: &str = "shared/core/src/";

/// The forms in which models write steps, in both languages: each fold of a journal parses them again.
const STEPS: &str = "shared/core/src/plan/";

#[test]
fn the_core_names_neither_http_nor_chinese() {
    let sources = sources();
    let in_core = sources.iter().filter(|source| source.path.starts_with(CORE));
    none(in_core.filter(|source| !source.path.starts_with(STEPS)).flat_map(strange_words));
}

fn strange_words(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    for (line, number) in source.text.lines().zip(1..).filter(|(_, at)| !source.is_test(*at)) {
        let path = &source.path;
        if line.to_lowercase().contains("http") {
            complaints.push(format!(
                "{path}:{number} names HTTP: what an answer says of it is shared/protocol's"
            ));
        }
        if let Some(character) = line.chars().find(|character| is_chinese(*character)) {
            complaints.push(format!(
                "{path}:{number} has `{character}`: what people read is in messages/, and what \
                 they write is read outside"
            ));
        }
    }
    complaints
}

/// Chinese characters and their punctuation, full-width forms included.
fn is_chinese(character: char) -> bool {
    matches!(character, '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

#[test]
fn strange_words_are_noticed() {
    let found = |text| strange_words(&Source::parse("a.rs", text));
    one(found("fn http_status() -> u16 {\n    404\n}\n"), "a.rs:1 names HTTP");
    one(found("const A: &str = \"停止\";"), "a.rs:1 has `停`");
    one(found("/// As in `a.md、b.md`.\nfn f() {}"), "a.rs:1 has `、`");
    none(found("#[cfg(test)]\nmod tests {\n    const A: &str = \"停止\";\n}\n"));
}
