//! Tests of the whole.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on has failed"
)]

mod ag_ui;
mod agent_files;
mod agent_plans;
mod agents;
mod ai_sdk;
mod answer;
mod attachments;
mod audit;
mod bad_inputs;
mod bad_plan;
mod budget;
mod chat_clients;
mod chat_completions;
mod clarify;
mod code;
mod come_back;
mod compacting;
mod comprehensive;
mod configuration;
mod confirm;
mod cors;
mod cost;
mod crowd;
mod deadline;
mod demo;
mod documents;
mod employees;
mod event;
mod events_page;
mod executor;
mod failure;
mod fallback;
mod fault;
mod fetched_files;
mod files;
mod human_requests;
mod identity;
mod idle;
mod ignored;
mod images;
mod join;
mod joyagent;
mod keys;
mod large;
mod layout;
mod limits;
mod links;
mod look_up;
mod matrix;
mod mcp_server;
mod mcp_servers;
mod modes;
mod next_agents;
mod original_ui;
mod outside_calls;
mod outside_kills;
mod outside_tools;
mod own_texts;
mod page;
mod pages;
mod patience;
mod people;
mod plan_forms;
mod plan_solve;
mod planner;
mod progress;
mod prompts;
mod race;
mod refused;
mod repeats;
mod report;
mod responses;
mod restart;
mod review;
mod router;
mod safety;
mod session;
mod session_files;
mod settings;
mod shares;
mod stop;
mod story;
mod streams;
mod table;
mod template;
mod text_calls;
mod token;
mod tool;
mod tool_set;
mod top_up;
mod unreachable;
mod urls;
mod user_keys;
mod users;
mod viewer;
mod web;
mod workflows;
mod world;
