//! The core from outside: its machine as a table, its invariants as properties, its projections as
//! snapshots, and a journal that every later version must still fold.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on has failed"
)]

mod agents;
mod answer;
mod budget;
mod chain;
mod compacting;
mod confirm;
mod crash;
mod employees;
mod ensemble;
mod golden;
mod human_requests;
mod ids;
mod machine;
mod plan_solve;
mod plans;
mod property;
mod replays;
mod review;
mod seen;
#[allow(dead_code, reason = "the tests of the protocols use more of it")]
mod story;
mod taint;
mod tool_set;
mod top_up;
mod workflow;
