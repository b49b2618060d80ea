//! The planning tool: what the planner may do with its plan. It touches nothing but the run's own
//! state, so it is answered where the reply is recorded.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::draft::drafts;
use super::{Plan, PlanError, StepDraft, StepId, StepStatus};

/// The tool's name.
pub const PLANNING_TOOL: &str = "planning";

/// What the planner asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanCommand {
    /// Make a plan.
    Create {
        /// What it is for.
        title: String,
        /// Its steps.
        steps: Vec<StepDraft>,
    },
    /// Replace the steps; what is known of those that stay is kept.
    Update {
        /// The new title, or empty.
        title: String,
        /// The steps as they are to be.
        steps: Vec<StepDraft>,
    },
    /// Set the status of one step.
    Mark {
        /// Which.
        step: StepId,
        /// To what.
        status: StepStatus,
        /// The note, or empty to keep the one there is.
        note: String,
    },
    /// Everything is done.
    Finish,
}

impl PlanCommand {
    /// Reads the tool's arguments: `command`, `title`, `steps`, `depends_on`, `step_index`,
    /// `step_status`, `step_notes`.
    ///
    /// # Errors
    /// [`PlanError::BadCommand`] names the argument; [`PlanError::UnknownDependency`].
    pub fn read(arguments: &Map<String, Value>) -> Result<Self, PlanError> {
        let text = |name: &str| match arguments.get(name) {
            Some(Value::String(text)) => text.trim().to_owned(),
            _ => String::new(),
        };
        match text("command").as_str() {
            "create" => Ok(Self::Create { title: text("title"), steps: steps(arguments)? }),
            "update" => Ok(Self::Update { title: text("title"), steps: steps(arguments)? }),
            "mark_step" => Ok(Self::Mark {
                step: step_index(arguments)?,
                status: step_status(&text("step_status"))?,
                note: text("step_notes"),
            }),
            "finish" => Ok(Self::Finish),
            _ => Err(PlanError::BadCommand { argument: "command" }),
        }
    }

    /// The plan after this command.
    ///
    /// # Errors
    /// [`PlanError`]; the plan stays as it is then.
    pub fn apply(self, plan: Option<&Plan>, max_steps: usize) -> Result<Plan, PlanError> {
        let existing = || plan.cloned().ok_or(PlanError::NoPlan);
        match self {
            Self::Create { title, steps } => match plan {
                // Steps that were worked on keep their ids also in a plan that is made anew.
                Some(plan) => plan.updated(&title, &steps, max_steps),
                None => Plan::create(&title, &steps, max_steps),
            },
            Self::Update { title, steps } => existing()?.updated(&title, &steps, max_steps),
            Self::Mark { step, status, note } => {
                let mut plan = existing()?;
                plan.mark(step, status, &note)?;
                Ok(plan)
            }
            Self::Finish => {
                let mut plan = existing()?;
                plan.finish();
                Ok(plan)
            }
        }
    }
}

fn steps(arguments: &Map<String, Value>) -> Result<Vec<StepDraft>, PlanError> {
    let bad = |argument| PlanError::BadCommand { argument };
    let Some(Value::Array(steps)) = arguments.get("steps") else {
        return Err(bad("steps"));
    };
    let lines: Option<Vec<String>> =
        steps.iter().map(|step| step.as_str().map(str::to_owned)).collect();
    let lines = lines.ok_or(bad("steps"))?;
    if lines.iter().any(|line| line.trim().is_empty()) {
        return Err(bad("steps"));
    }
    let depends_on = match arguments.get("depends_on") {
        None | Some(Value::Null) => None,
        Some(Value::Array(all)) => {
            let all: Option<Vec<BTreeSet<usize>>> = all.iter().map(numbers).collect();
            Some(all.ok_or(bad("depends_on"))?)
        }
        Some(_) => return Err(bad("depends_on")),
    };
    drafts(&lines, depends_on.as_deref())
}

/// The numbers one step waits for: a list, or one alone.
fn numbers(value: &Value) -> Option<BTreeSet<usize>> {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    match value {
        Value::Null => Some(BTreeSet::new()),
        Value::Array(all) => all.iter().map(number).collect(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Some([number(value)?].into())
        }
    }
}

/// `3`, `"3"` and `"s3"`.
fn step_index(arguments: &Map<String, Value>) -> Result<StepId, PlanError> {
    let number = match arguments.get("step_index") {
        Some(Value::Number(number)) => {
            number.as_u64().and_then(|number| u32::try_from(number).ok())
        }
        Some(Value::String(text)) => text.trim().trim_start_matches('s').parse().ok(),
        _ => None,
    };
    number.map(StepId).ok_or(PlanError::BadCommand { argument: "step_index" })
}

/// A step that the planner calls in progress is one to be worked on: tasks say what is.
fn step_status(word: &str) -> Result<StepStatus, PlanError> {
    match word {
        "not_started" | "in_progress" => Ok(StepStatus::NotStarted),
        "completed" => Ok(StepStatus::Completed),
        "blocked" => Ok(StepStatus::Blocked),
        _ => Err(PlanError::BadCommand { argument: "step_status" }),
    }
}
