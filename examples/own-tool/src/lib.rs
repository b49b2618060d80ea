//! A deployment of Djinn with a tool of its own. Agent and executor both run tools, so what is deployed is said
//! once, here.

mod working_days;

pub use working_days::{Day, WorkingDays, WorkingDaysArguments};

use djinn_wiring::Djinn;

/// Djinn with our tool beside its own.
#[must_use]
pub fn build_djinn() -> Djinn {
    Djinn::new().with_tool(WorkingDays)
}
