//! The form of a schema that every provider accepts.

mod items;
mod restore;
mod union;

use std::collections::BTreeMap;

use djinn_text::fold::is_hidden;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::describe::{append_notes, describe_parts, keyword_notes};
use crate::fields::{Alternative, collect_fields};
use crate::names::PropertyNames;
use crate::parts::{Expansion, Kind, Parts};
use crate::problem::SchemaProblem;
use crate::survey::Survey;
use crate::text::{MAX_DESCRIPTION, clean_text};
use union::{join_branches, prepend_text};

/// Maximum bytes of a shown form.
const MAX_BYTES: usize = 32 * 1024;

/// Maximum schemas within a shown form.
const MAX_NODES: usize = 500;

/// Levels at which deeper objects and lists are opened, the first that fits. OpenAI's strict mode has 10 levels.
const DEPTHS: [usize; 7] = [10, 8, 6, 5, 4, 3, 2];

/// Maximum characters of each description, the first that fits.
const DESCRIPTION_LENGTHS: [usize; 3] = [MAX_DESCRIPTION, 300, 80];

/// Maximum characters of the note for the whole.
const MAX_ROOT_NOTE: usize = 600;

/// Maximum values of one `enum`: beyond, OpenAI limits the length of all values.
const MAX_CHOICES: usize = 250;

/// Maximum values of all `enum`s: OpenAI's limit.
const MAX_ALL_CHOICES: usize = 1_000;

/// Levels of unions within unions that are followed at the deepest level.
const MAX_NESTED_UNIONS: usize = 4;

/// A schema as models see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownSchema {
    /// The schema: an object with `type`, `properties` and, if any are, `required`.
    pub schema: Value,
    /// Demands on the arguments as a whole, for the end of the tool's description; empty if there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The original names of the properties whose names a provider rejects, by their shown names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    names: BTreeMap<String, String>,
}

/// Returns the form of a schema that OpenAI, Anthropic, Gemini and Bedrock accept.
///
/// The form has at most 32 KB, 500 schemas and 12 levels, and these keywords only: `type` with one type, `properties`,
/// `required`, `items`, `additionalProperties` with a schema, `enum` of strings, `anyOf` below the root, and
/// `description`. References are replaced by their targets. What is deeper than the limit, or contains itself, is an
/// open object. Other keywords are noted in the description.
///
/// Every value that the original schema accepts is accepted, with two exceptions: a schema without `type` is taken for
/// the type that its keywords describe, and a field that only some branches of a choice describe has their types.
///
/// # Errors
/// Returns [`SchemaProblem`] for a schema that is too large, leads outside, or allows no object. A shown form is no
/// proof of a valid schema: see [`OriginalSchema`](crate::OriginalSchema).
pub fn shown_form(original: &Value) -> Result<ShownSchema, SchemaProblem> {
    let survey = Survey::new(original)?;
    for max_depth in DEPTHS {
        for max_description in DESCRIPTION_LENGTHS {
            match Builder::new(&survey, max_depth, max_description).build() {
                Ok(shown) if shown.schema.to_string().len() <= MAX_BYTES => return Ok(shown),
                Ok(_) => {}
                Err(SchemaProblem::TooLarge) => break,
                Err(problem) => return Err(problem),
            }
        }
    }
    Err(SchemaProblem::TooLarge)
}

/// Builds one shown form.
struct Builder<'a> {
    root: &'a Value,
    expansion: Expansion<'a>,
    names: PropertyNames<'a>,
    max_depth: usize,
    max_description: usize,
    nodes: usize,
    choices: usize,
}

impl<'a> Builder<'a> {
    fn new(survey: &'a Survey<'a>, max_depth: usize, max_description: usize) -> Self {
        Self {
            root: survey.root,
            expansion: Expansion::new(survey),
            names: PropertyNames::new(&survey.property_names),
            max_depth,
            max_description,
            nodes: 0,
            choices: 0,
        }
    }

    fn build(mut self) -> Result<ShownSchema, SchemaProblem> {
        let root = self.root;
        let parts = self.expansion.expand(&[root], &[])?;
        let allows_object = parts.kinds().is_none_or(|kinds| kinds.contains(&Kind::Object));
        if parts.is_impossible || !allows_object {
            return Err(SchemaProblem::NotAnObject);
        }
        self.count_node()?;
        let mut notes = keyword_notes(&parts, true);
        let object = self.show_object(&parts, 1, &mut notes)?;
        // Amazon Nova accepts no other keyword at the root.
        let kept = ["type", "properties", "required"];
        let schema = object.into_iter().filter(|(key, _)| kept.contains(&key.as_str())).collect();
        Ok(ShownSchema {
            schema: Value::Object(schema),
            note: clean_text(&notes.join("; "), MAX_ROOT_NOTE),
            names: self.names.original_names,
        })
    }

    fn count_node(&mut self) -> Result<(), SchemaProblem> {
        self.nodes += 1;
        if self.nodes > MAX_NODES { Err(SchemaProblem::TooLarge) } else { Ok(()) }
    }

    /// Returns a schema for any value. Providers reject `true`, and accept a schema without keywords.
    fn show_anything(&mut self) -> Result<Map<String, Value>, SchemaProblem> {
        self.count_node()?;
        Ok(Map::new())
    }

    /// Returns the form of schemas that apply together, or `None` if no value is possible.
    fn show_schemas(
        &mut self,
        schemas: &[&'a Value],
        path: &[&'a Value],
        depth: usize,
    ) -> Result<Option<Map<String, Value>>, SchemaProblem> {
        let parts = self.expansion.expand(schemas, path)?;
        self.show_parts(&parts, depth)
    }

    fn show_parts(
        &mut self,
        parts: &Parts<'a>,
        depth: usize,
    ) -> Result<Option<Map<String, Value>>, SchemaProblem> {
        if parts.is_impossible {
            return Ok(None);
        }
        self.count_node()?;
        let has_fields = parts.kinds().is_some_and(|kinds| kinds == [Kind::Object])
            && parts.values("properties").next().is_some();
        if !parts.unions.is_empty() && !has_fields {
            return self.show_union(parts, depth).map(Some);
        }
        let kinds = match parts.kinds() {
            None if !parts.cuts.is_empty() => self.cut_kinds(parts)?,
            kinds => kinds,
        };
        let has_branches = kinds.as_ref().is_some_and(|kinds| kinds.len() > 1);
        let depth = depth + usize::from(has_branches);
        let is_cut = depth >= self.max_depth;
        let choices = self.string_choices(parts, kinds.as_deref().unwrap_or_default());
        let mut notes = keyword_notes(parts, choices.is_some());
        let mut branches = Vec::new();
        for kind in kinds.iter().flatten().copied() {
            if has_branches {
                self.count_node()?;
            }
            branches.push(match kind {
                Kind::Object if is_cut => open_object(),
                Kind::Object => self.show_object(parts, depth, &mut notes)?,
                Kind::Array => self.show_array(parts, depth, is_cut)?,
                Kind::String => show_string(choices.as_deref()),
                other => typed(other),
            });
        }
        let text = describe_parts(parts, &notes, self.max_description);
        Ok(Some(join_branches(branches, &text)))
    }

    /// Returns the union of the branches, each together with the schema around it.
    fn show_union(
        &mut self,
        parts: &Parts<'a>,
        depth: usize,
    ) -> Result<Map<String, Value>, SchemaProblem> {
        if depth >= self.max_depth + MAX_NESTED_UNIONS {
            return Ok(join_branches(
                Vec::new(),
                &describe_parts(parts, &[], self.max_description),
            ));
        }
        let mut shown = Vec::new();
        // Of two lists of branches, the second is left out.
        if let Some((_, branches)) = parts.unions.first() {
            for branch in *branches {
                let branch = self.expansion.expand(&[branch], &parts.path)?;
                // A branch that contains its own union is cut, with the types that it can have.
                let whole = parts.with_branch(&branch);
                shown.extend(self.show_parts(&whole, depth + 1)?);
            }
        }
        let notes = if shown.len() == 1 { Vec::new() } else { keyword_notes_of_default(parts) };
        Ok(join_branches(shown, &describe_parts(parts, &notes, self.max_description)))
    }

    /// Returns the types of a value whose schema is not shown, those of its branches included.
    fn shallow_kinds(&mut self, parts: &Parts<'a>) -> Result<Option<Vec<Kind>>, SchemaProblem> {
        let own = parts.kinds();
        let Some((_, branches)) = parts.unions.first().filter(|_| own.is_none()) else {
            return Ok(own);
        };
        let mut kinds = Vec::new();
        for branch in *branches {
            let Some(more) = self.expansion.expand(&[branch], &parts.path)?.kinds() else {
                return Ok(None);
            };
            kinds.extend(more);
        }
        kinds.sort_unstable();
        kinds.dedup();
        Ok(Some(kinds))
    }

    /// Returns the types of a schema that contains itself.
    fn cut_kinds(&mut self, parts: &Parts<'a>) -> Result<Option<Vec<Kind>>, SchemaProblem> {
        let whole = self.expansion.expand(&parts.cuts, &[])?;
        let is_root = parts.cuts.iter().any(|cut| std::ptr::eq(*cut, self.root));
        let kinds = self.shallow_kinds(&whole)?;
        Ok(kinds.or_else(|| is_root.then(|| vec![Kind::Object])))
    }

    /// Returns the allowed strings, if providers accept them as `enum`.
    fn string_choices(&mut self, parts: &Parts<'a>, kinds: &[Kind]) -> Option<Vec<String>> {
        let values = parts.choices().filter(|_| kinds.contains(&Kind::String))?;
        let mut choices: Vec<String> = Vec::new();
        for value in values {
            // A value that is no string is allowed by another branch of its type, or is noted.
            match value {
                Value::String(text) if text.is_empty() || text.contains(is_hidden) => return None,
                Value::String(text) if !choices.contains(text) => choices.push(text.clone()),
                Value::String(_) | Value::Null => {}
                _ => return None,
            }
            if choices.len() > MAX_CHOICES {
                return None;
            }
        }
        self.choices += choices.len();
        (self.choices <= MAX_ALL_CHOICES).then_some(choices)
    }

    /// Returns the form of an object, without a description.
    fn show_object(
        &mut self,
        parts: &Parts<'a>,
        depth: usize,
        notes: &mut Vec<String>,
    ) -> Result<Map<String, Value>, SchemaProblem> {
        let fields = collect_fields(parts, &mut self.expansion, &mut self.names)?;
        if fields.is_impossible && depth == 1 {
            return Err(SchemaProblem::NotAnObject);
        }
        notes.extend(fields.notes);
        let mut properties = Map::new();
        let mut impossible = Vec::new();
        for (name, alternatives) in &fields.properties {
            match self.show_alternatives(alternatives, depth + 1)? {
                Some(mut shown) => {
                    let shown_name = self.names.shown_name(name);
                    if shown_name != *name {
                        prepend_text(&mut shown, &append_notes("", &[format!("name: {name}")]));
                    }
                    properties.insert(shown_name, Value::Object(shown));
                }
                None => impossible.push(*name),
            }
        }
        let mut required = Vec::new();
        for name in fields.required.iter().filter(|name| !impossible.contains(name)) {
            let shown_name = self.names.shown_name(name);
            if !properties.contains_key(&shown_name) {
                properties.insert(shown_name.clone(), Value::Object(self.show_anything()?));
            }
            required.push(Value::String(shown_name));
        }
        let mut object = typed(Kind::Object);
        object.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            object.insert("required".to_owned(), Value::Array(required));
        }
        if let Some(others) = self.show_other_fields(parts, depth)? {
            object.insert("additionalProperties".to_owned(), Value::Object(others));
        }
        Ok(object)
    }

    fn show_alternatives(
        &mut self,
        alternatives: &[Alternative<'a>],
        depth: usize,
    ) -> Result<Option<Map<String, Value>>, SchemaProblem> {
        if let [only] = alternatives {
            return self.show_schemas(&only.schemas, &only.path, depth);
        }
        self.count_node()?;
        let mut shown = Vec::new();
        for alternative in alternatives {
            shown.extend(self.show_schemas(&alternative.schemas, &alternative.path, depth + 1)?);
        }
        Ok((!shown.is_empty()).then(|| join_branches(shown, "")))
    }

    /// Returns the form of fields that are not named in the schema, if their values have a type.
    fn show_other_fields(
        &mut self,
        parts: &Parts<'a>,
        depth: usize,
    ) -> Result<Option<Map<String, Value>>, SchemaProblem> {
        let by_pattern: Vec<&'a Value> = parts
            .values("patternProperties")
            .filter_map(Value::as_object)
            .flat_map(|map| map.values())
            .collect();
        let others = parts.values("additionalProperties").next();
        let schemas = match (others, by_pattern.is_empty()) {
            (Some(schema @ Value::Object(_)), true) => vec![schema],
            (Some(Value::Bool(false)), false) if parts.maps.len() == 1 => by_pattern,
            _ => return Ok(None),
        };
        let mut shown = Vec::new();
        for schema in schemas {
            shown.extend(self.show_schemas(&[schema], &parts.path, depth + 2)?);
        }
        let others = join_branches(shown, "");
        Ok((others.contains_key("type") || others.contains_key("anyOf")).then_some(others))
    }
}

/// Returns the note of the default value, which belongs to a union and not to its branches.
fn keyword_notes_of_default(parts: &Parts<'_>) -> Vec<String> {
    keyword_notes(parts, true).into_iter().filter(|note| note.starts_with("default: ")).collect()
}

fn typed(kind: Kind) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), kind.as_str().into())])
}

fn open_object() -> Map<String, Value> {
    let mut object = typed(Kind::Object);
    object.insert("properties".to_owned(), json!({}));
    object
}

fn show_string(choices: Option<&[String]>) -> Map<String, Value> {
    let mut string = typed(Kind::String);
    if let Some(choices) = choices {
        string.insert("enum".to_owned(), json!(choices));
    }
    string
}
