//! Parses front matter key by key. An invalid value is rejected with the found and the expected value.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde_json::Value;

use crate::problem::{Fault, quote};
use crate::yaml::{Content, KeyEntry, Node};

/// The entries of an agent's front matter.
pub(crate) struct Fields(Vec<KeyEntry>);

/// The names in a list, each with its line.
pub(crate) type NamesWithLines = Vec<(String, usize)>;

impl Fields {
    /// Creates the fields with these entries.
    pub(crate) fn new(entries: Vec<KeyEntry>) -> Self {
        Self(entries)
    }

    /// Returns the entry of a key.
    pub(crate) fn find_entry(&self, key: &str) -> Option<&KeyEntry> {
        self.0.iter().find(|entry| entry.key == key)
    }

    /// Returns the line of a key, by default the first line of the front matter.
    pub(crate) fn line_of(&self, key: &str) -> usize {
        self.find_entry(key).map_or(1, |entry| entry.line)
    }

    /// Returns every key with its line.
    pub(crate) fn key_lines(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|entry| (entry.key.as_str(), entry.line))
    }

    /// Returns a required text.
    pub(crate) fn read_required(&self, key: &str, allowed: &str) -> Result<&str, Fault> {
        let missing = || Fault::new(1, format!("`{key}` is missing: {allowed}"));
        self.read_text(key, allowed)?.ok_or_else(missing)
    }

    /// Returns a text that is not empty, without surrounding white space.
    pub(crate) fn read_text(&self, key: &str, allowed: &str) -> Result<Option<&str>, Fault> {
        let Some(entry) = self.find_entry(key) else { return Ok(None) };
        match text_of(&entry.node) {
            Some(text) => Ok(Some(text)),
            None => Err(refuse_entry(entry, allowed)),
        }
    }

    /// Returns a whole number in a range.
    pub(crate) fn read_number(
        &self,
        key: &str,
        range: RangeInclusive<u32>,
    ) -> Result<Option<u32>, Fault> {
        let Some(entry) = self.find_entry(key) else { return Ok(None) };
        let number = match &entry.node.content {
            Content::Scalar(Value::Number(number)) => number.as_u64(),
            _ => None,
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let least = range.start();
                let most = range.end();
                Err(refuse_entry(entry, &format!("a whole number from {least} to {most}")))
            }
        }
    }

    /// Returns a boolean.
    pub(crate) fn read_flag(&self, key: &str) -> Result<Option<bool>, Fault> {
        let Some(entry) = self.find_entry(key) else { return Ok(None) };
        match entry.node.content {
            Content::Scalar(Value::Bool(flag)) => Ok(Some(flag)),
            _ => Err(refuse_entry(entry, "true or false")),
        }
    }

    /// Returns the value for one of several words.
    pub(crate) fn read_word<T: Copy>(
        &self,
        key: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, Fault> {
        let Some(entry) = self.find_entry(key) else { return Ok(None) };
        let choice = text_of(&entry.node)
            .and_then(|text| words.iter().find(|(word, _)| *word == text))
            .map(|(_, value)| *value);
        if choice.is_some() {
            return Ok(choice);
        }
        let quoted_words: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let word_list = match quoted_words.split_last() {
            Some((last, before)) if !before.is_empty() => {
                format!("{} or {last}", before.join(", "))
            }
            Some(_) | None => quoted_words.concat(),
        };
        Err(refuse_entry(entry, &word_list))
    }

    /// Parses names from a list, or from a text with commas. Rejects empty and repeated names.
    pub(crate) fn read_names(&self, key: &str) -> Result<NamesWithLines, Fault> {
        const ALLOWED: &str = "a list of names or names with commas between them";
        let Some(entry) = self.find_entry(key) else { return Ok(Vec::new()) };
        let names: NamesWithLines = match &entry.node.content {
            Content::Scalar(Value::String(text)) => {
                text.split(',').map(|name| (name.trim().to_owned(), entry.line)).collect()
            }
            Content::List(items) => {
                let refuse = |item: &Node| {
                    let rule = format!("`{key}` holds {}: only names are allowed", item.describe());
                    Fault::new(item.line, rule)
                };
                let name = |item: &Node| match text_of(item) {
                    Some(name) => Ok((name.to_owned(), item.line)),
                    None => Err(refuse(item)),
                };
                items.iter().map(name).collect::<Result<_, _>>()?
            }
            Content::Scalar(_) | Content::Mapping(_) => return Err(refuse_entry(entry, ALLOWED)),
        };
        let mut unique_names = BTreeSet::new();
        for (name, line) in &names {
            if name.is_empty() {
                let rule = format!("`{key}` holds an empty text: only names are allowed");
                return Err(Fault::new(*line, rule));
            }
            if !unique_names.insert(name) {
                return Err(Fault::new(*line, format!("`{key}` holds {} twice", quote(name))));
            }
        }
        Ok(names)
    }
}

/// Returns the error for a value, with the expected value.
pub(crate) fn refuse_entry(entry: &KeyEntry, allowed: &str) -> Fault {
    let KeyEntry { key, line, node } = entry;
    Fault::new(*line, format!("`{key}` is {}: {allowed} is expected", node.describe()))
}

/// Returns a text that is not empty, without surrounding white space.
fn text_of(node: &Node) -> Option<&str> {
    match &node.content {
        Content::Scalar(Value::String(text)) => Some(text.trim()).filter(|text| !text.is_empty()),
        _ => None,
    }
}
