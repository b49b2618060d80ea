//! Crashes of drivers, and the search for the effect that caused them.
//!
//! A process that stood still while an effect failed counts as a crash of the effect. Otherwise an effect
//! that stalls its process would be repeated for ever.
//!
//! A crash has no known cause and therefore counts against every effect in progress. An effect in progress at
//! two crashes is suspect. From then on each suspect is performed alone, so that a third crash has one
//! possible cause. The cause is given up; the other suspects are performed in order like other effects.

use std::collections::BTreeSet;

use crate::effect::{Effect, EffectId};
use crate::id::{CallId, ChildId, MessageId};
use crate::tool::EffectClass;

/// Maximum crashes and standstills of one effect before the effect is given up.
pub(crate) const MAX_CRASHES: u32 = 3;

/// Maximum crashes and standstills of an effect while other effects run at the same time.
pub(crate) const MAX_SHARED_CRASHES: u32 = MAX_CRASHES - 1;

/// The effects in progress at a crash, according to the journal.
#[derive(Debug)]
pub(crate) enum ActiveEffects {
    /// Every due effect: journals of older versions contain no more detail.
    All,
    /// Only the effects that the journal shows to have been in progress.
    Only(BTreeSet<EffectId>),
}

impl ActiveEffects {
    /// Returns the due effects that may have been in progress. Excludes waiting effects, and calls whose
    /// start would be in the journal.
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

    /// Returns true if the crash counts against this child. Older journals count no crash against a child,
    /// because the child's own journal counts its effects.
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

/// Lets all other effects wait while a suspect is due. The first suspect that can run is performed alone.
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

/// Returns the number of crashes and standstills during an effect.
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
