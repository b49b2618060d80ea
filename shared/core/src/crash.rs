//! Drivers that died: what they may have died over, and how it is found out which it was.
//!
//! A process that stood still while an effect failed counts as one that died over it: otherwise an effect that itself
//! holds its process up would be repeated for ever.
//!
//! A death says nothing of its cause, so it counts against all that was being done. What was there
//! when two drivers died is suspect: from then on it is done by itself, one effect after the other, so
//! that a third death is that of the one that causes them. That one is given up; whatever else was
//! suspect is answered in its turn, like anything else.

use std::collections::BTreeSet;

use crate::effect::{Effect, EffectId};
use crate::id::{CallId, ChildId, MessageId};
use crate::tool::EffectClass;

/// How often a driver may die or stand still over one effect before it is given up.
pub(crate) const MAX_CRASHES: u32 = 3;

/// How often drivers may die or stand still over an effect that is not by itself.
pub(crate) const MAX_SHARED_CRASHES: u32 = MAX_CRASHES - 1;

/// What was being done when a driver died, as far as the journal tells.
#[derive(Debug)]
pub(crate) enum ActiveEffects {
    /// Whatever was owed: all that the journals of older versions say.
    All,
    /// The effects that the journal shows to have been under way, and no others.
    Only(BTreeSet<EffectId>),
}

impl ActiveEffects {
    /// What may have been done of what was owed. What waits was not, nor was a call whose start would
    /// stand in the journal.
    pub(crate) fn of(due: &[Effect]) -> Self {
        let ran = due.iter().filter(|effect| match effect {
            Effect::RunTool(run) => !run.waits && (run.started || run.class != EffectClass::Once),
            Effect::CallModel(call) => !call.waits,
            Effect::RunChild(dispatch) => !dispatch.waits,
            Effect::Wait { .. }
            | Effect::AwaitHuman(_)
            | Effect::SavePlan { .. }
            | Effect::SaveAnswer(_)
            | Effect::Deliver(_) => false,
        });
        Self::Only(ran.map(|effect| effect.id().without_interrupts().clone()).collect())
    }

    pub(crate) fn has_call(&self, call: &CallId) -> bool {
        self.contains(|| EffectId::Tool(call.clone()))
    }

    pub(crate) fn has_message(&self, message: &MessageId) -> bool {
        self.contains(|| EffectId::Model(message.clone()))
    }

    /// Older journals count none against a child, whose own journal counts what it did.
    pub(crate) fn has_child(&self, child: &ChildId) -> bool {
        matches!(self, Self::Only(ran) if ran.contains(&EffectId::Child(child.clone())))
    }

    fn contains(&self, id: impl FnOnce() -> EffectId) -> bool {
        match self {
            Self::All => true,
            Self::Only(ran) => ran.contains(&id()),
        }
    }
}

/// While anything that is owed is suspect, the first that is and can be done is done by itself: all
/// else waits.
pub(crate) fn isolate_suspect(due: &mut [Effect]) {
    let is_suspect =
        |effect: &Effect| crash_count(effect) >= MAX_SHARED_CRASHES && !effect.is_waiting();
    let Some(suspect) = due.iter().position(is_suspect) else { return };
    let others = due.iter_mut().enumerate().filter(|(place, _)| *place != suspect);
    for (_, effect) in others {
        match effect {
            Effect::CallModel(call) => call.waits = true,
            Effect::RunTool(run) => run.waits = true,
            Effect::RunChild(dispatch) => dispatch.waits = true,
            Effect::Wait { .. }
            | Effect::AwaitHuman(_)
            | Effect::SavePlan { .. }
            | Effect::SaveAnswer(_)
            | Effect::Deliver(_) => {}
        }
    }
}

/// How many drivers died or stood still while an effect was done.
fn crash_count(effect: &Effect) -> u32 {
    match effect {
        Effect::CallModel(call) => call.crashes,
        Effect::RunTool(run) => run.attempt.saturating_sub(1),
        Effect::RunChild(dispatch) => dispatch.crashes,
        Effect::Wait { .. }
        | Effect::AwaitHuman(_)
        | Effect::SavePlan { .. }
        | Effect::SaveAnswer(_)
        | Effect::Deliver(_) => 0,
    }
}
