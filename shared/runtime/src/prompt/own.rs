//! A deployment's own templates, which replace Djinn's.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_core::id::sha256_hex;
use djinn_core::language::Language;

use super::Fragment;

/// Own templates by replaced fragment and language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnPrompts(BTreeMap<(&'static str, Language), Arc<str>>);

impl OwnPrompts {
    /// Inserts a template in place of Djinn's, or of an earlier own template.
    pub fn insert(&mut self, fragment: Fragment, language: Language, text: Arc<str>) {
        self.0.insert((fragment.name, language), text);
    }

    /// Returns the own template of a fragment, if any.
    pub(super) fn find_text(&self, fragment: Fragment, language: Language) -> Option<Arc<str>> {
        self.0.get(&(fragment.name, language)).cloned()
    }

    /// Returns the version of all templates; `shipped` is the version of Djinn's.
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
