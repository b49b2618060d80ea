//! The public form of plans and plan changes.

use djinn_core::plan::{Plan, Step, StepStatus};
use serde::Serialize;

/// A plan: in events, in answers, and in what `PATCH /runs/{run}/plan` takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicPlan<'a> {
    /// What it is for.
    pub title: &'a str,
    /// Its steps, in their order.
    pub steps: Vec<PublicStep<'a>>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicStep<'a> {
    /// Its name, which it keeps when the plan changes: `s1`.
    pub id: String,
    /// What it belongs to, a few words; may be empty.
    pub stage: &'a str,
    /// What is to be done.
    pub details: &'a str,
    /// How far it is.
    pub status: StepStatus,
    /// What is noted about it; may be empty.
    pub note: &'a str,
    /// The steps that must be completed before it begins, by their ids.
    pub depends_on: Vec<String>,
    /// The agent that is to do it; absent for any.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub agent: &'a str,
}

impl<'a> PublicPlan<'a> {
    /// Returns the public form of a plan.
    #[must_use]
    pub fn new(plan: &'a Plan) -> Self {
        Self { title: &plan.title, steps: plan.steps().iter().map(PublicStep::new).collect() }
    }
}

impl<'a> PublicStep<'a> {
    fn new(step: &'a Step) -> Self {
        Self {
            id: step.id.to_string(),
            stage: &step.stage,
            details: &step.details,
            status: step.status,
            note: &step.note,
            depends_on: step.depends_on.iter().map(ToString::to_string).collect(),
            agent: &step.agent,
        }
    }
}
