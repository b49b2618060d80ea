//! Plans, and how models write them. All of it is pure, and what a planner's call makes of a plan is
//! the same at every fold of a journal.

mod plan;

pub use plan::{
    MAX_STEP, MAX_TITLE, PLANNING_TOOL, Plan, PlanCommand, PlanError, Step, StepDraft, StepEdit,
    StepStatus, StepText, parse_drafts,
};
