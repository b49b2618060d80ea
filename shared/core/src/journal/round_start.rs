//! The shared start of a round's children, encoded apart from each child's own record.

use serde::{Deserialize, Serialize};

use crate::conversation::{ChildReport, CompactedContext, Exchange};
use crate::input::RunSpec;

/// The conversation at the start of a round. Rounds of different runs are never equal: the conversation
/// contains the run's start time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RoundStart {
    question: String,
    base_prompt: String,
    history: Vec<Exchange>,
    earlier: Option<CompactedContext>,
    earlier_rounds: Vec<ChildReport>,
    deadline_ms: Option<i64>,
}

impl RoundStart {
    /// Takes the shared part out of a child's start; [`Self::restore_into`] restores the part. `None` for a
    /// root run.
    pub(super) fn take_from(spec: &mut RunSpec) -> Option<Self> {
        let child = spec.child.as_mut()?;
        Some(Self {
            earlier_rounds: std::mem::take(&mut child.earlier_rounds),
            deadline_ms: child.deadline_ms,
            question: std::mem::take(&mut spec.question),
            base_prompt: std::mem::take(&mut spec.base_prompt),
            history: std::mem::take(&mut spec.history),
            earlier: spec.earlier.take(),
        })
    }

    /// Restores the shared part into a child's start.
    pub(super) fn restore_into(self, spec: &mut RunSpec) {
        spec.question = self.question;
        spec.base_prompt = self.base_prompt;
        spec.history = self.history;
        spec.earlier = self.earlier;
        if let Some(child) = &mut spec.child {
            child.earlier_rounds = self.earlier_rounds;
        }
    }
}
