//! A deployment's own templates, which stand in the place of ours.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_core::id::sha256_hex;
use djinn_core::language::Language;

use super::Fragment;

/// Templates by the fragment whose place they take, each in one language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnPrompts(BTreeMap<(&'static str, Language), Arc<str>>);

impl OwnPrompts {
    /// Puts a template in the place of ours, and of one that was put there before.
    pub fn insert(&mut self, fragment: Fragment, language: Language, text: Arc<str>) {
        self.0.insert((fragment.name, language), text);
    }

    /// The template that stands in the place of ours, if one does.
    pub(super) fn find_text(&self, fragment: Fragment, language: Language) -> Option<Arc<str>> {
        self.0.get(&(fragment.name, language)).cloned()
    }

    /// The version of all templates where ours are of the version `shipped`.
    pub(super) fn version(&self, shipped: &str) -> String {
        if self.0.is_empty() {
            return shipped.to_owned();
        }
        let own = self.0.iter().map(|((name, language), text)| {
            format!("{name}\0{}\0{}\0", language.as_str(), sha256_hex(text.as_bytes()))
        });
        let all: Vec<String> = std::iter::once(format!("{shipped}\0")).chain(own).collect();
        sha256_hex(all.concat().as_bytes())
    }
}
