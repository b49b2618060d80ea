//! The client, from outside: a scripted server on loopback that misbehaves, and real servers.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on has failed"
)]

mod fuzz;
mod hostile;
mod keys;
mod real;
mod scripted;
#[allow(dead_code, reason = "the tests of the egress client use all of it")]
#[path = "../../../egress/tests/it/server.rs"]
mod server;
