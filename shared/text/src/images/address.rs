//! Addresses of images: their ends, and the addresses allowed to load.

use std::collections::BTreeMap;

use super::window::{Incomplete, WindowEnd};

/// Maximum number of a text's URLs looked up in the run; further URLs count as unknown.
const MAX_LOOKUPS: usize = 64;

/// The addresses allowed to load: URLs known to the run, and names of files.
pub(super) struct KnownAddresses<'a> {
    is_known: &'a (dyn Fn(&str) -> bool + Sync),
    /// The answers so far.
    lookups: BTreeMap<String, bool>,
}

impl<'a> KnownAddresses<'a> {
    pub(super) fn new(is_known: &'a (dyn Fn(&str) -> bool + Sync)) -> Self {
        Self { is_known, lookups: BTreeMap::new() }
    }

    /// Returns true if loading the address reveals nothing to other hosts: the run has read the URL, or the
    /// address is a file's name.
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

/// Returns true if an address is a name relative to the page, and leads to the page's own host under any
/// decoding.
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

/// Reads the address after `](`; `None` for an address with an unclear end.
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

/// Reads the address of a definition after `]:`; `None` for an address without an end.
pub(super) fn read_definition_address(
    target: &str,
    end: WindowEnd,
) -> Result<Option<&str>, Incomplete> {
    // The sign of a quotation may stand before an address on the next line.
    let target = target.trim_start_matches(|next: char| next.is_whitespace() || next == '>');
    // Brackets are not allowed in addresses here, so that no part of a text is read twice.
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
