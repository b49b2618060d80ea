//! Expressions: changes and conditions of single items.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::key::{Attributes, ItemKey};

/// A change of one item. In expressions, `#name` means the attribute `name`, because some names are reserved
/// words in DynamoDB. `:name` means an entry of the values.
#[derive(Debug, Clone)]
pub(crate) struct ItemChange<'a> {
    pub(crate) key: ItemKey,
    pub(crate) expression: &'a str,
    /// The condition as a DynamoDB expression, or empty.
    pub(crate) condition: &'a str,
    pub(crate) values: Attributes,
}

impl ItemChange<'_> {
    /// Returns the attribute names used in the expressions.
    pub(crate) fn attribute_names(&self) -> Option<HashMap<String, String>> {
        attribute_names(&[self.expression, self.condition])
    }

    /// Returns the condition, or `None` if empty.
    pub(crate) fn condition(&self) -> Option<String> {
        (!self.condition.is_empty()).then(|| self.condition.to_owned())
    }

    /// Returns the values, or `None` if empty: DynamoDB rejects an empty map.
    pub(crate) fn values(&self) -> Option<Attributes> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}

/// The condition of a put, in the expression syntax of [`ItemChange`].
#[derive(Debug, Clone)]
pub(crate) struct PutCondition {
    pub(crate) expression: &'static str,
    pub(crate) values: Attributes,
}

impl PutCondition {
    /// Returns the attribute names used in the expression.
    pub(crate) fn attribute_names(&self) -> Option<HashMap<String, String>> {
        attribute_names(&[self.expression])
    }

    /// Returns the values, or `None` if empty: DynamoDB rejects an empty map.
    pub(crate) fn values(&self) -> Option<Attributes> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}

/// Returns the attribute names behind every `#name` in the expressions.
pub(crate) fn attribute_names(expressions: &[&str]) -> Option<HashMap<String, String>> {
    let mut names = HashMap::new();
    for part in expressions.iter().flat_map(|expression| expression.split('#').skip(1)) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = part.split(|c| !is_name(c)).next().unwrap_or_default();
        names.insert(format!("#{name}"), name.to_owned());
    }
    (!names.is_empty()).then_some(names)
}

/// Values for expressions: `values([(":run", text(&run))])`.
pub(crate) fn values<const N: usize>(values: [(&str, AttributeValue); N]) -> Attributes {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(crate) fn text(text: &(impl ToString + ?Sized)) -> AttributeValue {
    AttributeValue::S(text.to_string())
}

pub(crate) fn number(number: &impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_an_expression_is_found_once() {
        let found =
            attribute_names(&["SET #holder = :holder, #a_b=#a_b+:one", "#file.#object = :o"])
                .unwrap();
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort();
        let expected = ["a_b", "file", "holder", "object"];
        assert_eq!(found, expected.map(|name| (format!("#{name}"), name.to_owned())));
        assert_eq!(attribute_names(&["attribute_exists(pk)", ""]), None);
    }
}
