//! The planning tool: what the planner may do with its plan. It touches nothing but the run's own
//! state, so it is answered where the reply is recorded.

use serde_json::{Map, Value};

use super::step_list::{read_step_number, read_steps};
use super::{Plan, PlanError, StepDraft, StepId, StepStatus};

/// The name of the tool by which the planner gives its commands.
pub const PLANNING_TOOL: &str = "planning";

/// What the planner asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanCommand {
    /// A plan is to be made of these steps.
    Create {
        /// What it is for.
        title: String,
        /// The steps in the order in which the planner lists them.
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
        /// The step, which the plan must have.
        step: StepId,
        /// The status that the step is to have.
        status: StepStatus,
        /// The note, or empty to keep the one there is.
        note: String,
    },
    /// The plan is finished; steps that have not begun are skipped.
    Finish,
}

impl PlanCommand {
    /// Reads the tool's arguments: `command`, `title`, `steps`, `depends_on`, `step_index`,
    /// `step_status`, `step_notes`, also in other forms than the schema's, as far as only one thing can
    /// be meant by them.
    ///
    /// # Errors
    /// [`PlanError::BadCommand`] names the argument, [`PlanError::BadStep`] and
    /// [`PlanError::BadDependency`] the step; [`PlanError::UnknownDependency`].
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

    /// The title that it gives the plan; empty if it gives none.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Create { title, .. } | Self::Update { title, .. } => title,
            Self::Mark { .. } | Self::Finish => "",
        }
    }

    /// The plan after this command.
    ///
    /// # Errors
    /// [`PlanError`]; the plan stays as it is then.
    pub fn apply_to(self, plan: Option<&Plan>, max_steps: usize) -> Result<Plan, PlanError> {
        let existing = || plan.cloned().ok_or(PlanError::NoPlan);
        match self {
            Self::Create { title, steps } => match plan {
                // Steps that were worked on keep their ids also in a plan that is made anew.
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

/// `3`, `"3"`, `"s3"` and `"step 3"`.
fn parse_step_index(arguments: &Map<String, Value>) -> Result<StepId, PlanError> {
    let number = arguments.get("step_index").and_then(read_step_number);
    let id = number.and_then(|number| u32::try_from(number).ok());
    id.map(StepId).ok_or(PlanError::bad_command("step_index"))
}

/// A step that the planner calls in progress is one to be worked on: tasks say what is.
fn parse_step_status(word: &str) -> Result<StepStatus, PlanError> {
    match normalize_word(word).as_str() {
        "not_started" | "in_progress" | "pending" | "todo" => Ok(StepStatus::NotStarted),
        "completed" | "complete" | "done" | "finished" => Ok(StepStatus::Completed),
        "blocked" | "failed" => Ok(StepStatus::Blocked),
        "skipped" | "skip" | "cancelled" | "canceled" => Ok(StepStatus::Skipped),
        _ => Err(PlanError::bad_command("step_status")),
    }
}

/// A word as we spell it: `Not started` and `not-started` are `not_started`.
fn normalize_word(word: &str) -> String {
    word.trim().to_lowercase().replace(['-', ' '], "_")
}
