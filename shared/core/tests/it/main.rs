//! The core from outside: its machine as a table, its invariants as properties, its projections as
//! snapshots, and a journal that every later version must still fold.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot go on has failed"
)]

mod answer;
mod asks;
mod budget;
mod client;
mod compacting;
mod confirm;
mod crash;
mod deny;
mod early;
mod employees;
mod feedback;
mod golden;
mod ids;
mod lanes;
mod machine;
mod masking;
mod page;
mod plan;
mod plan_solve;
mod projection;
mod property;
mod seen;
mod story;
mod taint;
mod top_up;
mod urls;
