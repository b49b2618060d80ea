//! The plan as a file, which is written after each change by the planner.

use super::concern::{Concern, Taken};
use crate::effect::Effect;
use crate::input::{Input, RunSpec};
use crate::plan::Plan;

/// The name of the file with a session's newest plan (JoyAgent's own).
pub const PLAN_FILE: &str = "TODO.md";

/// The newest plan of a run, and the state of its file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PlanFile {
    plan: Option<Plan>,
    version: u32,
    /// The version that is being written. A newer version waits: of two parallel writes, the older could
    /// finish last.
    due_version: Option<u32>,
    /// True if the plan has a file: only the root's plan does.
    is_kept: bool,
}

impl PlanFile {
    /// Creates the state of a run without a plan.
    pub(super) fn of(spec: &RunSpec) -> Self {
        Self { is_kept: spec.child.is_none(), ..Self::default() }
    }

    /// Sets the plan after a change by the planner or a user.
    pub(super) fn set_plan(&mut self, plan: &Plan) {
        if self.plan.as_ref() != Some(plan) {
            self.plan = Some(plan.clone());
            self.version += 1;
            if self.is_kept {
                self.due_version.get_or_insert(self.version);
            }
        }
    }

    /// Returns the plan's version, which is the number of its changes.
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }
}

impl Concern for PlanFile {
    fn take_input(&mut self, input: &Input) -> Option<Taken> {
        let Input::PlanSaved { version } = input else { return None };
        let is_due = self.due_version.take_if(|due| due == version).is_some();
        if is_due {
            self.due_version = Some(self.version).filter(|newest| newest > version);
        }
        Some(Taken::silently_if(is_due))
    }

    fn due(&self) -> Option<Effect> {
        self.due_version.map(|version| Effect::SavePlan { version })
    }
}
