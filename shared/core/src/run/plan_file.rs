//! The plan as a file: written anew after every word of the planner that changed it.

use crate::effect::Effect;
use crate::plan::Plan;

/// The name of the file that holds a session's newest plan (JoyAgent's own).
pub const PLAN_FILE: &str = "TODO.md";

/// The newest plan of a run, and whether its file holds it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PlanFile {
    plan: Option<Plan>,
    version: u32,
    /// The version that is being written. A newer one waits: of two writes at once, the older might
    /// be the last.
    due_version: Option<u32>,
}

impl PlanFile {
    /// Takes the plan after a word of the planner.
    pub(super) fn set_plan(&mut self, plan: &Plan) {
        if self.plan.as_ref() != Some(plan) {
            self.plan = Some(plan.clone());
            self.version += 1;
            self.due_version.get_or_insert(self.version);
        }
    }

    /// Takes the answer for a version. `None` if that is not owed, or no longer.
    pub(super) fn mark_saved(&mut self, version: u32) -> Option<()> {
        self.due_version.take_if(|owed| *owed == version)?;
        self.due_version = Some(self.version).filter(|newest| *newest > version);
        Some(())
    }

    pub(super) fn version(&self) -> u32 {
        self.version
    }

    pub(super) fn due_save(&self) -> Option<Effect> {
        self.due_version.map(|version| Effect::SavePlan { version })
    }

    /// What the file is to hold.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }
}
