//! The gateway function: reads web pages, queries search engines and calls tools, without access to any data. On
//! a laptop the gateway runs in process.

mod canonical;
mod configuration;
mod engine;
mod envelope;
mod function;
mod handler;
mod keys;
mod local_gateway;
mod page;
mod robots;
mod sealing;
mod search;
mod server_listing;
mod settings;
mod tool_call;
mod words;

pub use function::{FunctionError, run_function};
pub use local_gateway::LocalGateway;
pub use server_listing::list_server;
pub use settings::{GatewaySettings, check_engines};
