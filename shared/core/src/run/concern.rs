//! Parts beside a run's work: they have their own inputs and effects, and the work never waits for them.

use crate::budget::Usage;
use crate::crash::ActiveEffects;
use crate::effect::Effect;
use crate::entry::Event;
use crate::id::EntryId;
use crate::input::Input;

/// A part of a run beside its work.
pub(super) trait Concern {
    /// Processes an input for this part; returns `None` for other inputs.
    fn take_input(&mut self, input: &Input) -> Option<Taken>;

    /// Returns the due effect of the part.
    fn due(&self) -> Option<Effect>;

    /// Processes a crash, which `ran` may have caused.
    fn on_resumed(&mut self, _ran: &ActiveEffects) {}

    /// Ends the part with the work: effects that only help the work are no longer due.
    fn close(&mut self) {}
}

/// The result of an input for a concern.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// True if the concern waited for the input; otherwise nothing is recorded.
    pub(super) is_awaited: bool,
    /// The usage of the model call that the input ends, if any.
    pub(super) usage: Option<Usage>,
    /// The event for viewers.
    pub(super) event: Option<(EntryId, Event)>,
}

impl Taken {
    /// Creates a result without an event.
    pub(super) fn silently_if(is_awaited: bool) -> Self {
        Self { is_awaited, ..Self::default() }
    }
}
