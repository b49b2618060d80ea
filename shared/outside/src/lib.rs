//! Tools that are files: `tools/NAME.toml` in a configuration folder describes an HTTP request.
//!
//! [`HttpTool::read`] parses and checks a file, [`HttpTool::fill`] creates the request of a call, and
//! [`HttpTool::read_answer`] reads the server's answer. Sending the request is left to the caller, and so are the
//! values of keys: a request names them.

mod answer;
mod problem;
mod request;
mod template;
mod tool_file;

pub use answer::{
    AnswerContent, FoundFile, FoundFileContent, ToolProblem, ToolProblemCode, ToolReading,
};
pub use problem::ToolFileProblem;
pub use request::{
    FillError, HeaderPart, MAX_URL_BYTES, OutsideHeader, OutsideRequest, RequestMethod,
};
pub use tool_file::{HttpTool, MAX_NAME, MAX_TIMEOUT_S, ToolOffer, ToolTrust, check_tool_name};
