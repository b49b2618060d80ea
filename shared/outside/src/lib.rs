//! Tools that are files. In a configuration folder, `tools/NAME.toml` describes an HTTP request,
//! `tools/servers/NAME.toml` an MCP server, and `tools/servers.lock.json` the tools of these servers.
//!
//! [`HttpTool::read`] parses and checks a file, [`HttpTool::fill`] creates the request of a call, and
//! [`HttpTool::read_answer`] reads the server's answer. Sending the request is left to the caller, and so are the
//! values of keys: a request names them.
//!
//! [`McpServer::read`] and [`LockFile::read`] do the same for servers, and [`McpServer::list_tools`] joins both.
//! [`DocumentStyle::read`] reads the theme of documents, with the same reader of fields.

mod answer;
mod definition;
mod fields;
mod header_fields;
mod lock_file;
mod mcp_tool;
mod problem;
mod request;
mod server_file;
mod template;
mod terms;
mod theme_file;
mod tool_file;

pub use answer::{
    AnswerContent, FoundFile, FoundFileContent, ToolProblem, ToolProblemCode, ToolReading,
};
pub use definition::{OutsideDefinition, WithheldReason, WithheldTool};
pub use lock_file::{LockFile, LockedServer, LockedTool, McpDefinition, ServerTransport};
pub use mcp_tool::McpTool;
pub use problem::ToolFileProblem;
pub use request::{
    FillError, HeaderPart, MAX_URL_BYTES, OutsideHeader, OutsideRequest, RequestMethod,
};
pub use server_file::{McpServer, check_server_name};
pub use terms::{MAX_TIMEOUT_S, ToolOffer, ToolTerms, ToolTrust};
pub use theme_file::DocumentStyle;
pub use tool_file::{HttpTool, MAX_NAME, check_tool_name};
