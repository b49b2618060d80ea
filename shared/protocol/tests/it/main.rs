//! The protocols from outside: what clients of each are sent, and what they show of it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on has failed"
)]

mod ag_ui;
mod agents;
mod ai_sdk;
mod asks;
mod audit;
mod chat_completions;
mod client;
mod early;
mod killed;
mod lanes;
mod mcp;
mod page;
mod projection;
mod report;
mod responses_api;
mod search;
#[allow(dead_code, reason = "the core's own tests use more of it")]
#[path = "../../../core/tests/it/story.rs"]
mod story;
mod tree;
