//! What a run is, and nothing else: no I/O, no clock, no randomness, no async.
//!
//! Read in this order: [`entry`] (what clients see), [`input`] (what a run can be told), [`effect`]
//! (what a run can owe), [`agent_loop`] and [`run`] (how it decides), [`journal`] (how it is kept).

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
