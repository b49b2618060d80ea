//! What stands beside a run's work: parts of it that take inputs of their own and owe effects of
//! their own, and that nothing of the work waits for.

use super::employees::Employees;
use super::plan_file::PlanFile;
use crate::budget::Usage;
use crate::crash::ActiveEffects;
use crate::effect::Effect;
use crate::entry::Event;
use crate::id::EntryId;
use crate::input::{Input, RunSpec};

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

/// Declares the concerns of a run: one line each.
macro_rules! concerns {
    ($($field:ident: $concern:ty = $new:expr;)+) => {
        /// All that stands beside a run's work, in the order in which it is owed.
        #[derive(Debug, Clone, PartialEq)]
        pub(super) struct Concerns {
            $(pub(super) $field: $concern,)+
        }

        impl Concerns {
            /// What stands beside the work of a run that starts.
            pub(super) fn of(spec: &RunSpec) -> Self {
                Self { $($field: $new(spec),)+ }
            }

            fn iter(&self) -> impl Iterator<Item = &dyn Concern> {
                [$(&self.$field as &dyn Concern,)+].into_iter()
            }

            fn iter_mut(&mut self) -> impl Iterator<Item = &mut dyn Concern> {
                [$(&mut self.$field as &mut dyn Concern,)+].into_iter()
            }
        }
    };
}

concerns! {
    employees: Employees = Employees::of;
    plan_file: PlanFile = PlanFile::of;
}

impl Concerns {
    /// Gives an input to the concern that it is addressed to, if it is addressed to any.
    pub(super) fn take_input(&mut self, input: &Input) -> Option<Taken> {
        self.iter_mut().find_map(|concern| concern.take_input(input))
    }

    /// What they owe now.
    pub(super) fn due(&self) -> Vec<Effect> {
        self.iter().filter_map(Concern::due).collect()
    }

    /// The driver died; what it ran then may be what it died over.
    pub(super) fn on_resumed(&mut self, ran: &ActiveEffects) {
        self.iter_mut().for_each(|concern| concern.on_resumed(ran));
    }

    /// The work has ended.
    pub(super) fn close(&mut self) {
        self.iter_mut().for_each(Concern::close);
    }
}
