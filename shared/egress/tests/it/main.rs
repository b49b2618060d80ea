//! The egress client, from outside: servers on loopback, and names whose addresses tests decide.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on has failed"
)]

mod addresses;
mod bodies;
mod bounds;
mod fuzz;
mod guard;
mod rebinding;
mod redirects;
mod server;
mod settings;
mod spellings;
mod streams;
mod world;
