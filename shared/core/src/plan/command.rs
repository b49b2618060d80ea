//! The planning tool: the planner's commands for its plan. A command only changes the run's own state, so it
//! runs when the reply is recorded.

use serde_json::{Map, Value};

use super::step_list::{read_step_number, read_steps};
use super::{Plan, PlanError, StepDraft, StepId, StepStatus};

/// The name of the tool with which the planner gives its commands.
pub const PLANNING_TOOL: &str = "planning";

/// A command of the planner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanCommand {
    /// Create a plan with these steps.
    Create {
        /// The purpose of the plan.
        title: String,
        /// The steps in the planner's order.
        steps: Vec<StepDraft>,
    },
    /// Replace the steps; steps that stay keep their status and note.
    Update {
        /// The new title, or empty.
        title: String,
        /// The new list of steps.
        steps: Vec<StepDraft>,
    },
    /// Set the status of one step.
    Mark {
        /// The id of a step in the plan.
        step: StepId,
        /// The new status of the step.
        status: StepStatus,
        /// The new note, or empty to keep the current note.
        note: String,
    },
    /// The plan is finished; steps that have not begun are skipped.
    Finish,
}

impl PlanCommand {
    /// Parses the tool's arguments: `command`, `title`, `steps`, `depends_on`, `step_index`, `step_status`,
    /// `step_notes`. Accepts other forms than the schema's if their meaning is unambiguous.
    ///
    /// # Errors
    /// Returns [`PlanError::BadCommand`] with the argument, [`PlanError::BadStep`] or
    /// [`PlanError::BadDependency`] with the step, or [`PlanError::UnknownDependency`].
    pub fn parse(arguments: &Map<String, Value>) -> Result<Self, PlanError> {
        let text = |name: &str| match arguments.get(name) {
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        match normalize_word(&text("command")).as_str() {
            "create" => Ok(Self::Create { title: text("title"), steps: read_steps(arguments)? }),
            "update" => Ok(Self::Update { title: text("title"), steps: read_steps(arguments)? }),
            "mark_step" => Ok(Self::Mark {
                step: parse_step_index(arguments)?,
                status: parse_step_status(&text("step_status"))?,
                note: text("step_notes"),
            }),
            "finish" => Ok(Self::Finish),
            _ => Err(PlanError::bad_command("command")),
        }
    }

    /// Returns the command's title for the plan; empty for none.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Create { title, .. } | Self::Update { title, .. } => title,
            Self::Mark { .. } | Self::Finish => "",
        }
    }

    /// Returns the plan after this command.
    ///
    /// # Errors
    /// Returns [`PlanError`] if the command is invalid; the plan is then unchanged.
    pub fn apply_to(self, plan: Option<&Plan>, max_steps: usize) -> Result<Plan, PlanError> {
        let existing = || plan.cloned().ok_or(PlanError::NoPlan);
        match self {
            Self::Create { title, steps } => match plan {
                // A new plan keeps the ids of steps that were at work.
                Some(plan) => plan.with_steps(&title, &steps, max_steps),
                None => Plan::create(&title, &steps, max_steps),
            },
            Self::Update { title, steps } => existing()?.with_steps(&title, &steps, max_steps),
            Self::Mark { step, status, note } => {
                let mut plan = existing()?;
                plan.set_status(step, status, &note)?;
                Ok(plan)
            }
            Self::Finish => {
                let mut plan = existing()?;
                plan.finish_steps();
                Ok(plan)
            }
        }
    }
}

/// Parses a step number: `3`, `"3"`, `"s3"` or `"step 3"`.
fn parse_step_index(arguments: &Map<String, Value>) -> Result<StepId, PlanError> {
    let number = arguments.get("step_index").and_then(read_step_number);
    let id = number.and_then(|number| u32::try_from(number).ok());
    id.map(StepId).ok_or(PlanError::bad_command("step_index"))
}

/// Parses a status. The planner's `in_progress` counts as not started, because only tasks start steps.
fn parse_step_status(word: &str) -> Result<StepStatus, PlanError> {
    match normalize_word(word).as_str() {
        "not_started" | "in_progress" | "pending" | "todo" => Ok(StepStatus::NotStarted),
        "completed" | "complete" | "done" | "finished" => Ok(StepStatus::Completed),
        "blocked" | "failed" => Ok(StepStatus::Blocked),
        "skipped" | "skip" | "cancelled" | "canceled" => Ok(StepStatus::Skipped),
        _ => Err(PlanError::bad_command("step_status")),
    }
}

/// Converts a word to snake case: `Not started` and `not-started` become `not_started`.
fn normalize_word(word: &str) -> String {
    word.trim().to_lowercase().replace(['-', ' '], "_")
}
