//! The list of all parts beside a run's work.

use super::concern::{Concern, Taken};
use super::employees::Employees;
use super::plan_file::PlanFile;
use crate::crash::ActiveEffects;
use crate::effect::Effect;
use crate::input::{Input, RunSpec};

/// Declares the concerns of a run: one line each.
macro_rules! concerns {
    ($($field:ident: $concern:ty = $new:expr;)+) => {
        /// All parts beside a run's work, in the order of their effects.
        #[derive(Debug, Clone, PartialEq)]
        pub(super) struct Concerns {
            $(pub(super) $field: $concern,)+
        }

        impl Concerns {
            /// Creates the parts of a new run.
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
    /// Passes an input to the concern that accepts the input, if any.
    pub(super) fn take_input(&mut self, input: &Input) -> Option<Taken> {
        self.iter_mut().find_map(|concern| concern.take_input(input))
    }

    /// Returns the due effects of all concerns.
    pub(super) fn due(&self) -> Vec<Effect> {
        self.iter().filter_map(Concern::due).collect()
    }

    /// Processes a crash, which `ran` may have caused.
    pub(super) fn on_resumed(&mut self, ran: &ActiveEffects) {
        self.iter_mut().for_each(|concern| concern.on_resumed(ran));
    }

    /// Ends all concerns with the work.
    pub(super) fn close(&mut self) {
        self.iter_mut().for_each(Concern::close);
    }
}
