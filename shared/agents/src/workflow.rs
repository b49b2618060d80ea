//! Parses and checks the file of a workflow.

mod graph;
mod reference;
mod step;
mod together;

use djinn_core::agent::{ALL_TOOLS, AgentContext, AgentSpec, AnswerFormat, ToolChoiceRule};
use djinn_core::settings::{Machine, Role};
use djinn_core::tool::Risk;
use djinn_core::workflow::{MAX_WORKFLOW_STEPS, Workflow};
use djinn_text::near_miss::find_near_miss;
use serde_json::{Value, json};

use self::graph::check_graph;
use self::reference::References;
use self::step::{StepLines, check_text, read_step};
pub use self::together::check_workflows;
use crate::fields::{Fields, refuse_entry};
use crate::file::MAX_FILE;
use crate::parameters::{properties_of, read_own_parameters};
use crate::problem::{Fault, FileProblem, quote};
use crate::read::{NAME_FORM, is_valid_name, read_description, read_title};
use crate::review::read_review;
use crate::yaml::{Content, KeyEntry, read_mapping};

/// The keys of a workflow.
const KEYS: [&str; 6] = ["title", "description", "parameters", "steps", "answer", "review"];

/// The argument with the name of a workflow, and the beginnings of other references than parameters.
const RESERVED_PARAMETERS: [&str; 8] =
    ["workflow", "steps", "item", "secret", "secrets", "env", "vars", "variables"];

/// The end of a workflow's file name.
const FILE_ENDS: [&str; 2] = [".yaml", ".yml"];

/// A workflow with a valid file.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadWorkflow {
    /// The mode of the workflow, with its steps.
    pub spec: AgentSpec,
    path: String,
    lines: Vec<StepLines>,
    review_line: usize,
}

impl ReadWorkflow {
    /// Returns the path of the file, as the caller gave it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// Parses the file of a workflow, `NAME.yaml`. [`check_workflows`] checks that its agents exist.
///
/// # Errors
/// Returns the first problem, with its line.
pub fn read_workflow(path: &str, text: &str) -> Result<ReadWorkflow, FileProblem> {
    read_file(path, text).map_err(|fault| fault.into_problem(path))
}

fn read_file(path: &str, text: &str) -> Result<ReadWorkflow, Fault> {
    if text.len() > MAX_FILE {
        let rule = format!("the file has {} bytes: the limit is {MAX_FILE}", text.len());
        return Err(Fault::new(1, rule));
    }
    let name = file_stem(path);
    if !is_valid_name(name) {
        let rule = format!("the file is named {}: {NAME_FORM} is expected", quote(name));
        return Err(Fault::new(1, rule));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let entries = read_mapping(text, "the file")?;
    check_keys(&entries, &KEYS, "a workflow")?;
    let fields = Fields::new(entries);
    let title = read_title(&fields)?;
    let description = read_description(&fields)?;
    let parameters = read_parameters(&fields)?;
    let (steps, lines): (Vec<_>, Vec<_>) = read_steps(&fields)?.into_iter().unzip();
    let answer = match fields.find_entry("answer") {
        Some(entry) => Some(check_text(entry, "answer")?),
        None => None,
    };
    let title = title.unwrap_or_else(|| name.to_owned());
    let workflow = Workflow { title: title.clone(), steps, answer };
    check_graph(&workflow, &lines)?;
    let answer_entry = fields.find_entry("answer");
    References { parameters: &parameters, workflow: &workflow, lines: &lines }
        .check_all(answer_entry)?;
    let spec = AgentSpec {
        name: name.to_owned(),
        prompt: description.clone(),
        description,
        parameters,
        tools: vec![ALL_TOOLS.to_owned()],
        model: Role::Executor,
        machine: Machine::of_workflows(),
        max_steps: 1_000,
        max_calls: None,
        max_result_chars: None,
        first_tool: None,
        before: Vec::new(),
        after: None,
        answer: AnswerFormat::Text,
        context: AgentContext::Conversation,
        risk: Risk::Low,
        entry: true,
        title: Some(title),
        agent_type: None,
        tool_choice: ToolChoiceRule::Auto,
        stop_at: Vec::new(),
        hands_over: Vec::new(),
        review: read_review(&fields)?,
        workflow: Some(Box::new(workflow)),
    };
    let review_line = fields.line_of("review");
    Ok(ReadWorkflow { spec, path: path.to_owned(), lines, review_line })
}

/// Returns the name of a file without folders and without its end.
fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    FILE_ENDS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Rejects unknown keys.
fn check_keys(entries: &[KeyEntry], keys: &[&str], noun: &str) -> Result<(), Fault> {
    let Some(entry) = entries.iter().find(|entry| !keys.contains(&entry.key.as_str())) else {
        return Ok(());
    };
    let hint = match find_near_miss(&entry.key, keys.iter().copied()) {
        Some(near_miss) => format!("did you mean `{near_miss}`?"),
        None => format!("there are {}", quote_list(keys.iter().copied())),
    };
    let rule = format!("{} is not a key of {noun}: {hint}", quote(&entry.key));
    Err(Fault::new(entry.line, rule))
}

/// Returns names in backticks, with commas.
fn quote_list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the parameters; by default there are none.
fn read_parameters(fields: &Fields) -> Result<Value, Fault> {
    let Some(entry) = fields.find_entry("parameters") else {
        return Ok(json!({"type": "object", "properties": {}, "additionalProperties": false}));
    };
    let mut schema = read_own_parameters(entry)?;
    let names = properties_of(&schema).into_iter().flatten().map(|(name, _)| name.as_str());
    if let Some(name) = names.into_iter().find(|name| RESERVED_PARAMETERS.contains(name)) {
        let line = entry.node.find_line(&format!("/properties/{name}")).unwrap_or(entry.line);
        let rule = format!("`{name}` cannot be a parameter: it is a word of workflows");
        return Err(Fault::new(line, rule));
    }
    if let Some(members) = schema.as_object_mut() {
        // A misspelled argument must not be ignored.
        members.entry("additionalProperties").or_insert(false.into());
    }
    Ok(schema)
}

fn read_steps(
    fields: &Fields,
) -> Result<Vec<(djinn_core::workflow::WorkflowStep, StepLines)>, Fault> {
    const ALLOWED: &str = "a list of steps";
    let Some(entry) = fields.find_entry("steps") else {
        return Err(Fault::new(1, format!("`steps` is missing: {ALLOWED}")));
    };
    let nodes = match &entry.node.content {
        Content::List(nodes) if !nodes.is_empty() => nodes,
        _ => return Err(refuse_entry(entry, "a list of at least one step")),
    };
    if nodes.len() > MAX_WORKFLOW_STEPS {
        let rule = format!(
            "`steps` has {} steps: the limit is {MAX_WORKFLOW_STEPS}; repeat a step with `for_each`",
            nodes.len()
        );
        return Err(Fault::new(entry.line, rule));
    }
    let mut ids: Vec<&str> = Vec::new();
    let mut id_lines = Vec::new();
    for node in nodes {
        let (id, line) = step::read_id(node)?;
        if let Some(first) = ids.iter().position(|other| *other == id) {
            let first = id_lines.get(first).copied().unwrap_or_default();
            let rule = format!("the step {} stands in line {first} already", quote(id));
            return Err(Fault::new(line, rule));
        }
        ids.push(id);
        id_lines.push(line);
    }
    nodes.iter().enumerate().map(|(place, node)| read_step(node, place, &ids)).collect()
}
