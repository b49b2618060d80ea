//! What stands beside a run's work: parts of it that take inputs of their own and owe effects of
//! their own, and that nothing of the work waits for.

use crate::budget::Usage;
use crate::crash::ActiveEffects;
use crate::effect::Effect;
use crate::entry::Event;
use crate::id::EntryId;
use crate::input::Input;

/// A part of a run beside its work.
pub(super) trait Concern {
    /// Takes an input that is addressed to it; `None` for any other.
    fn take_input(&mut self, input: &Input) -> Option<Taken>;

    /// What it owes now.
    fn due(&self) -> Option<Effect>;

    /// The driver died; what it ran then may be what it died over.
    fn on_resumed(&mut self, _ran: &ActiveEffects) {}

    /// The work has ended: what is only of use to the work is owed no longer.
    fn close(&mut self) {}
}

/// What a concern makes of an input that is addressed to it.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Whether it waited for the input; otherwise there is nothing to be recorded.
    pub(super) is_awaited: bool,
    /// The usage of the model call that the input ends, if it ends one.
    pub(super) usage: Option<Usage>,
    /// What viewers see of it.
    pub(super) event: Option<(EntryId, Event)>,
}

impl Taken {
    /// An input of which viewers see nothing, and whether anybody waited for it.
    pub(super) fn silently_if(is_awaited: bool) -> Self {
        Self { is_awaited, ..Self::default() }
    }
}
