//! Workflows: fixed steps for agents, with templates over parameters and earlier results.
//!
//! A workflow is read from a file, stored in record 0, and works without a planner.

mod condition;
mod reference;
mod template;
mod value;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use condition::{Comparison, Condition, ConditionError};
pub use reference::{ITEM, Reference, ReferenceError, ReferenceSource, STEPS};
pub use template::{Template, TemplateError, is_single_reference};
pub use value::{find_field, is_empty_value, parse_parameter, parse_result, to_text};

/// Maximum steps of a workflow's file.
pub const MAX_WORKFLOW_STEPS: usize = 200;

/// Maximum items of a `for_each` list.
pub const MAX_ITEMS: usize = 1_000;

/// Maximum bytes of a `for_each` list, as JSON.
pub const MAX_LIST: usize = 1024 * 1024;

/// Maximum steps of a workflow's plan, after every list is known.
pub const MAX_PLAN_STEPS: usize = 2_000;

/// Maximum repeats of a failed step, and the default.
pub const MAX_RETRY: u32 = 5;
/// The default of the repeats of a failed step, as in plans.
pub const DEFAULT_RETRY: u32 = 1;

/// A workflow as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    /// The name for users, and the title of the plan.
    pub title: String,
    /// The steps in the file's order: 1 to [`MAX_WORKFLOW_STEPS`], without cycles.
    pub steps: Vec<WorkflowStep>,
    /// The answer. `None` for the result of the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Template>,
}

/// A step of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowStep {
    /// The name of the step: 1-64 of `a-z 0-9 _ -`, beginning with a letter.
    pub id: String,
    /// The agent of the step; empty for the agent of steps without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The work of the step.
    pub task: Template,
    /// The arguments of the agent besides `task`. Texts in them are templates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, Value>,
    /// The places (from 0) of the steps that must end before.
    pub depends_on: Vec<usize>,
    /// The condition of the step. A step whose condition does not hold is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// The list with an item for each run of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<Reference>,
    /// Maximum repeats after a failure, 0-[`MAX_RETRY`].
    pub retry: u32,
    /// True if a person must approve the step (default false).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirm: bool,
    /// The effect of a failure (default `stop`).
    #[serde(default)]
    pub on_error: OnError,
}

/// The effect of a failed step on its workflow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The run fails.
    #[default]
    Stop,
    /// The step is skipped; dependent steps begin, and its result is empty.
    Skip,
}

impl Workflow {
    /// Returns the place of the step with this id.
    #[must_use]
    pub fn find_step(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.id == id)
    }
}

impl WorkflowStep {
    /// Returns the references of the step to parameters, results and items, in its task and its arguments.
    pub fn references(&self) -> impl Iterator<Item = Reference> {
        let of_arguments = self.arguments.values().flat_map(template::list_references);
        self.task.references().cloned().chain(of_arguments)
    }
}
