//! The errors of a rejected plan.

use djinn_core::plan::PlanError;
use serde::Serialize;

/// The error in a rejected plan. Steps have the numbers of the call's list, from 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum PublicPlanProblem<'a> {
    /// The plan has no steps.
    Empty,
    /// The plan has too many steps.
    TooMany {
        /// The maximum number of steps.
        cap: usize,
    },
    /// A step is too long.
    TooLong {
        /// The number of the step.
        number: usize,
    },
    /// A step depends on a step outside the list.
    UnknownDependency {
        /// The number of the step.
        number: usize,
        /// The number of the unknown step.
        on: usize,
        /// The number of steps in the list.
        steps: usize,
    },
    /// Steps depend on each other in a cycle.
    Cycle {
        /// The numbers of these steps.
        steps: &'a [usize],
    },
    /// The plan has no such step.
    UnknownStep {
        /// The requested step.
        asked: &'a str,
        /// The ids of the plan's steps.
        known: Vec<String>,
    },
    /// A step has an unreadable form.
    BadStep {
        /// The number of the step.
        number: usize,
    },
    /// A dependency names no step, or several steps.
    BadDependency {
        /// The number of the step.
        number: usize,
        /// The beginning of the dependency's text.
        on: &'a str,
    },
    /// An argument is missing or cannot be read.
    BadCommand {
        /// The name of the argument.
        argument: &'a str,
    },
    /// The run has no plan to change.
    NoPlan,
}

impl<'a> PublicPlanProblem<'a> {
    /// Returns the public form of an error.
    #[must_use]
    pub fn new(error: &'a PlanError) -> Self {
        match error {
            PlanError::Empty => Self::Empty,
            PlanError::TooMany { cap } => Self::TooMany { cap: *cap },
            PlanError::TooLong { number } => Self::TooLong { number: *number },
            PlanError::UnknownDependency { number, on, steps } => {
                Self::UnknownDependency { number: *number, on: *on, steps: *steps }
            }
            PlanError::Cycle { steps } => Self::Cycle { steps },
            PlanError::UnknownStep { asked, known } => {
                Self::UnknownStep { asked, known: known.iter().map(ToString::to_string).collect() }
            }
            PlanError::BadStep { number } => Self::BadStep { number: *number },
            PlanError::BadDependency { number, on } => Self::BadDependency { number: *number, on },
            PlanError::BadCommand { argument } => Self::BadCommand { argument },
            PlanError::NoPlan => Self::NoPlan,
        }
    }
}
