//! Stories on a deployed stack: template.yaml as deployed by `sam deploy` to an emulator of AWS, with the built
//! functions, signatures and role policies.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod approval;
mod code;
mod deletion;
mod files;
mod kill;
mod page;
mod plan;
mod question;
mod story;
mod web;
#[allow(dead_code, reason = "the client of other stories")]
mod world;
