//! The choice of a question's workflow, and its missing arguments.

use djinn_core::agent::{AgentSpec, TASK_ARGUMENT};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::workflow::parse_parameter;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::texts::{ARGUMENTS, QUESTION};
use djinn_text::near_miss::find_near_miss;
use serde_json::{Map, Value, json};

use crate::api_error::ApiError;

/// The argument with the name of a workflow.
pub(crate) const WORKFLOW: &str = "workflow";

/// Returns true for the mode that runs any workflow.
pub(crate) fn runs_any_workflow(mode: &AgentSpec) -> bool {
    mode.machine.has_workflow() && mode.workflow.is_none()
}

/// Keeps the mode that runs any workflow only if there are workflows, with their names as its values.
pub(crate) fn complete_modes(modes: &mut Vec<AgentSpec>) {
    let names: Vec<&str> = list_workflows(modes).map(|mode| mode.name.as_str()).collect();
    let names = json!(names);
    let has_workflows = names != json!([]);
    modes.retain(|mode| has_workflows || !runs_any_workflow(mode));
    for mode in modes.iter_mut().filter(|mode| runs_any_workflow(mode)) {
        let schema = mode.parameters.pointer_mut("/properties/workflow");
        if let Some(members) = schema.and_then(Value::as_object_mut) {
            members.insert("enum".to_owned(), names.clone());
        }
    }
}

fn list_workflows(modes: &[AgentSpec]) -> impl Iterator<Item = &AgentSpec> {
    modes.iter().filter(|mode| mode.workflow.is_some())
}

/// Returns the workflow that a question names: the argument `workflow`, the first line of the question, or the only
/// workflow. A first line that names the workflow is removed from the question, unless nothing follows.
///
/// # Errors
/// Returns `invalid_field` with the existing workflows and a near miss.
pub(crate) fn find_workflow(
    modes: &[AgentSpec],
    arguments: &mut Map<String, Value>,
    question: &mut UserQuestion,
) -> Result<AgentSpec, ApiError> {
    if let Some(name) = arguments.remove(WORKFLOW) {
        let name = name.as_str().unwrap_or_default().trim().to_owned();
        let workflow = list_workflows(modes).find(|mode| mode.name == name);
        return workflow.cloned().ok_or_else(|| {
            let field = format!("{ARGUMENTS}.{WORKFLOW}");
            ApiError::invalid_field(field, &format!("names no workflow: {}", hint(modes, &name)))
        });
    }
    let text = question.spec.question.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let first = first.trim().trim_end_matches([':', '：']).to_lowercase();
    let is_named = |mode: &&AgentSpec| {
        mode.name == first || mode.title.as_ref().is_some_and(|title| title.to_lowercase() == first)
    };
    if let Some(mode) = list_workflows(modes).find(is_named).cloned() {
        if !rest.trim().is_empty() {
            question.spec.question = rest.trim().to_owned();
        } else if requires_task(&mode) {
            let problem = "only names the workflow: write its task in the next line";
            return Err(ApiError::invalid_field(QUESTION, problem));
        }
        return Ok(mode);
    }
    let mut workflows = list_workflows(modes);
    match (workflows.next(), workflows.next()) {
        (Some(only), None) => Ok(only.clone()),
        _ => {
            let problem = format!("names no workflow in its first line: {}", hint(modes, &first));
            Err(ApiError::invalid_field(QUESTION, &problem))
        }
    }
}

/// Returns true if a workflow cannot work without the question as its task.
pub(crate) fn requires_task(workflow: &AgentSpec) -> bool {
    let required = workflow.parameters.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|name| name == TASK_ARGUMENT))
}

/// Returns a near miss and the existing workflows.
fn hint(modes: &[AgentSpec], name: &str) -> String {
    let names = || list_workflows(modes).map(|mode| mode.name.as_str());
    let near_miss = find_near_miss(name, names()).map(|name| format!("did you mean `{name}`? "));
    let list: Vec<String> = names().map(|name| format!("`{name}`")).collect();
    format!("{}there are {}", near_miss.unwrap_or_default(), list.join(", "))
}

/// Takes the lines `NAME: VALUE` of a question as arguments, for protocols without arguments. Other lines stay the
/// question.
pub(crate) fn take_argument_lines(
    workflow: &AgentSpec,
    arguments: &mut Map<String, Value>,
    question: &mut UserQuestion,
) {
    let properties = workflow.parameters.get("properties").and_then(Value::as_object);
    let mut rest = Vec::new();
    for line in question.spec.question.lines() {
        let argument = line.split_once([':', '：']).and_then(|(name, text)| {
            let name = name.trim();
            let schema = properties?.get(name).filter(|_| name != TASK_ARGUMENT)?;
            Some((name, parse_parameter(Some(schema), text)?))
        });
        match argument {
            Some((name, value)) => drop(arguments.insert(name.to_owned(), value)),
            None => rest.push(line),
        }
    }
    let rest = rest.join("\n");
    if !rest.trim().is_empty() {
        question.spec.question = rest.trim().to_owned();
    }
}

/// Rejects missing arguments, unless the run may ask its user for them. `has_arguments` is false for protocols without
/// arguments.
///
/// # Errors
/// Returns `invalid_field` for the first missing argument; the sentence names all.
pub(crate) fn check_missing(question: &UserQuestion, has_arguments: bool) -> Result<(), ApiError> {
    let spec = &question.spec;
    let Some(mode) = spec.agent().filter(|_| spec.workflow().is_some()) else { return Ok(()) };
    let required = mode.parameters.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let is_missing = |name: &&str| *name != TASK_ARGUMENT && !spec.arguments.contains_key(*name);
    let missing: Vec<&str> = required.filter(is_missing).collect();
    let Some(first) = missing.first().filter(|_| !spec.settings.human.clarify) else {
        return Ok(());
    };
    let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    Err(if has_arguments {
        let problem = format!("is missing: the workflow `{}` needs {names}", mode.name);
        ApiError::invalid_field(format!("{ARGUMENTS}.{first}"), &problem)
    } else {
        let problem = format!(
            "lacks what the workflow `{}` needs, {names}: write a line `{first}: VALUE`",
            mode.name
        );
        let failure = Failure::new(ErrorCode::InvalidField, format!("`{QUESTION}` {problem}"));
        ApiError::from(failure).with_field(QUESTION)
    })
}
