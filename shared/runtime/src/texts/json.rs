//! The texts of foreign JSON.

use serde_json::{Map, Value};

use super::{ContentText, TextBound};

/// Returns all names and texts of a JSON object, at any depth.
pub(super) fn member_texts<'a>(
    field: &'static str,
    of: &'a mut Map<String, Value>,
    most: TextBound,
) -> Vec<ContentText<'a>> {
    let mut texts = Vec::new();
    for (name, value) in of {
        texts.push(ContentText::from_name(field, name, most));
        texts.extend(value_texts(field, value, most));
    }
    texts
}

fn value_texts<'a>(
    field: &'static str,
    value: &'a mut Value,
    most: TextBound,
) -> Vec<ContentText<'a>> {
    match value {
        Value::String(text) => vec![ContentText::from_words(field, text, most)],
        Value::Array(items) => {
            items.iter_mut().flat_map(|item| value_texts(field, item, most)).collect()
        }
        Value::Object(of) => member_texts(field, of, most),
        _ => Vec::new(),
    }
}
