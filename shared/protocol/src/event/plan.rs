//! The public form of plans and plan changes.

use djinn_core::plan::{Plan, Step, StepStatus};
use serde::Serialize;

/// A plan, in events, responses and `PATCH /runs/{run}/plan`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicPlan<'a> {
    /// The title of the plan.
    pub title: &'a str,
    /// The steps in order.
    pub steps: Vec<PublicStep<'a>>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicStep<'a> {
    /// The step's id, kept when the plan changes: `s1`.
    pub id: String,
    /// The stage of the plan, a few words; may be empty.
    pub stage: &'a str,
    /// The work of the step.
    pub details: &'a str,
    /// The status of the step.
    pub status: StepStatus,
    /// The note about the step; may be empty.
    pub note: &'a str,
    /// The ids of the steps that must be completed first.
    pub depends_on: Vec<String>,
    /// The name of the step's agent; absent for any agent.
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
