//! Long URLs, and their short placeholders for models.
//!
//! A run registers URLs in the order of its inputs. So each URL has the same placeholder for the whole run,
//! independent of drivers and compaction. The journal, clients and tools only see the URLs.

mod expand;
mod scan;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use expand::{MAX_GROWTH, TextEnd, UrlExpander};
pub use scan::find_urls;
use scan::{PLACEHOLDER_PREFIX, placeholder_number};

/// Minimum bytes of a URL with a placeholder. Shorter URLs are more useful to a model unchanged, because they
/// show the source.
pub const MIN_URL_BYTES: usize = 64;

/// Maximum bytes of a URL with a placeholder.
pub const MAX_URL_BYTES: usize = 8 * 1024;

/// Maximum number of a run's URLs with placeholders; later URLs stay unchanged.
pub const MAX_URLS: usize = 20_000;

/// The URLs with placeholders, in order of arrival: the first is `https://0`.
///
/// A URL in the form of a placeholder gets a placeholder too, however short. So every placeholder in a
/// model's view has exactly one meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Urls(Arc<UrlTable>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct UrlTable {
    urls: Vec<Arc<str>>,
    numbers: BTreeMap<Arc<str>, usize>,
    /// The number of long URLs.
    long_count: usize,
}

impl Urls {
    /// Returns true if no URL has a placeholder.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.urls.is_empty()
    }

    /// Returns the number of URLs with placeholders.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.urls.len()
    }

    /// Registers the eligible new URLs of a text. A cut URL gets no placeholder, because a model could not
    /// see the cut.
    pub fn register_urls(&mut self, text: &str, end: TextEnd) {
        for (start, url) in find_urls(text) {
            let rest = text.get(start + url.len()..).unwrap_or_default();
            let is_cut = rest.starts_with('…') || (end == TextEnd::Cut && rest.is_empty());
            let is_long = is_long(url);
            let counts = is_long && self.0.long_count < MAX_URLS && !is_cut;
            if (counts || placeholder_number(url).is_some()) && !self.0.numbers.contains_key(url) {
                let list = Arc::make_mut(&mut self.0);
                let url: Arc<str> = url.into();
                list.numbers.insert(Arc::clone(&url), list.urls.len());
                list.urls.push(url);
                list.long_count += usize::from(is_long);
            }
        }
    }

    /// Forgets all but the first `count`.
    pub fn truncate(&mut self, count: usize) {
        if self.len() > count {
            let list = Arc::make_mut(&mut self.0);
            for url in list.urls.drain(count..) {
                list.numbers.remove(&url);
                list.long_count -= usize::from(is_long(&url));
            }
        }
    }

    /// Returns a text in the model's view.
    #[must_use]
    pub fn compress_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut output = String::new();
        let mut at = 0;
        for (start, url) in find_urls(text) {
            if let Some(number) = self.0.numbers.get(url) {
                output.push_str(text.get(at..start).unwrap_or_default());
                output.push_str(PLACEHOLDER_PREFIX);
                output.push_str(&number.to_string());
                at = start + url.len();
            }
        }
        if at == 0 {
            return Cow::Borrowed(text);
        }
        output.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(output)
    }

    /// Registers the URLs of JSON's names and texts, in order. `end_of` returns the end of a text: whole or
    /// cut.
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
            _ => {}
        }
    }

    /// Returns arguments in the model's view.
    #[must_use]
    pub fn compress_members(&self, members: &Map<String, Value>) -> Map<String, Value> {
        map_members(members, &mut |text| self.compress_text(text).into_owned())
    }

    /// Returns a model's text with placeholders expanded.
    #[must_use]
    pub fn expand_text(&self, text: &str, end: TextEnd) -> String {
        UrlExpander::new(self.clone()).expand_text(text, end)
    }

    /// Returns a model's call arguments with placeholders expanded.
    #[must_use]
    pub fn expand_members(&self, members: &Map<String, Value>) -> Map<String, Value> {
        let mut expander = UrlExpander::new(self.clone());
        map_members(members, &mut |text| expander.expand_text(text, TextEnd::Whole))
    }
}

/// Returns the start of a cut text without a final placeholder: half of a placeholder would mean another URL.
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
