//! The logic of a run: no I/O, no clock, no randomness, no async.
//!
//! Read in this order: [`entry`] (events for clients), [`input`] (inputs of a run), [`effect`] (effects that
//! a run owes), [`agent_loop`] and [`run`] (decisions), [`journal`] (storage).

pub mod agent;
pub mod agent_loop;
pub mod budget;
mod call_bounds;
pub mod conversation;
mod crash;
pub mod effect;
pub mod entry;
pub mod error_code;
pub mod estimate;
pub mod file;
pub mod human;
pub mod id;
pub mod input;
pub mod journal;
pub mod plan;
mod repeats;
pub mod replay;
mod reply;
pub mod review;
mod role;
pub mod run;
pub mod session;
pub mod settings;
pub mod status;
pub mod time_zone;
pub mod tool;
pub mod verdict;
pub mod workflow;

pub use djinn_messages::language;
