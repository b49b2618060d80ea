//! Addresses of images: those that may be loaded, and where they end.

use std::collections::BTreeMap;

use super::window::{Incomplete, WindowEnd};

/// URLs of a text that are looked for in the run, at most; others are unknown.
const MAX_LOOKUPS: usize = 64;

/// The addresses that may be loaded: URLs that the run knows, and names of files.
pub(super) struct KnownAddresses<'a> {
    is_known: &'a (dyn Fn(&str) -> bool + Sync),
    /// The answers so far.
    lookups: BTreeMap<String, bool>,
}

impl<'a> KnownAddresses<'a> {
    pub(super) fn new(is_known: &'a (dyn Fn(&str) -> bool + Sync)) -> Self {
        Self { is_known, lookups: BTreeMap::new() }
    }

    /// Returns true if a browser that loads an address tells nobody anything that the run did not read there.
    pub(super) fn is_harmless(&mut self, address: &str) -> bool {
        is_file_name(address) || (is_url(address) && self.is_known(address))
    }

    fn is_known(&mut self, url: &str) -> bool {
        if let Some(is_known) = self.lookups.get(url) {
            return *is_known;
        }
        let is_known = self.lookups.len() < MAX_LOOKUPS && (self.is_known)(url);
        if self.lookups.len() < MAX_LOOKUPS {
            self.lookups.insert(url.to_owned(), is_known);
        }
        is_known
    }
}

/// Returns true if an address begins as a URL of the web.
pub(super) fn is_url(address: &str) -> bool {
    address.starts_with("https://") || address.starts_with("http://")
}

/// Returns true if an address is a name relative to the page: it leads to the page's own host however it is decoded.
pub(super) fn is_file_name(address: &str) -> bool {
    let is_first =
        |first: char| first.is_alphanumeric() || matches!(first, '.' | '_' | '-' | '~' | '%' | '#');
    let is_bad =
        |next: char| matches!(next, ':' | '\\' | '&' | '<' | '>' | '"' | '`') || next.is_control();
    let lower = address.to_ascii_lowercase();
    address.starts_with(is_first)
        && !address.contains(is_bad)
        && !["//", "%2f", "%5c", "%3a"].iter().any(|part| lower.contains(part))
}

/// Reads the address behind `](`; `None` for one whose end is not plain.
pub(super) fn read_image_address(target: &str, end: WindowEnd) -> Result<Option<&str>, Incomplete> {
    let mut depth = 0_u32;
    for (at, next) in target.char_indices() {
        let is_end = match next {
            '(' => {
                depth += 1;
                false
            }
            ')' if depth == 0 => true,
            ')' => {
                depth -= 1;
                false
            }
            '<' | '>' | '\\' | '[' | ']' | '`' => return Ok(None),
            other if other.is_control() && !matches!(other, '\n' | '\t') => return Ok(None),
            other => other.is_whitespace(),
        };
        if is_end {
            return Ok(target.get(..at));
        }
    }
    if end == WindowEnd::Open { Err(Incomplete) } else { Ok(None) }
}

/// Reads the address of a definition behind `]:`; `None` for one without an end.
pub(super) fn read_definition_address(
    target: &str,
    end: WindowEnd,
) -> Result<Option<&str>, Incomplete> {
    // The sign of a quotation may stand before an address on the next line.
    let target = target.trim_start_matches(|next: char| next.is_whitespace() || next == '>');
    // No address has brackets here, so that no part of a text is looked at twice.
    let len = match (target.find(|next: char| next.is_whitespace() || "[]".contains(next)), end) {
        (Some(len), _) if target.get(len..).is_some_and(|rest| rest.starts_with(['[', ']'])) => {
            return Ok(None);
        }
        (Some(len), _) => len,
        (None, WindowEnd::Text) => target.len(),
        (None, WindowEnd::Cut) => return Ok(None),
        (None, WindowEnd::Open) => return Err(Incomplete),
    };
    let address = target.get(..len).unwrap_or_default();
    let inside = address.strip_prefix('<').and_then(|inside| inside.strip_suffix('>'));
    Ok(Some(inside.unwrap_or(address)))
}
