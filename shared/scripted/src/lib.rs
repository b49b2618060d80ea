//! A scripted model server: real HTTP streams in the formats of OpenAI, Anthropic and Ollama, with responses
//! from a test or the demo.
//!
//! ```no_run
//! # async fn a_test() -> std::io::Result<()> {
//! use djinn_scripted::ScriptedModel;
//! use serde_json::json;
//!
//! let model = ScriptedModel::start().await?;
//! model
//!     .on("what does it cost?")
//!     .say("I look it up.")
//!     .call("web_fetch", json!({"url": "https://example.com/price"}))
//!     .then()
//!     .reply("12 EUR");
//! let gate = model.on("and in stock?").reply("3 left").gate(1);
//! // … send the system's requests to model.base_url() …
//! gate.wait_until_reached().await; // The second answer has sent its opening and now waits.
//! gate.open();
//! model.assert_done();
//! # Ok(())
//! # }
//! ```
//!
//! An unexpected request returns status 500 and fails the test. The same applies to a request that a provider
//! would reject, for example with an unanswered tool call. It also applies if the rule calls a tool missing in
//! the request.

mod bench;
mod check;
mod demo;
mod gate;
mod request;
mod response;
mod rule;
mod script;
mod server;
mod wire;

pub use bench::Bench;
pub use bench::plan::PlanBench;
pub use gate::ChunkGate;
pub use request::{
    MessageRole, RecordedCall, RecordedImage, RecordedMessage, RecordedRequest, RecordedResult,
    RequestTool,
};
pub use response::{STAMP, ScriptedResponse};
pub use rule::Rule;
pub use script::Script;
pub use server::ScriptedModel;
pub use wire::ProviderProtocol;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose content stays valid after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
