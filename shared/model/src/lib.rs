//! Language models over the genai crate, and the repair of provider output.
//!
//! [`Models`] implements the runtime's model port. No genai type leaves this crate: provider output becomes a
//! [`djinn_core::input::Reply`] or a [`djinn_runtime::port::model::ModelError`].

mod attempt;
mod client;
mod draft;
mod fault;
mod frame_stream;
mod frames;
mod http;
mod outage;
mod output_limits;
mod price;
mod rejected_tools;
mod repair;
mod request;
mod settings;
mod span;
mod struct_parse;
mod text_calls;
mod tokens;
mod tool_names;
mod wire_id;

pub use client::Models;
pub use http::Http;
pub use settings::{
    FunctionCallType, ModelKey, ModelSettings, Provider, Settings, SettingsError, Temperature,
    Thinking,
};
