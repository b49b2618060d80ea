//! Every text for people is used: whatever nobody names goes out of `messages/`.

use std::collections::BTreeSet;

use super::none;
use super::source::{Source, sources};
use super::word::{Word, words};

/// The file whose list of wordings is no use of them.
const LIST: &str = "shared/messages/src/wording.rs";

#[test]
fn every_wording_is_used() {
    let sources = sources();
    let list = sources.iter().find(|source| source.path == LIST).unwrap();
    let used: BTreeSet<String> =
        sources.iter().filter(|source| source.path != LIST).flat_map(named_wordings).collect();
    let listed = listed_wordings(list);
    assert!(listed.len() > 50, "{} are found", listed.len());
    none(listed.difference(&used).map(|name| format!("nothing says the wording {name}")));
}

/// The names that are followed by `=` and a text.
fn listed_wordings(source: &Source) -> BTreeSet<String> {
    let words = words(source);
    let listed = words.windows(3).filter_map(|three| match three {
        [(Word::Name(name), _), (Word::Sign('='), _), (Word::Literal(_), _)] => Some(name.clone()),
        _ => None,
    });
    listed.collect()
}

/// The names in `Wording::Name`, and in a table such as `title = PageTitle`.
fn named_wordings(source: &Source) -> BTreeSet<String> {
    let words: Vec<Word> = words(source).into_iter().map(|(word, _)| word).collect();
    let paths = words.windows(4).filter_map(|four| match four {
        [Word::Name(of), Word::Sign(':'), Word::Sign(':'), Word::Name(name)] if of == "Wording" => {
            Some(name.clone())
        }
        _ => None,
    });
    let tables = words.windows(3).filter_map(|three| match three {
        [Word::Name(_), Word::Sign('='), Word::Name(name)] => Some(name.clone()),
        _ => None,
    });
    paths.chain(tables).collect()
}

#[test]
fn a_wording_that_nothing_says_is_noticed() {
    let list =
        Source::parse("a.rs", "wordings! {\n    One = \"a\".\"b\";\n    Two = \"a\".\"c\";\n}");
    assert_eq!(listed_wordings(&list), ["One", "Two"].map(str::to_owned).into());
    let used = named_wordings(&Source::parse("b.rs", "fn f() { Wording::One.text(Other::Two); }"));
    assert_eq!(used, ["One".to_owned()].into());
    let table = named_wordings(&Source::parse("b.rs", "page_texts! { title = Two, }"));
    assert_eq!(table, ["Two".to_owned()].into());
}
