//! The location of a server, and the headers of its requests.

use std::fmt;
use std::time::Duration;

/// The location of a server.
#[derive(Clone, PartialEq, Eq)]
pub struct McpEndpoint {
    /// The URL of the server, as its file has it.
    pub url: String,
    /// The headers of every request.
    pub headers: Vec<McpHeader>,
    /// The timeout of a call or a listing, including a new connection.
    pub timeout: Duration,
}

/// A header of every request to a server.
#[derive(Clone, PartialEq, Eq)]
pub struct McpHeader {
    /// The name.
    pub name: String,
    /// The value, with keys in place.
    pub value: String,
    /// True if the value contains a key.
    pub is_key: bool,
}

impl McpEndpoint {
    /// Returns true if both have the same URL and headers, so that they can share a connection.
    pub(crate) fn is_same_server(&self, other: &Self) -> bool {
        self.url == other.url && self.headers == other.headers
    }
}

/// Omits the values of headers, because these may be secret.
impl fmt::Debug for McpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|header| &header.name).collect();
        f.debug_struct("McpEndpoint")
            .field("url", &self.url)
            .field("headers", &names)
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// Omits the value.
impl fmt::Debug for McpHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpHeader").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The transport of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpTransport {
    /// Streamable HTTP, of the revisions since 2025-03-26.
    StreamableHttp,
    /// HTTP with server-sent events, of the revision 2024-11-05.
    Sse,
}

impl McpTransport {
    /// Returns the name in a lock file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StreamableHttp => "streamable_http",
            Self::Sse => "sse",
        }
    }
}
