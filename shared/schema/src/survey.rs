//! The first look at a foreign schema: limits, references and names, in one pass without recursion.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::problem::SchemaProblem;

/// Maximum bytes of a schema, counted roughly.
const MAX_BYTES: usize = 256 * 1024;

/// Maximum levels of JSON.
const MAX_LEVELS: usize = 64;

/// Maximum regular expressions of a schema.
const MAX_PATTERNS: usize = 500;

/// Bytes that a value takes besides its strings.
const VALUE_BYTES: usize = 4;

/// Keywords whose value maps names to schemas.
const SCHEMA_MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Keywords whose value is data, in which `$ref` has no meaning.
const DATA: [&str; 5] = ["const", "default", "enum", "example", "examples"];

/// Keywords that refer to another schema.
pub(crate) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The meaning of a JSON value within a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueRole {
    Schema,
    SchemaMap,
    Data,
}

impl ValueRole {
    /// Returns the role of a field of an object with this role.
    pub(crate) fn of_field(self, key: &str) -> Self {
        match self {
            Self::SchemaMap => Self::Schema,
            Self::Data => Self::Data,
            Self::Schema if SCHEMA_MAPS.contains(&key) => Self::SchemaMap,
            Self::Schema if DATA.contains(&key) => Self::Data,
            Self::Schema => Self::Schema,
        }
    }
}

/// A schema within the limits, whose references all have a target.
#[derive(Debug)]
pub(crate) struct Survey<'a> {
    pub(crate) root: &'a Value,
    anchors: BTreeMap<&'a str, &'a Value>,
    /// The names of all properties, which no other property may take in the shown form.
    pub(crate) property_names: BTreeSet<&'a str>,
    /// True for drafts 4, 6 and 7, in which nothing beside a `$ref` counts.
    pub(crate) ignores_ref_siblings: bool,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(root: &'a Value) -> Result<Self, SchemaProblem> {
        let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let mut survey = Self {
            root,
            anchors: BTreeMap::new(),
            property_names: BTreeSet::new(),
            ignores_ref_siblings: ["draft-04", "draft-06", "draft-07"]
                .iter()
                .any(|draft| dialect.contains(draft)),
        };
        let references = survey.walk_schema()?;
        for reference in references {
            survey.find_target(reference)?;
        }
        Ok(survey)
    }

    /// Walks the whole schema and returns its references.
    fn walk_schema(&mut self) -> Result<BTreeSet<&'a str>, SchemaProblem> {
        let mut references = BTreeSet::new();
        let mut bytes = 0_usize;
        let mut patterns = 0_usize;
        let mut pending = vec![(self.root, 1_usize, ValueRole::Schema)];
        while let Some((value, level, role)) = pending.pop() {
            if level > MAX_LEVELS {
                return Err(SchemaProblem::TooDeep);
            }
            bytes += VALUE_BYTES;
            match value {
                Value::String(text) => bytes += text.len(),
                Value::Array(items) => {
                    pending.extend(items.iter().map(|item| (item, level + 1, role)));
                }
                Value::Object(map) => {
                    if role == ValueRole::Schema {
                        patterns += self.note_schema(value, map, &mut references)?;
                    }
                    bytes += map.keys().map(String::len).sum::<usize>();
                    pending.extend(
                        map.iter().map(|(key, field)| (field, level + 1, role.of_field(key))),
                    );
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
            if bytes > MAX_BYTES || patterns > MAX_PATTERNS {
                return Err(SchemaProblem::TooLarge);
            }
        }
        Ok(references)
    }

    /// Notes the references, anchors and properties of one schema, and returns the number of its patterns.
    fn note_schema(
        &mut self,
        value: &'a Value,
        map: &'a Map<String, Value>,
        references: &mut BTreeSet<&'a str>,
    ) -> Result<usize, SchemaProblem> {
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        for reference in REFERENCES.iter().filter_map(|key| text(key)) {
            if !reference.starts_with('#') {
                return Err(SchemaProblem::remote_reference(reference));
            }
            references.insert(reference);
        }
        let old_anchors =
            ["$id", "id"].iter().filter_map(|key| text(key).and_then(|id| id.strip_prefix('#')));
        let anchors = ["$anchor", "$dynamicAnchor"].iter().filter_map(|key| text(key));
        for anchor in anchors.chain(old_anchors) {
            self.anchors.entry(anchor).or_insert(value);
        }
        let properties = map.get("properties").and_then(Value::as_object);
        self.property_names.extend(properties.into_iter().flat_map(Map::keys).map(String::as_str));
        let keyed = map.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
        Ok(keyed + usize::from(map.contains_key("pattern")))
    }

    /// Returns the target of a reference that begins with `#`.
    pub(crate) fn find_target(&self, reference: &str) -> Result<&'a Value, SchemaProblem> {
        let fragment = reference.strip_prefix('#').unwrap_or(reference);
        let decoded = percent_decode_str(fragment).decode_utf8_lossy();
        let target = if decoded.is_empty() || decoded.starts_with('/') {
            self.root.pointer(&decoded)
        } else {
            self.anchors.get(decoded.as_ref()).copied()
        };
        target.ok_or_else(|| SchemaProblem::missing_target(reference))
    }
}
