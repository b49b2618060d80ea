//! Long URLs, and the short placeholders that stand for them in what a model sees.
//!
//! A run learns URLs in the order in which they come in with its inputs, so each has the same
//! placeholder for the whole run, whoever drives it and whatever is summed up meanwhile. The journal,
//! clients and tools only ever see the URLs themselves.

mod expand;
mod scan;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use expand::{MAX_GROWTH, TextEnd, UrlExpander};
pub use scan::find_urls;
use scan::{PLACEHOLDER_PREFIX, placeholder_number};

/// Bytes of the shortest URL that gets a placeholder. Below that a model is better served by the URL
/// itself, which says where something comes from.
pub const MIN_URL_BYTES: usize = 64;

/// Bytes of the longest.
pub const MAX_URL_BYTES: usize = 8 * 1024;

/// Long URLs of one run that get placeholders; later ones stay as they are.
pub const MAX_URLS: usize = 20_000;

/// The URLs that have placeholders, in the order in which they came: the first is `https://0`.
///
/// A URL that looks like a placeholder has one too, however short it is. So whatever looks like a
/// placeholder to a model stands for one URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Urls(Arc<UrlTable>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct UrlTable {
    urls: Vec<Arc<str>>,
    numbers: BTreeMap<Arc<str>, usize>,
    /// How many of them are long.
    long_count: usize,
}

impl Urls {
    /// Whether no URL has a placeholder.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.urls.is_empty()
    }

    /// How many have one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.urls.len()
    }

    /// Gives a placeholder to each URL of a text that is to have one and has none. A URL that is cut
    /// has none: a model could not see that it is.
    pub fn register_urls(&mut self, text: &str, end: TextEnd) {
        for (start, url) in find_urls(text) {
            let rest = text.get(start + url.len()..).unwrap_or_default();
            let is_cut = rest.starts_with('…') || (end == TextEnd::Cut && rest.is_empty());
            let is_long = is_long(url);
            let counts = is_long && self.0.long_count < MAX_URLS && !is_cut;
            if (counts || placeholder_number(url).is_some()) && !self.0.numbers.contains_key(url) {
                let known = Arc::make_mut(&mut self.0);
                let url: Arc<str> = url.into();
                known.numbers.insert(Arc::clone(&url), known.urls.len());
                known.urls.push(url);
                known.long_count += usize::from(is_long);
            }
        }
    }

    /// Forgets all but the first `count`.
    pub fn truncate(&mut self, count: usize) {
        if self.len() > count {
            let known = Arc::make_mut(&mut self.0);
            for url in known.urls.drain(count..) {
                known.numbers.remove(&url);
                known.long_count -= usize::from(is_long(&url));
            }
        }
    }

    /// A text as the model sees it.
    #[must_use]
    pub fn compress_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut shown, mut at) = (String::new(), 0);
        for (start, url) in find_urls(text) {
            if let Some(number) = self.0.numbers.get(url) {
                shown.push_str(text.get(at..start).unwrap_or_default());
                shown.push_str(PLACEHOLDER_PREFIX);
                shown.push_str(&number.to_string());
                at = start + url.len();
            }
        }
        if at == 0 {
            return Cow::Borrowed(text);
        }
        shown.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(shown)
    }

    /// Learns the URLs of JSON's names and texts, in their order. `end_of` says whether a text was cut.
    pub fn register_members(
        &mut self,
        members: &Map<String, Value>,
        end_of: &impl Fn(&str) -> TextEnd,
    ) {
        for (name, value) in members {
            self.register_urls(name, TextEnd::Whole);
            self.register_value(value, end_of);
        }
    }

    fn register_value(&mut self, value: &Value, end_of: &impl Fn(&str) -> TextEnd) {
        match value {
            Value::String(text) => self.register_urls(text, end_of(text)),
            Value::Array(items) => items.iter().for_each(|item| self.register_value(item, end_of)),
            Value::Object(members) => self.register_members(members, end_of),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Arguments as the model sees them.
    #[must_use]
    pub fn compress_members(&self, members: &Map<String, Value>) -> Map<String, Value> {
        map_members(members, &mut |text| self.compress_text(text).into_owned())
    }

    /// A text of the model's, with the URLs that it means.
    #[must_use]
    pub fn expand_text(&self, text: &str, end: TextEnd) -> String {
        UrlExpander::new(self.clone()).expand_text(text, end)
    }

    /// The arguments of a call of the model's, with the URLs that they mean.
    #[must_use]
    pub fn expand_members(&self, members: &Map<String, Value>) -> Map<String, Value> {
        let mut expander = UrlExpander::new(self.clone());
        map_members(members, &mut |text| expander.expand_text(text, TextEnd::Whole))
    }

    fn resolve_placeholder(&self, placeholder: &str) -> Option<&str> {
        self.0.urls.get(placeholder_number(placeholder)?).map(AsRef::as_ref)
    }
}

/// The beginning of a text that was cut, without a placeholder at its end: half of one would stand for
/// another URL.
#[must_use]
pub fn trim_partial_placeholder(text: &str) -> &str {
    let before = text.trim_end_matches(|last: char| last.is_ascii_digit());
    if before.len() == text.len() {
        text
    } else {
        before.strip_suffix(PLACEHOLDER_PREFIX).unwrap_or(text)
    }
}

fn is_long(url: &str) -> bool {
    (MIN_URL_BYTES..=MAX_URL_BYTES).contains(&url.len())
}

pub(crate) fn map_members(
    members: &Map<String, Value>,
    change: &mut impl FnMut(&str) -> String,
) -> Map<String, Value> {
    members.iter().map(|(name, value)| (change(name), map_value(value, change))).collect()
}

fn map_value(value: &Value, change: &mut impl FnMut(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.iter().map(|item| map_value(item, change)).collect(),
        Value::Object(members) => Value::Object(map_members(members, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
