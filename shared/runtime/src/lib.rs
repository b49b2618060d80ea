//! Drives runs: folds a journal, performs due effects through [`port`]s, and appends the results.
//!
//! Independent of any vendor: no AWS, no model provider, no HTTP.

pub mod account;
pub mod awake_time;
pub mod client;
pub mod configuration;
pub mod content;
pub mod deadline;
pub mod driver;
mod ending;
pub mod estimates;
mod gathering;
pub mod history;
mod image_scaling;
mod leased_run;
mod live_reader;
mod mailbox;
mod pages;
pub mod perform;
pub mod port;
pub mod prompt;
pub mod question;
pub mod rate_limits;
mod reconnect;
pub mod render;
mod response_capability;
pub mod serve;
pub mod settings;
pub mod shutdown;
pub mod sleep;
pub mod telemetry;
pub mod text_response;
pub mod texts;
pub mod verification;
pub mod world;
