//! The error of a call or a listing.

use std::fmt;

use djinn_egress::EgressError;

/// Maximum characters of a server's own words in an error.
const MAX_DETAIL: usize = 500;

/// The reason why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct McpError {
    /// The kind of the error.
    pub code: McpErrorCode,
    /// The HTTP status, if the server answered with another one than success.
    pub status: Option<u16>,
    /// The server's own words or the reason, without a full stop; may be empty.
    pub detail: String,
    /// True if the server may have done the call: the request was sent, and its answer was lost or is unreadable.
    pub may_be_done: bool,
}

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpErrorCode {
    /// The URL's target is forbidden. No request was sent.
    Address,
    /// A header of the endpoint is invalid. No request was sent.
    InvalidHeader,
    /// The server was unreachable, or no connection was established. No call was sent.
    Unreachable,
    /// The server took too long.
    TooSlow,
    /// The answer, or an event of a stream, is above the size limit.
    TooLarge,
    /// The server broke the connection, or violates HTTP or MCP.
    Protocol,
    /// The server answered with a redirect. None is followed.
    Redirect,
    /// The server answered with a status other than success.
    Status,
    /// The server answered with an error of JSON-RPC.
    Rejected,
    /// The server has no tool of this name.
    UnknownTool,
    /// The server asks for more than a result, such as a user's input.
    Unsupported,
}

impl McpErrorCode {
    /// Returns the code for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::InvalidHeader => "invalid_header",
            Self::Unreachable => "unreachable",
            Self::TooSlow => "too_slow",
            Self::TooLarge => "too_large",
            Self::Protocol => "protocol",
            Self::Redirect => "redirect",
            Self::Status => "status",
            Self::Rejected => "rejected",
            Self::UnknownTool => "unknown_tool",
            Self::Unsupported => "unsupported",
        }
    }
}

impl McpError {
    pub(crate) fn new(code: McpErrorCode, detail: impl Into<String>) -> Self {
        let may_be_done = matches!(
            code,
            McpErrorCode::TooSlow
                | McpErrorCode::TooLarge
                | McpErrorCode::Protocol
                | McpErrorCode::Unsupported
        );
        Self { code, status: None, detail: shorten_detail(&detail.into()), may_be_done }
    }

    pub(crate) fn protocol(detail: impl Into<String>) -> Self {
        Self::new(McpErrorCode::Protocol, detail)
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status: Some(status), ..self }
    }

    /// Returns the same error for a connection that was not established. A call was never sent.
    pub(crate) fn before_call(self) -> Self {
        let code = match self.code {
            McpErrorCode::TooSlow | McpErrorCode::Protocol | McpErrorCode::TooLarge => {
                McpErrorCode::Unreachable
            }
            other => other,
        };
        Self { code, may_be_done: false, ..self }
    }
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.as_str())?;
        if let Some(status) = self.status {
            write!(f, " (HTTP status {status})")?;
        }
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

impl From<EgressError> for McpError {
    /// Leaves out the URL, which a key may be a part of.
    fn from(error: EgressError) -> Self {
        let detail = error.to_string();
        match error {
            EgressError::Address { why, .. } => Self::new(McpErrorCode::Address, why.to_string()),
            EgressError::InvalidRequest { why } => Self::new(McpErrorCode::InvalidHeader, why),
            EgressError::Protocol { why, .. } => Self::new(McpErrorCode::Protocol, why),
            EgressError::TooLarge { .. } => Self::new(McpErrorCode::TooLarge, detail),
            EgressError::TooManyRedirects { .. } => Self::new(McpErrorCode::Redirect, ""),
            EgressError::TooSlow { .. } => Self::new(McpErrorCode::TooSlow, detail),
            EgressError::Unreachable { .. } => Self::new(McpErrorCode::Unreachable, detail),
        }
    }
}

/// Returns the words on one line, up to the maximum.
fn shorten_detail(detail: &str) -> String {
    let words = detail.split_whitespace().collect::<Vec<_>>().join(" ");
    let visible = words.chars().filter(|c| !c.is_control());
    visible.take(MAX_DETAIL).collect::<String>().trim_end_matches('.').to_owned()
}
