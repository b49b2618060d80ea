//! The gateway function: reads pages of the web and asks search engines, and holds nothing worth stealing. On a
//! laptop it works in process.

mod canonical;
mod engine;
mod envelope;
mod function;
mod handler;
mod local_gateway;
mod page;
mod robots;
mod search;
mod settings;
mod words;

pub use function::{FunctionError, run_function};
pub use local_gateway::LocalGateway;
pub use settings::GatewaySettings;
