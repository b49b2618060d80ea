//! Mapping between our tool names and provider-compatible names.

use std::collections::BTreeMap;

use djinn_core::id::sha256_hex;

/// Maximum characters of a name: OpenAI's, Anthropic's, Gemini's and Bedrock's limit.
const MAX_NAME: usize = 64;

/// Names reserved by genai adapters for the provider's own tools.
const RESERVED_NAMES: &[&str] = &[
    "codeExecution",
    "code_execution",
    "googleSearch",
    "googleSearchRetrieval",
    "google_search",
    "urlContext",
    "url_context",
    "web_search",
];

/// The names of one request, in both directions. A name valid for every provider is unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolNames {
    wire_names: BTreeMap<String, String>,
    original_names: BTreeMap<String, String>,
}

impl ToolNames {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let (mut fit, mut unfit): (Vec<_>, Vec<_>) = names.partition(|name| is_valid_name(name));
        unfit.sort_unstable();
        fit.append(&mut unfit);
        let mut all = Self::default();
        for name in fit {
            all.add_name(name);
        }
        all
    }

    fn add_name(&mut self, name: &str) {
        if self.wire_names.contains_key(name) {
            return;
        }
        let wire = if is_valid_name(name) {
            name.to_owned()
        } else {
            (0_u32..)
                .map(|salt| substitute_name(name, salt))
                .find(|wire| !self.original_names.contains_key(wire))
                .unwrap_or_default()
        };
        self.original_names.insert(wire.clone(), name.to_owned());
        self.wire_names.insert(name.to_owned(), wire);
    }

    /// Returns the provider-compatible name of a tool.
    pub(crate) fn wire_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.wire_names.get(name).map_or(name, String::as_str)
    }

    /// Returns the original of a provider's name. An unknown name is unchanged.
    pub(crate) fn original_name(&self, wire: &str) -> String {
        let wire = wire.trim();
        let bare = wire.strip_prefix("functions.").unwrap_or(wire);
        self.original_names
            .get(wire)
            .or_else(|| self.original_names.get(bare))
            .cloned()
            .unwrap_or_else(|| wire.to_owned())
    }

    /// Returns the name from its pieces: split over several deltas, or repeated in each.
    pub(crate) fn join_pieces(&self, pieces: &[String]) -> String {
        let is_tool = |name: &str| self.original_names.contains_key(name.trim());
        let whole = pieces.concat();
        let Some(last) = pieces.last() else {
            return whole;
        };
        let grows = pieces
            .windows(2)
            .all(|pair| matches!(pair, [shorter, longer] if longer.starts_with(shorter.as_str())));
        match (is_tool(&whole), is_tool(last), grows) {
            (true, _, _) => whole,
            (false, true, _) | (false, false, true) => last.clone(),
            (false, false, false) => whole,
        }
    }
}

fn is_valid_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        && name.len() <= MAX_NAME
        && !RESERVED_NAMES.contains(&name)
}

/// Returns a valid name: the usable part of the original with a distinguishing hash.
fn substitute_name(name: &str, salt: u32) -> String {
    let hash: String = sha256_hex(format!("{salt}{name}").as_bytes()).chars().take(8).collect();
    let prefix: String = name
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || c == '-' => c,
            _ => '_',
        })
        .take(MAX_NAME - 2 - hash.len())
        .collect();
    let start =
        if prefix.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') { "" } else { "_" };
    format!("{start}{prefix}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(pieces: &[&str]) -> Vec<String> {
        pieces.iter().map(|piece| (*piece).to_owned()).collect()
    }

    #[test]
    fn names_that_providers_take_stay_and_others_come_back() {
        let long = "x".repeat(65);
        let odd = ["mcp.fetch", "查天气", long.as_str(), "web_search", "", "1st"];
        let names = ToolNames::new(odd.iter().copied().chain(["file_tool"]));
        assert_eq!(names.wire_name("file_tool"), "file_tool");
        for name in odd {
            assert!(is_valid_name(names.wire_name(name)), "{name}: {}", names.wire_name(name));
            assert_eq!(names.original_name(names.wire_name(name)), name);
        }
        assert_eq!(names.original_name("no_such_tool"), "no_such_tool");
        assert_eq!(names.original_name("functions.file_tool"), "file_tool");
    }

    #[test]
    fn a_name_in_pieces_is_put_together() {
        let names = ToolNames::new(["get_weather", "now", "nownow"].into_iter());
        for (given, name) in [
            (&["get_weather"][..], "get_weather"),
            (&["get_", "weather"], "get_weather"),
            (&["get_weather", "get_weather", "get_weather"], "get_weather"),
            (&["get", "get_wea", "get_weather"], "get_weather"),
            (&["now", "now"], "nownow"),
            (&["other", "other"], "other"),
            (&["ot", "her"], "other"),
            (&[], ""),
        ] {
            assert_eq!(names.join_pieces(&pieces(given)), name, "{given:?}");
        }
    }

    proptest! {
        #[test]
        fn any_set_of_names_maps_both_ways(
            given in proptest::collection::btree_set("\\PC{0,80}|[a-c.]{1,3}", 0..12),
        ) {
            let names = ToolNames::new(given.iter().map(String::as_str));
            for name in &given {
                prop_assert!(is_valid_name(names.wire_name(name)));
                prop_assert_eq!(&names.original_name(names.wire_name(name)), name);
            }
        }
    }
}
