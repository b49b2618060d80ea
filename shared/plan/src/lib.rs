//! Plans, and the forms in which models write them. The code is pure: a planner's call has the same effect at
//! every fold of a journal.

mod plan;

pub use plan::{
    MAX_STEP, MAX_TITLE, PLANNING_TOOL, Plan, PlanCommand, PlanError, Step, StepDraft, StepEdit,
    StepStatus, StepText, parse_drafts,
};
