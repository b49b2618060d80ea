//! The fields of an object, with those of its choices (`anyOf`, `oneOf`, `if`) folded in.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value;

use crate::names::PropertyNames;
use crate::parts::{Expansion, Kind, Parts};
use crate::problem::SchemaProblem;

/// Maximum levels of choices within choices.
const MAX_CHOICES: usize = 4;

/// Maximum branches in a note.
const MAX_BRANCHES: usize = 12;

/// Schemas that apply to a field together, and the schemas around them.
#[derive(Debug, Clone)]
pub(crate) struct Alternative<'a> {
    pub(crate) schemas: Vec<&'a Value>,
    pub(crate) path: Rc<Vec<&'a Value>>,
}

/// The fields of an object.
#[derive(Debug, Default)]
pub(crate) struct ObjectFields<'a> {
    /// Each field with its alternatives: one for a field of the object itself, one for each choice otherwise.
    pub(crate) properties: Vec<(&'a str, Vec<Alternative<'a>>)>,
    /// The fields that every choice requires.
    pub(crate) required: Vec<&'a str>,
    /// What the choices demand besides, in short.
    pub(crate) notes: Vec<String>,
    /// True if no choice allows an object.
    pub(crate) is_impossible: bool,
}

/// Choices among parts, and the keyword that offers them.
struct Choice<'a> {
    keyword: &'static str,
    branches: Vec<Parts<'a>>,
}

/// Returns the fields of an object. A field that only some choices describe has their types.
pub(crate) fn collect_fields<'a>(
    parts: &Parts<'a>,
    expansion: &mut Expansion<'a>,
    names: &mut PropertyNames<'a>,
) -> Result<ObjectFields<'a>, SchemaProblem> {
    collect_level(parts, expansion, names, 0)
}

fn collect_level<'a>(
    parts: &Parts<'a>,
    expansion: &mut Expansion<'a>,
    names: &mut PropertyNames<'a>,
    level: usize,
) -> Result<ObjectFields<'a>, SchemaProblem> {
    let mut fields = own_fields(parts);
    if level >= MAX_CHOICES {
        return Ok(fields);
    }
    for choice in find_choices(parts, expansion)? {
        fields.is_impossible |= choice.branches.is_empty();
        fields.notes.extend(choice_note(&choice, names));
        let mut branches = Vec::new();
        for branch in &choice.branches {
            branches.push(collect_level(branch, expansion, names, level + 1)?);
        }
        fields.add_choice(branches);
    }
    Ok(fields)
}

/// Returns the fields of an object without its choices.
fn own_fields<'a>(parts: &Parts<'a>) -> ObjectFields<'a> {
    let path = Rc::new(parts.path.clone());
    let mut fields = ObjectFields::default();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, schema) in parts.values("properties").filter_map(Value::as_object).flatten() {
        if let Some(place) = places.get(name.as_str())
            && let Some((_, alternatives)) = fields.properties.get_mut(*place)
        {
            alternatives.iter_mut().for_each(|all| all.schemas.push(schema));
        } else {
            places.insert(name, fields.properties.len());
            let alternative = Alternative { schemas: vec![schema], path: Rc::clone(&path) };
            fields.properties.push((name, vec![alternative]));
        }
    }
    fields.required = required_names(parts);
    fields
}

fn required_names<'a>(parts: &Parts<'a>) -> Vec<&'a str> {
    let lists = parts.values("required").filter_map(Value::as_array);
    let mut names: Vec<&str> = Vec::new();
    for name in lists.flatten().filter_map(Value::as_str) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

impl<'a> ObjectFields<'a> {
    fn add_choice(&mut self, branches: Vec<Self>) {
        let known: BTreeSet<&str> = self.properties.iter().map(|(name, _)| *name).collect();
        let common: Vec<&str> = match branches.split_first() {
            None => Vec::new(),
            Some((first, rest)) => {
                let mut required = first.required.clone();
                required.retain(|name| rest.iter().all(|branch| branch.required.contains(name)));
                required
            }
        };
        for name in common {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
        for (name, alternatives) in branches.into_iter().flat_map(|branch| branch.properties) {
            if known.contains(name) {
                continue;
            }
            match self.properties.iter_mut().find(|(added, _)| *added == name) {
                Some((_, all)) => all.extend(alternatives),
                None => self.properties.push((name, alternatives)),
            }
        }
    }
}

/// Returns the choices of an object. A branch that allows no object is left out.
fn find_choices<'a>(
    parts: &Parts<'a>,
    expansion: &mut Expansion<'a>,
) -> Result<Vec<Choice<'a>>, SchemaProblem> {
    static ANYTHING: Value = Value::Bool(true);
    let mut choices = Vec::new();
    let mut lists: Vec<(&'static str, Vec<&'a Value>)> = Vec::new();
    for (keyword, branches) in &parts.unions {
        lists.push((*keyword, branches.iter().collect()));
    }
    for map in &parts.maps {
        if map.contains_key("if") {
            let branch = |key: &str| map.get(key).unwrap_or(&ANYTHING);
            lists.push(("if", vec![branch("then"), branch("else")]));
        }
        for key in ["dependentSchemas", "dependencies"] {
            let dependent = map.get(key).and_then(Value::as_object).into_iter().flatten();
            let schemas = dependent.filter(|(_, schema)| schema.is_object());
            lists.extend(schemas.map(|(_, schema)| (key, vec![schema, &ANYTHING])));
        }
    }
    for (keyword, schemas) in lists {
        let mut branches = Vec::new();
        for schema in schemas {
            let branch = expansion.expand(&[schema], &parts.path)?;
            let allows_object = branch.kinds().is_none_or(|kinds| kinds.contains(&Kind::Object));
            if allows_object && !branch.is_impossible {
                branches.push(branch);
            }
        }
        choices.push(Choice { keyword, branches });
    }
    Ok(choices)
}

/// Returns what each branch demands, such as `oneOf: [kind="file", required: path] | [required: url]`.
fn choice_note<'a>(choice: &Choice<'a>, names: &mut PropertyNames<'a>) -> Option<String> {
    let shown = choice.branches.iter().take(MAX_BRANCHES);
    let branches: Vec<String> = shown.map(|branch| branch_note(branch, names)).collect();
    if branches.iter().all(String::is_empty) || branches.len() < 2 {
        return None;
    }
    let branches: Vec<String> = branches.iter().map(|branch| format!("[{branch}]")).collect();
    let keyword = if choice.keyword == "if" { "then | else" } else { choice.keyword };
    Some(format!("{keyword}: {}", branches.join(" | ")))
}

fn branch_note<'a>(branch: &Parts<'a>, names: &mut PropertyNames<'a>) -> String {
    let mut demands = Vec::new();
    for (name, schema) in branch.values("properties").filter_map(Value::as_object).flatten() {
        let single = schema.get("enum").and_then(Value::as_array).and_then(|values| {
            match values.as_slice() {
                [value] => Some(value),
                _ => None,
            }
        });
        if let Some(value) = schema.get("const").or(single) {
            demands.push(format!("{}={value}", names.shown_name(name)));
        }
    }
    let required: Vec<_> =
        required_names(branch).into_iter().map(|name| names.shown_name(name)).collect();
    if !required.is_empty() {
        demands.push(format!("required: {}", required.join(", ")));
    }
    demands.join(", ")
}
