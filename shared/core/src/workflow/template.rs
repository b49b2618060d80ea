//! Templates of a workflow: text with references, and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reference::{Reference, ReferenceError};

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// A text with references in double braces: `Sum up {{ steps.read }} of {{ region }}.`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Reference(Reference),
}

/// The reason why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct TemplateError {
    /// The line of the problem in the text, counted from 1.
    pub line: usize,
    /// The rest of a sentence about the template.
    pub problem: String,
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// Returns [`TemplateError`] for braces that do not end, and for anything but a reference in them.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        let mut line = 1;
        while let Some((before, after)) = rest.split_once(OPEN) {
            line += before.matches('\n').count();
            let (path, tail) = after.split_once(CLOSE).ok_or_else(|| TemplateError {
                line,
                problem: format!("has a `{OPEN}` without a `{CLOSE}`"),
            })?;
            let reference = path.parse().map_err(|error: ReferenceError| TemplateError {
                line,
                problem: error.to_string(),
            })?;
            if !before.is_empty() {
                parts.push(TemplatePart::Text(before.to_owned()));
            }
            parts.push(TemplatePart::Reference(reference));
            line += path.matches('\n').count();
            rest = tail;
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// Returns the references in the order of the text.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Reference(reference) => Some(reference),
            TemplatePart::Text(_) => None,
        })
    }

    /// Returns the text with the value of each reference. A reference without a value (`None`) stays.
    #[must_use]
    pub fn render(&self, value_of: impl Fn(&Reference) -> Option<String>) -> String {
        let parts = self.parts.iter().map(|part| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Reference(reference) => {
                value_of(reference).unwrap_or_else(|| to_source(reference))
            }
        });
        parts.collect()
    }
}

/// Returns the reference of a text that is one reference and nothing else, whose value keeps its type.
#[must_use]
pub fn is_single_reference(template: &Template) -> Option<&Reference> {
    match template.parts.as_slice() {
        [TemplatePart::Reference(reference)] => Some(reference),
        _ => None,
    }
}

/// Returns the references of the templates in a value. Invalid templates have none.
pub(super) fn list_references(value: &Value) -> Vec<Reference> {
    match value {
        Value::String(text) => Template::parse(text)
            .map(|template| template.references().cloned().collect())
            .unwrap_or_default(),
        Value::Array(items) => items.iter().flat_map(list_references).collect(),
        Value::Object(members) => members.values().flat_map(list_references).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn to_source(reference: &Reference) -> String {
    format!("{OPEN} {reference} {CLOSE}")
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Self, TemplateError> {
        Self::parse(&text)
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.render(|_| None)
    }
}
