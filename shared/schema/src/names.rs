//! Names that every provider accepts, for tools and for properties.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

/// Maximum characters of a name: OpenAI's, Anthropic's, Gemini's and Bedrock's limit.
const MAX_NAME: usize = 64;

/// Characters of a hash in a name.
const HASH: usize = 8;

/// Returns the name of a server's tool for models: `server__tool`, shortened with a hash to 64 characters if it is
/// longer or has characters that a provider rejects.
#[must_use]
pub fn tool_name(server: &str, tool: &str) -> String {
    let whole = format!("{server}__{tool}");
    let is_valid = is_valid_start(&whole)
        && whole.len() <= MAX_NAME
        && whole.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_valid { whole } else { hashed_name(&whole, 0) }
}

/// The properties of one schema whose names a provider rejects.
#[derive(Debug)]
pub(crate) struct PropertyNames<'a> {
    /// All names of the original schema.
    taken: &'a BTreeSet<&'a str>,
    shown_names: BTreeMap<&'a str, String>,
    /// The originals by their shown names.
    pub(crate) original_names: BTreeMap<String, String>,
}

impl<'a> PropertyNames<'a> {
    pub(crate) fn new(taken: &'a BTreeSet<&'a str>) -> Self {
        Self { taken, shown_names: BTreeMap::new(), original_names: BTreeMap::new() }
    }

    /// Returns the shown name of a property: the same wherever the property occurs in the schema.
    pub(crate) fn shown_name(&mut self, original: &'a str) -> String {
        if is_valid_property(original) {
            return original.to_owned();
        }
        if let Some(shown) = self.shown_names.get(original) {
            return shown.clone();
        }
        let mut candidate = usable_part(original);
        let mut salt = 0_u32;
        while !is_valid_property(&candidate)
            || self.taken.contains(candidate.as_str())
            || self.original_names.contains_key(&candidate)
        {
            candidate = hashed_name(original, salt);
            salt += 1;
        }
        self.shown_names.insert(original, candidate.clone());
        self.original_names.insert(candidate.clone(), original.to_owned());
        candidate
    }
}

/// Returns true for a name that all providers accept. Gemini's rule is the narrowest: a letter or an underscore, then
/// letters, digits and underscores, at most 64.
fn is_valid_property(name: &str) -> bool {
    is_valid_start(name)
        && name.len() <= MAX_NAME
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_valid_start(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Returns the name with underscores in place of other ASCII characters, or nothing if it has other letters.
fn usable_part(name: &str) -> String {
    if !name.is_ascii() || !name.contains(|c: char| c.is_ascii_alphanumeric()) {
        return String::new();
    }
    let usable: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let trimmed = usable.trim_matches('_');
    if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{trimmed}")
    } else {
        trimmed.to_owned()
    }
}

/// Returns the beginning of a name, and a hash of the whole.
fn hashed_name(name: &str, salt: u32) -> String {
    let digest = Sha256::digest(format!("{salt}{name}").as_bytes());
    let hash: String = digest
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>()
        .chars()
        .take(HASH)
        .collect();
    let ascii = name.chars().map(|c| match c {
        c if c.is_ascii_alphanumeric() => c,
        _ => '_',
    });
    let start: String = ascii.take(MAX_NAME - HASH - 1).collect();
    let start = start.trim_matches('_');
    let start = if is_valid_start(start) { start.to_owned() } else { format!("n{start}") };
    let start: String = start.chars().take(MAX_NAME - HASH - 1).collect();
    format!("{start}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_names_are_short_and_distinct() {
        assert_eq!(tool_name("github", "create_issue"), "github__create_issue");
        assert_eq!(tool_name("notes", "list-all"), "notes__list-all");
        let long = tool_name("company_directory", &"a".repeat(80));
        assert_eq!(long.len(), 64);
        assert!(long.starts_with("company_directory__aaaa"), "{long}");
        assert_ne!(long, tool_name("company_directory", &"a".repeat(81)));
        let dotted = tool_name("9files", "read.text");
        assert!(dotted.starts_with("n9files__read_text_"), "{dotted}");
        assert_ne!(dotted, tool_name("9files", "read/text"));
        let chinese = tool_name("地图", "查询");
        assert!(is_valid_property(&chinese), "{chinese}");
        assert_ne!(chinese, tool_name("地图", "搜索"));
    }

    #[test]
    fn property_names_are_mapped_without_collisions() {
        let all: BTreeSet<&str> =
            ["a.b", "a-b", "a_b", "城市", "国家", "2fa", "$filter", "", "city 城市"].into();
        let long = "x".repeat(65);
        let mut names = PropertyNames::new(&all);
        let mut shown: Vec<String> = all.iter().map(|name| names.shown_name(name)).collect();
        shown.push(names.shown_name(&long));
        assert!(shown.iter().all(|name| is_valid_property(name)), "{shown:?}");
        let distinct: BTreeSet<_> = shown.iter().collect();
        assert_eq!(distinct.len(), shown.len(), "{shown:?}");
        assert_eq!(names.shown_name("a_b"), "a_b");
        assert_eq!(names.shown_name("$filter"), "filter");
        assert_eq!(names.shown_name("2fa"), "_2fa");
        for (shown, original) in &names.original_names.clone() {
            assert_eq!(all.get(original.as_str()).map_or(long.as_str(), |name| name), original);
            assert!(!is_valid_property(original), "{shown} was valid");
        }
    }
}
