//! The built functions in a simulated Lambda: deadlines, hand-overs, duplicates, crashes, freezes.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on has failed"
)]

mod always;
mod chat;
mod client;
mod closing;
mod fault;
#[path = "../../shared/protocol/tests/it/client.rs"]
#[allow(dead_code, reason = "the UI's state is folded elsewhere")]
mod fold;
mod hand_over;
mod host;
mod kills;
mod pages;
mod plan;
mod scheduler;
mod story;
