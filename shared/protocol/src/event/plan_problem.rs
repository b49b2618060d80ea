//! The errors of a rejected plan.

use djinn_core::plan::PlanError;
use serde::Serialize;

/// What is wrong with a plan that was refused. Steps are numbered as in the call's list, from 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum PublicPlanProblem<'a> {
    /// It has no steps.
    Empty,
    /// It has too many steps.
    TooMany {
        /// The most that it may have.
        cap: usize,
    },
    /// A step is too long.
    TooLong {
        /// The number of the step.
        number: usize,
    },
    /// A step depends on one that is not in the list.
    UnknownDependency {
        /// The number of the step.
        number: usize,
        /// The number that it depends on.
        on: usize,
        /// How many steps there are.
        steps: usize,
    },
    /// Steps wait for each other.
    Cycle {
        /// The numbers of these steps.
        steps: &'a [usize],
    },
    /// The plan has no such step.
    UnknownStep {
        /// What was asked for.
        asked: &'a str,
        /// The ids of the steps it has.
        known: Vec<String>,
    },
    /// A step cannot be read.
    BadStep {
        /// The number of the step.
        number: usize,
    },
    /// What a step depends on names no step, or more than one.
    BadDependency {
        /// The number of the step.
        number: usize,
        /// What was written, its beginning.
        on: &'a str,
    },
    /// An argument is missing or cannot be read.
    BadCommand {
        /// The name of the argument.
        argument: &'a str,
    },
    /// There is no plan to change.
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
