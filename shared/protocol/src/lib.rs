//! The client view of a run: no I/O, no clock, no randomness, no async.
//!
//! A projection is a pure fold over the entries and previews of one connection, in its own file. A protocol's
//! strings appear only there.

// A new event must not pass a projection unseen.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod ag_ui;
pub mod ai_sdk;
pub mod audit;
pub mod body;
pub mod call_progress;
mod call_tracker;
pub mod chat_completions;
mod child_work;
pub mod connection;
pub mod cursor;
pub mod event;
pub mod joyagent;
pub mod joyagent_data;
pub mod joyagent_ui;
mod lanes;
pub mod link;
pub mod mcp;
pub mod mode_support;
pub mod native;
mod open_requests;
pub mod preview;
pub mod refusal;
pub mod request;
pub mod responses_api;
mod text_tracker;
mod turn_tracker;
mod work_lines;
