//! Parses one step of a workflow.

use std::collections::BTreeMap;

use djinn_core::workflow::{
    Condition, DEFAULT_RETRY, MAX_RETRY, OnError, Reference, Template, WorkflowStep,
};
use djinn_text::near_miss::find_near_miss;
use serde_json::Value;

use super::{check_keys, quote_list};
use crate::fields::{Fields, refuse_entry};
use crate::problem::{Fault, quote};
use crate::read::{NAME_FORM, is_valid_name};
use crate::yaml::{Content, KeyEntry, Node};

/// The keys of a step.
const KEYS: [&str; 10] = [
    "id",
    "agent",
    "task",
    "arguments",
    "depends_on",
    "when",
    "for_each",
    "retry",
    "confirm",
    "on_error",
];

/// Maximum bytes of a step's task.
const MAX_TASK: usize = 16 * 1024;

const ON_ERROR: [(&str, OnError); 2] = [("stop", OnError::Stop), ("skip", OnError::Skip)];

/// The lines of a step's keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepLines {
    /// The first line of the step.
    pub(super) line: usize,
    /// The line of each key, and of each argument below `arguments.NAME`.
    keys: BTreeMap<String, usize>,
}

impl StepLines {
    /// Returns the line of a key, by default the step's.
    pub(super) fn line_of(&self, key: &str) -> usize {
        self.keys.get(key).copied().unwrap_or(self.line)
    }
}

/// Returns the id of a step, with its line.
pub(super) fn read_id(node: &Node) -> Result<(&str, usize), Fault> {
    let Content::Mapping(entries) = &node.content else {
        let rule = format!("a step is {}: a mapping of keys is expected", node.describe());
        return Err(Fault::new(node.line, rule));
    };
    let entry = entries.iter().find(|entry| entry.key == "id");
    let entry =
        entry.ok_or_else(|| Fault::new(node.line, format!("`id` is missing: {NAME_FORM}")))?;
    match &entry.node.content {
        Content::Scalar(Value::String(id)) if is_valid_name(id) => Ok((id, entry.line)),
        _ => Err(refuse_entry(entry, NAME_FORM)),
    }
}

/// Parses the step at a place; `ids` are the ids of all steps.
pub(super) fn read_step(
    node: &Node,
    place: usize,
    ids: &[&str],
) -> Result<(WorkflowStep, StepLines), Fault> {
    let Content::Mapping(entries) = &node.content else {
        return Err(Fault::new(node.line, "a step is a mapping of keys"));
    };
    check_keys(entries, &KEYS, "a step")?;
    let find = |key: &str| entries.iter().find(|entry| entry.key == key);
    let lines = list_lines(node.line, entries);
    let fields = Fields::new(entries.clone());
    let task = find("task").ok_or_else(|| {
        Fault::new(node.line, "`task` is missing: the work of the step, as a text")
    })?;
    let agent = fields.read_text("agent", "the name of an agent")?.unwrap_or_default().to_owned();
    let arguments = find("arguments").map(read_arguments).transpose()?.unwrap_or_default();
    if let Some(name) = arguments.keys().next().filter(|_| agent.is_empty()) {
        let rule = "`arguments` is only allowed with `agent`: write the values into `task`";
        return Err(Fault::new(lines.line_of(&format!("arguments.{name}")), rule));
    }
    let step = WorkflowStep {
        id: ids.get(place).copied().unwrap_or_default().to_owned(),
        agent,
        task: check_text(task, "task")?,
        arguments,
        depends_on: read_dependencies(&fields, place, ids)?,
        when: find("when").map(read_condition).transpose()?,
        for_each: find("for_each").map(read_reference).transpose()?,
        retry: fields.read_number("retry", 0..=MAX_RETRY)?.unwrap_or(DEFAULT_RETRY),
        confirm: fields.read_flag("confirm")?.unwrap_or_default(),
        on_error: fields.read_word("on_error", &ON_ERROR)?.unwrap_or_default(),
    };
    Ok((step, lines))
}

fn list_lines(line: usize, entries: &[KeyEntry]) -> StepLines {
    let mut keys: BTreeMap<String, usize> =
        entries.iter().map(|entry| (entry.key.clone(), entry.line)).collect();
    let arguments = entries.iter().find(|entry| entry.key == "arguments");
    if let Some(Content::Mapping(members)) = arguments.map(|entry| &entry.node.content) {
        keys.extend(members.iter().map(|entry| (format!("arguments.{}", entry.key), entry.line)));
    }
    StepLines { line, keys }
}

/// Parses a text with references.
pub(super) fn check_text(entry: &KeyEntry, key: &str) -> Result<Template, Fault> {
    let Content::Scalar(Value::String(text)) = &entry.node.content else {
        return Err(refuse_entry(entry, "a text"));
    };
    if text.trim().is_empty() {
        return Err(refuse_entry(entry, "a text"));
    }
    if text.len() > MAX_TASK {
        let rule = format!("`{key}` has {} bytes: the limit is {MAX_TASK}", text.len());
        return Err(Fault::new(entry.line, rule));
    }
    parse_template(text.trim(), entry.node.line, key)
}

/// Parses a template whose text begins in a line.
fn parse_template(text: &str, line: usize, key: &str) -> Result<Template, Fault> {
    Template::parse(text).map_err(|error| {
        Fault::new(line + error.line.saturating_sub(1), format!("`{key}` {}", error.problem))
    })
}

/// Parses the arguments of an agent. Texts in them are templates.
fn read_arguments(entry: &KeyEntry) -> Result<BTreeMap<String, Value>, Fault> {
    let Content::Mapping(members) = &entry.node.content else {
        return Err(refuse_entry(entry, "a mapping of arguments"));
    };
    for member in members {
        if member.key == djinn_core::agent::TASK_ARGUMENT {
            let rule = "`task` is no argument: it is a key of the step";
            return Err(Fault::new(member.line, rule));
        }
        check_templates(&member.node, &member.key)?;
    }
    Ok(members.iter().map(|member| (member.key.clone(), member.node.to_json())).collect())
}

fn check_templates(node: &Node, key: &str) -> Result<(), Fault> {
    match &node.content {
        Content::Scalar(Value::String(text)) => parse_template(text, node.line, key).map(drop),
        Content::Scalar(_) => Ok(()),
        Content::List(items) => items.iter().try_for_each(|item| check_templates(item, key)),
        Content::Mapping(members) => {
            members.iter().try_for_each(|member| check_templates(&member.node, key))
        }
    }
}

/// Returns the places of the steps that must end before; by default the step before.
fn read_dependencies(fields: &Fields, place: usize, ids: &[&str]) -> Result<Vec<usize>, Fault> {
    if fields.find_entry("depends_on").is_none() {
        return Ok(place.checked_sub(1).into_iter().collect());
    }
    let names = fields.read_names("depends_on")?;
    let own = ids.get(place).copied().unwrap_or_default();
    let find = |(name, line): (String, usize)| match ids.iter().position(|id| *id == name) {
        Some(on) if on == place => {
            Err(Fault::new(line, format!("the step {} depends on itself", quote(own))))
        }
        Some(on) => Ok(on),
        None => {
            let hint = match find_near_miss(&name, ids.iter().copied()) {
                Some(near_miss) => format!("did you mean `{near_miss}`?"),
                None => format!("there are {}", quote_list(ids.iter().copied())),
            };
            let rule = format!("`depends_on` names {}, which is not a step: {hint}", quote(&name));
            Err(Fault::new(line, rule))
        }
    };
    names.into_iter().map(find).collect()
}

fn read_condition(entry: &KeyEntry) -> Result<Condition, Fault> {
    const ALLOWED: &str = "a value, as `form == html`, `form != html`, `detail` or `not detail`";
    let Content::Scalar(Value::String(text)) = &entry.node.content else {
        return Err(refuse_entry(entry, ALLOWED));
    };
    text.parse().map_err(|error: djinn_core::workflow::ConditionError| {
        Fault::new(entry.line, format!("`when` {error}"))
    })
}

fn read_reference(entry: &KeyEntry) -> Result<Reference, Fault> {
    let Content::Scalar(Value::String(text)) = &entry.node.content else {
        return Err(refuse_entry(entry, "a list's name, as `regions` or `steps.read.regions`"));
    };
    let text = text.trim();
    let bare = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
    bare.unwrap_or(text).parse().map_err(|error: djinn_core::workflow::ReferenceError| {
        Fault::new(entry.line, format!("`for_each` {error}"))
    })
}
