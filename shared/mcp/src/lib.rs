//! A client of MCP servers.
//!
//! The protocol is that of the `rmcp` crate, and every request goes through [`djinn_egress::Egress`]: public
//! addresses only, no redirects, and limits on size and time. Servers are untrusted: a broken answer is an error of
//! its call, or a rejected tool of its listing.

mod client;
mod connection;
mod endpoint;
mod error;
mod event_channel;
mod event_limit;
mod http_requests;
mod http_transport;
mod listing;
mod result;

pub use client::{McpCall, McpClient};
pub use endpoint::{McpEndpoint, McpHeader, McpTransport};
pub use error::{McpError, McpErrorCode};
pub use listing::{MAX_PAGES, MAX_TOOLS, McpListing};
pub use result::{MAX_FILES, McpFile, McpResult, read_result};
