//! The texts by key, from the two files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::language::Language;

/// The texts of one language, by section and key.
type Texts = BTreeMap<&'static str, BTreeMap<&'static str, String>>;

static EN: LazyLock<Texts> =
    LazyLock::new(|| read_texts(include_str!("../../../messages/en.toml")));
static ZH: LazyLock<Texts> =
    LazyLock::new(|| read_texts(include_str!("../../../messages/zh.toml")));

/// Returns the text of a key in a section, with placeholders.
#[must_use]
pub fn find_text(section: &str, key: &str, language: Language) -> Option<&'static str> {
    texts_of(language).get(section)?.get(key).map(String::as_str)
}

/// Returns all sections and keys of a language.
pub fn keys(language: Language) -> impl Iterator<Item = (&'static str, &'static str)> {
    texts_of(language).iter().flat_map(|(section, texts)| texts.keys().map(|key| (*section, *key)))
}

fn texts_of(language: Language) -> &'static Texts {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}

/// Parses the subset of TOML used by the files: sections, comments, and a text per line. A full TOML library
/// would be larger than the texts. A test compares both parsers.
fn read_texts(file: &'static str) -> Texts {
    let mut section = "";
    let mut texts = Texts::new();
    for line in file.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        } else if let Some((key, text)) = line.split_once(" = ")
            && let Some(text) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))
        {
            texts.entry(section).or_default().insert(key, text.replace("\\\"", "\""));
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::wording::placeholders;

    #[test]
    fn both_files_are_read_as_toml_is() {
        for language in [Language::En, Language::Zh] {
            let file = match language {
                Language::En => include_str!("../../../messages/en.toml"),
                Language::Zh => include_str!("../../../messages/zh.toml"),
            };
            let sections: BTreeMap<String, BTreeMap<String, String>> =
                toml::from_str(file).unwrap();
            let read: BTreeMap<String, BTreeMap<String, String>> = texts_of(language)
                .iter()
                .map(|(section, texts)| {
                    let owned = texts.iter().map(|(key, text)| ((*key).to_owned(), text.clone()));
                    ((*section).to_owned(), owned.collect())
                })
                .collect();
            assert_eq!(read, sections);
            assert!(read.values().flat_map(BTreeMap::values).all(|text| !text.is_empty()));
        }
    }

    #[test]
    fn both_languages_have_the_same_keys_with_the_same_placeholders() {
        let of = |language| keys(language).collect::<BTreeSet<_>>();
        assert_eq!(of(Language::En), of(Language::Zh));
        for (section, key) in keys(Language::En) {
            let names = |language| {
                let text = find_text(section, key, language).unwrap();
                placeholders(text).collect::<BTreeSet<_>>()
            };
            assert_eq!(names(Language::En), names(Language::Zh), "{section}.{key}");
        }
    }
}
