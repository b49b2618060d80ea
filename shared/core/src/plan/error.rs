//! Reasons why a plan cannot be created or changed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{MAX_STEP, StepId};

/// The reason why a plan cannot be created or changed. The planner reads the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum PlanError {
    /// A plan without any steps.
    #[error("a plan has at least one step")]
    Empty,
    /// More steps than the maximum.
    #[error("a plan has at most {cap} steps")]
    TooMany {
        /// The maximum number of steps.
        cap: usize,
    },
    /// A step that is too long.
    #[error("step {number} is longer than {MAX_STEP} bytes")]
    TooLong {
        /// The number of the step in the list, from 1.
        number: usize,
    },
    /// A dependency on a step that is not in the list.
    #[error("step {number} depends on step {on}, but there are {steps}")]
    UnknownDependency {
        /// The step's number in the list, from 1.
        number: usize,
        /// The step number in the dependency.
        on: usize,
        /// The number of steps in the list.
        steps: usize,
    },
    /// Steps that depend on each other.
    #[error("steps {} wait for each other", join_items(.steps))]
    Cycle {
        /// Their numbers in the list, from 1.
        steps: Vec<usize>,
    },
    /// A step that the plan does not have.
    #[error("there is no step {asked}; there are {}", join_items(.known))]
    UnknownStep {
        /// The requested step as the planner wrote it.
        asked: String,
        /// The ids of the plan's steps.
        known: Vec<StepId>,
    },
    /// A step that is no text and contains no text.
    #[error("step {number} cannot be read: it is a text, or an object with `details`")]
    BadStep {
        /// The number of the step in the list, from 1.
        number: usize,
    },
    /// A dependency that matches no step, or more than one.
    #[error("step {number} depends on `{on}`, which is no step's number and no one step's title")]
    BadDependency {
        /// The step's number in the list, from 1.
        number: usize,
        /// The beginning of the dependency as the planner wrote it.
        on: String,
    },
    /// An argument that is missing or cannot be parsed.
    #[error("`{argument}` is missing or cannot be read")]
    BadCommand {
        /// The name of the argument in the tool's schema.
        argument: String,
    },
    /// No plan exists yet.
    #[error("there is no plan yet: create one")]
    NoPlan,
}

impl PlanError {
    /// Returns the error for an argument that is missing or cannot be parsed.
    pub(super) fn bad_command(argument: &str) -> Self {
        Self::BadCommand { argument: argument.to_owned() }
    }
}

fn join_items(items: &[impl fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
