//! The driver from outside: runs are asked for, invocations die, time passes, and what viewers see
//! stays the same. Everything happens in memory, and time is paused.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on has failed"
)]

mod account;
mod agent_story;
mod asleep;
mod awake_time;
mod budget;
mod closing;
mod compacting;
mod crash;
mod document_agents;
mod employees;
mod ensemble;
mod expiry;
mod fallback;
mod fault;
mod give_up;
mod hand_over;
mod human_requests;
mod late_viewer;
mod mail;
mod market;
mod missing;
mod nested_viewer;
mod next_agent;
mod outage;
mod paid_tree;
mod plan;
mod poison;
mod reads;
mod review;
mod search_agent;
mod seed;
mod session;
mod share;
mod sleep;
mod standstill;
mod stop;
mod story;
mod table_agents;
mod texts;
mod time;
mod too_large;
mod tool_set;
mod tool_state;
mod tree;
mod viewer;
mod wake;
mod workflow;
