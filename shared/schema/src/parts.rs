//! The schemas that apply to one value together: a schema, the targets of its references, and its `allOf`.

use serde_json::{Map, Value};

use crate::problem::SchemaProblem;
use crate::survey::{REFERENCES, Survey};

/// Maximum schemas that are read for one shown form; references can repeat a schema without end.
const MAX_STEPS: usize = 20_000;

/// Maximum schemas that apply to one value.
const MAX_PARTS: usize = 500;

/// A type of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    String,
    Number,
    Integer,
    Boolean,
    Array,
    Object,
    Null,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::String,
        Self::Number,
        Self::Integer,
        Self::Boolean,
        Self::Array,
        Self::Object,
        Self::Null,
    ];

    /// Returns the name of the type in JSON Schema.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Null => "null",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Returns the type of the values that have both types.
    fn common_with(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Number, Self::Integer) | (Self::Integer, Self::Number) => Some(Self::Integer),
            _ => (self == other).then_some(self),
        }
    }
}

/// The schemas that apply to one value, without the choices among them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts<'a> {
    /// The schemas whose keywords count, the outermost first.
    pub(crate) maps: Vec<&'a Map<String, Value>>,
    /// The schemas whose descriptions count, the outermost first.
    pub(crate) texts: Vec<&'a Map<String, Value>>,
    /// The lists of `anyOf` and `oneOf`: of each list, one schema applies too.
    pub(crate) unions: Vec<(&'static str, &'a [Value])>,
    /// True if a schema is `false`.
    pub(crate) is_impossible: bool,
    /// The schemas that are left out, because they contain this one.
    pub(crate) cuts: Vec<&'a Value>,
    /// The schemas on the way from the root to here, these included.
    pub(crate) path: Vec<&'a Value>,
}

impl<'a> Parts<'a> {
    /// Returns these parts together with one branch of one of their unions.
    pub(crate) fn with_branch(&self, branch: &Self) -> Self {
        let joined = |own: &[&'a Map<String, Value>], other: &[&'a Map<String, Value>]| {
            own.iter().chain(other).copied().collect()
        };
        Self {
            maps: joined(&self.maps, &branch.maps),
            // The description of the whole is shown once, before its branches.
            texts: branch.texts.clone(),
            unions: branch.unions.clone(),
            is_impossible: self.is_impossible || branch.is_impossible,
            cuts: branch.cuts.clone(),
            path: branch.path.clone(),
        }
    }

    /// Returns the values of a keyword in all schemas.
    pub(crate) fn values(&self, key: &str) -> impl Iterator<Item = &'a Value> {
        self.maps.iter().filter_map(move |map| map.get(key))
    }

    /// Returns true if any schema has one of these keywords.
    fn has_any(&self, keys: &[&str]) -> bool {
        self.maps.iter().any(|map| keys.iter().any(|key| map.contains_key(*key)))
    }

    /// Returns the values that are allowed one by one: `enum` or `const`, the first of these.
    pub(crate) fn choices(&self) -> Option<Vec<&'a Value>> {
        self.maps.iter().find_map(|map| match (map.get("const"), map.get("enum")) {
            (Some(value), _) => Some(vec![value]),
            (None, Some(Value::Array(values))) => Some(values.iter().collect()),
            _ => None,
        })
    }

    /// Returns the possible types, or `None` if a value may have any type.
    ///
    /// A schema without `type` is taken for the type that its keywords describe: `properties` for objects, `items`
    /// for arrays. JSON Schema accepts all other values there, which no author means.
    pub(crate) fn kinds(&self) -> Option<Vec<Kind>> {
        let declared = self.values("type").map(|value| match value {
            Value::String(name) => Kind::from_name(name).into_iter().collect(),
            Value::Array(names) => {
                names.iter().filter_map(Value::as_str).filter_map(Kind::from_name).collect()
            }
            _ => Vec::new(),
        });
        let chosen = self.choices().map(|values| {
            let mut kinds: Vec<_> = values.into_iter().map(Kind::of_value).collect();
            // `1.0` is an integer, and `1` is a number.
            if kinds.contains(&Kind::Number) {
                kinds.retain(|kind| *kind != Kind::Integer);
            }
            kinds
        });
        let mut common: Option<Vec<Kind>> = None;
        for kinds in declared.chain(chosen).filter(|kinds: &Vec<Kind>| !kinds.is_empty()) {
            let both: Vec<Kind> = match &common {
                None => kinds,
                Some(before) => before
                    .iter()
                    .filter_map(|kind| kinds.iter().find_map(|other| kind.common_with(*other)))
                    .collect(),
            };
            if !both.is_empty() {
                common = Some(both);
            }
        }
        let described = || {
            let objects = ["properties", "required", "additionalProperties", "patternProperties"];
            let arrays = ["items", "prefixItems"];
            if self.has_any(&objects) {
                Some(vec![Kind::Object])
            } else if self.has_any(&arrays) {
                Some(vec![Kind::Array])
            } else {
                None
            }
        };
        let mut kinds = common.or_else(described)?;
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.contains(&Kind::Number) {
            kinds.retain(|kind| *kind != Kind::Integer);
        }
        Some(kinds)
    }
}

/// Follows references and `allOf` from schema to schema, with a limit on the whole work.
pub(crate) struct Expansion<'a> {
    survey: &'a Survey<'a>,
    steps: usize,
}

impl<'a> Expansion<'a> {
    pub(crate) fn new(survey: &'a Survey<'a>) -> Self {
        Self { survey, steps: 0 }
    }

    /// Returns the parts of schemas that all apply to one value. `path` has the schemas around it.
    pub(crate) fn expand(
        &mut self,
        schemas: &[&'a Value],
        path: &[&'a Value],
    ) -> Result<Parts<'a>, SchemaProblem> {
        let mut parts = Parts { path: path.to_vec(), ..Parts::default() };
        let mut pending: Vec<&'a Value> = schemas.iter().rev().copied().collect();
        while let Some(schema) = pending.pop() {
            self.steps += 1;
            if self.steps > MAX_STEPS || parts.path.len() > path.len() + MAX_PARTS {
                return Err(SchemaProblem::TooLarge);
            }
            let map = match schema {
                Value::Object(map) => map,
                Value::Bool(allows) => {
                    parts.is_impossible |= !allows;
                    continue;
                }
                _ => return Err(SchemaProblem::invalid("", "a schema must be an object")),
            };
            if let Some(at) = parts.path.iter().position(|known| std::ptr::eq(*known, schema)) {
                // A schema that is met twice for the same value says nothing new.
                if at < path.len() {
                    parts.cuts.push(schema);
                }
                continue;
            }
            parts.path.push(schema);
            self.add_schema(map, &mut parts, &mut pending)?;
        }
        Ok(parts)
    }

    fn add_schema(
        &self,
        map: &'a Map<String, Value>,
        parts: &mut Parts<'a>,
        pending: &mut Vec<&'a Value>,
    ) -> Result<(), SchemaProblem> {
        let references = REFERENCES.iter().filter_map(|key| map.get(*key)?.as_str());
        let targets: Result<Vec<_>, _> =
            references.map(|reference| self.survey.find_target(reference)).collect();
        let targets = targets?;
        parts.texts.push(map);
        if targets.is_empty() || !self.survey.ignores_ref_siblings {
            parts.maps.push(map);
            for key in ["anyOf", "oneOf"] {
                if let Some(Value::Array(branches)) = map.get(key)
                    && !branches.is_empty()
                {
                    parts.unions.push((key, branches));
                }
            }
            let all = map.get("allOf").and_then(Value::as_array);
            pending.extend(all.into_iter().flatten().rev());
        }
        pending.extend(targets.into_iter().rev());
        Ok(())
    }
}
