//! The logic of a run: no I/O, no clock, no randomness, no async.
//!
//! Read in this order: [`entry`] (events for clients), [`input`] (inputs of a run), [`effect`] (effects that
//! a run owes), [`agent_loop`] and [`run`] (decisions), [`journal`] (storage).

pub mod agent;
pub mod agent_loop;
pub mod conversation;
mod crash;
pub mod effect;
pub mod entry;
pub mod human;
pub mod input;
pub mod journal;
pub mod replay;
pub mod run;
pub mod session;
pub mod settings;
pub mod status;

pub use djinn_budget::{budget, estimate};
pub use djinn_calls::{file, tool};
pub use djinn_failure::error_code;
pub use djinn_ids as id;
pub use djinn_messages::language;
pub use djinn_plan as plan;
