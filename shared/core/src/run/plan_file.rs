//! The plan as a file: written anew after every word of the planner that changed it.

use super::concern::{Concern, Taken};
use crate::effect::Effect;
use crate::input::{Input, RunSpec};
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
    /// Whether it is kept at all: the file is that of the root's plan.
    is_kept: bool,
}

impl PlanFile {
    /// The file of a run that has no plan yet.
    pub(super) fn of(spec: &RunSpec) -> Self {
        Self { is_kept: spec.child.is_none(), ..Self::default() }
    }

    /// Takes the plan after a word of the planner.
    pub(super) fn set_plan(&mut self, plan: &Plan) {
        if self.plan.as_ref() != Some(plan) {
            self.plan = Some(plan.clone());
            self.version += 1;
            if self.is_kept {
                self.due_version.get_or_insert(self.version);
            }
        }
    }

    /// The plan's version: how often it was made or changed.
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// What the file is to hold.
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
