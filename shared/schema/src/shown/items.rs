//! Lists, whose items have one schema or, in a tuple, one each.

use serde_json::{Map, Value};

use super::union::join_branches;
use super::{Builder, typed};
use crate::parts::{Kind, Parts};
use crate::problem::SchemaProblem;

impl<'a> Builder<'a> {
    /// Returns the form of a list, whose items may be anything if it is cut.
    pub(super) fn show_array(
        &mut self,
        parts: &Parts<'a>,
        depth: usize,
        is_cut: bool,
    ) -> Result<Map<String, Value>, SchemaProblem> {
        let items = if is_cut { None } else { self.show_items(parts, depth)? };
        let items = match items {
            Some(items) => items,
            None => self.show_anything()?,
        };
        let mut array = typed(Kind::Array);
        array.insert("items".to_owned(), Value::Object(items));
        Ok(array)
    }

    /// Returns the form of all items, or `None` if an item may be anything.
    fn show_items(
        &mut self,
        parts: &Parts<'a>,
        depth: usize,
    ) -> Result<Option<Map<String, Value>>, SchemaProblem> {
        let tuple = parts.maps.iter().find_map(|map| {
            let prefix = map.get("prefixItems").and_then(Value::as_array);
            let old = map.get("items").and_then(Value::as_array);
            match (prefix, old) {
                (Some(elements), _) => Some((*map, elements, map.get("items"))),
                (None, Some(elements)) => Some((*map, elements, map.get("additionalItems"))),
                (None, None) => None,
            }
        });
        let Some((map, elements, rest)) = tuple else {
            let items: Vec<_> = parts.values("items").collect();
            return if items.is_empty() {
                Ok(None)
            } else {
                self.show_schemas(&items, &parts.path, depth + 1)
            };
        };
        let max_items = map.get("maxItems").and_then(Value::as_u64).unwrap_or(u64::MAX);
        let is_closed = max_items <= elements.len() as u64;
        if !is_closed && rest.is_none() {
            return Ok(None);
        }
        self.count_node()?;
        let mut shown = Vec::new();
        for schema in elements.iter().chain(rest.filter(|_| !is_closed)) {
            shown.extend(self.show_schemas(&[schema], &parts.path, depth + 2)?);
        }
        Ok(Some(join_branches(shown, "")))
    }
}
