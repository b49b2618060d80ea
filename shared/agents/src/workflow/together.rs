//! Checks of workflows with the agents of a deployment.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::agent::{AgentSpec, TASK_ARGUMENT};
use djinn_core::workflow::WorkflowStep;
use djinn_text::near_miss::find_near_miss;
use serde_json::Value;

use super::ReadWorkflow;
use super::step::StepLines;
use crate::check::RESERVED_NAMES;
use crate::parameters::properties_of;
use crate::problem::{Fault, FileProblem, quote};
use crate::review::check_review;

/// Checks workflows of one language against the agents that exist: their names, and the agents and arguments of their
/// steps. Two workflows in this list may not share a name.
#[must_use]
pub fn check_workflows(workflows: &[ReadWorkflow], agents: &[AgentSpec]) -> Vec<FileProblem> {
    let by_name: BTreeMap<&str, &AgentSpec> =
        agents.iter().map(|agent| (agent.name.as_str(), agent)).collect();
    let mut names = BTreeSet::new();
    let mut problems = Vec::new();
    for workflow in workflows {
        let name = workflow.spec.name.as_str();
        let taken = if by_name.contains_key(name) {
            Some("the name of an agent")
        } else if RESERVED_NAMES.contains(&name) {
            Some("reserved")
        } else if !names.insert(name) {
            Some("the name of another workflow")
        } else {
            None
        };
        if let Some(whose) = taken {
            let rule = format!("the workflow is named {}, which is {whose}", quote(name));
            problems.push(Fault::new(1, rule).into_problem(&workflow.path));
        }
        let policy = workflow.spec.review.as_ref();
        let find = |name: &str| by_name.get(name).copied();
        let problem = policy.and_then(|own| check_review(own, find, by_name.keys().copied()));
        let fault = problem.map(|rule| Fault::new(workflow.review_line, rule));
        problems.extend(fault.map(|fault| fault.into_problem(&workflow.path)));
        let steps = workflow.spec.workflow.iter().flat_map(|own| &own.steps);
        let faults = steps
            .zip(&workflow.lines)
            .filter_map(|(step, lines)| check_agent(step, lines, &by_name));
        problems.extend(faults.map(|fault| fault.into_problem(&workflow.path)));
    }
    problems
}

/// Returns the problem of a step's agent or of its arguments, if any.
fn check_agent(
    step: &WorkflowStep,
    lines: &StepLines,
    by_name: &BTreeMap<&str, &AgentSpec>,
) -> Option<Fault> {
    let name = step.agent.as_str();
    if name.is_empty() {
        return None;
    }
    let Some(agent) = by_name.get(name).filter(|agent| !agent.machine.has_workflow()) else {
        let hint = find_near_miss(name, by_name.keys().copied())
            .map(|near_miss| format!(": did you mean `{near_miss}`?"))
            .unwrap_or_default();
        let rule = format!("`agent` is {}, which is not an agent{hint}", quote(name));
        return Some(Fault::new(lines.line_of("agent"), rule));
    };
    let properties = properties_of(&agent.parameters)?;
    let is_closed = agent.parameters.get("additionalProperties") == Some(&Value::Bool(false));
    let unknown = step.arguments.keys().find(|argument| !properties.contains_key(*argument));
    if let Some(argument) = unknown.filter(|_| is_closed) {
        let hint = find_near_miss(argument, properties.keys().map(String::as_str))
            .map(|near_miss| format!(": did you mean `{near_miss}`?"))
            .unwrap_or_default();
        let rule = format!(
            "`arguments` has {}, which is not a parameter of {}{hint}",
            quote(argument),
            quote(name)
        );
        return Some(Fault::new(lines.line_of(&format!("arguments.{argument}")), rule));
    }
    let required = agent.parameters.get("required").and_then(Value::as_array)?;
    let mut required = required.iter().filter_map(Value::as_str);
    let missing = required
        .find(|required| *required != TASK_ARGUMENT && !step.arguments.contains_key(*required))?;
    let rule = format!("`arguments` lacks `{missing}`, which the agent {} requires", quote(name));
    Some(Fault::new(lines.line_of("arguments"), rule))
}
