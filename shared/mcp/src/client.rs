//! The client: keeps connections, lists tools and calls them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use djinn_egress::Egress;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use crate::connection::McpConnection;
use crate::endpoint::{McpEndpoint, McpTransport};
use crate::error::{McpError, McpErrorCode};
use crate::listing::{McpListing, list_all_tools};
use crate::result::{McpResult, read_result};

/// Maximum number of connections. Beyond, the oldest is closed.
const MAX_CONNECTIONS: usize = 32;

/// A client of any number of servers. Until the first call, nothing is built.
pub struct McpClient {
    egress: Egress,
    /// The open connections, oldest first: one for each server and set of keys.
    connections: Mutex<Vec<Arc<McpConnection>>>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct McpCall {
    /// The server's own name of the tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The transport that the server has spoken before.
    pub transport: McpTransport,
    /// The revision of the protocol that the server has spoken before.
    pub revision: String,
    /// The key by which the server recognises a repeat of the call.
    pub idempotency_key: String,
    /// The trace of the call, as W3C Trace Context writes it.
    pub traceparent: String,
}

impl McpClient {
    /// Creates a client without connections. The limits of `egress` apply to each request.
    #[must_use]
    pub fn new(egress: Egress) -> Self {
        Self { egress, connections: Mutex::default() }
    }

    /// Lists the tools of a server, page by page, on a new connection. Finds the transport of the server: the older
    /// transport is tried only if the URL accepts no requests of the newer.
    ///
    /// # Errors
    /// Returns [`McpError`] if the listing is incomplete. A tool with an invalid definition is an error in the
    /// listing instead.
    pub async fn list_tools(&self, endpoint: &McpEndpoint) -> Result<McpListing, McpError> {
        let deadline = Instant::now() + endpoint.timeout;
        let open = async |transport| {
            let opening = McpConnection::open(&self.egress, endpoint, transport, None);
            timeout_at(deadline, opening).await.map_err(|_| too_slow().before_call())?
        };
        let newer = open(McpTransport::StreamableHttp).await;
        let (connection, transport) = match newer {
            Ok(connection) => (connection, McpTransport::StreamableHttp),
            Err(error) if matches!(error.status, Some(400 | 404 | 405)) => {
                // The first error describes the URL best.
                let older = open(McpTransport::Sse).await.map_err(|_| error)?;
                (older, McpTransport::Sse)
            }
            Err(error) => return Err(error),
        };
        let listing = list_all_tools(&connection, transport, deadline).await;
        connection.close().await;
        listing
    }

    /// Calls a tool. A connection is kept for later calls with the same URL and headers.
    ///
    /// # Errors
    /// Returns [`McpError`] if there is no result. An error of the tool itself is a result.
    pub async fn call_tool(
        &self,
        endpoint: &McpEndpoint,
        call: McpCall,
    ) -> Result<McpResult, McpError> {
        let deadline = Instant::now() + endpoint.timeout;
        let connecting = self.find_connection(endpoint, call.transport, &call.revision);
        let connection = timeout_at(deadline, connecting).await;
        let connection = connection.map_err(|_| too_slow().before_call())??;
        let McpCall { tool, arguments, idempotency_key, traceparent, .. } = call;
        let params = CallToolRequestParams::new(tool.clone()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let meta = [("Idempotency-Key", idempotency_key), ("traceparent", traceparent)];
        let meta = meta.map(|(name, value)| (name.to_owned(), Value::from(value)));
        let left = deadline.saturating_duration_since(Instant::now());
        match connection.request(request, meta.into_iter().collect(), left).await {
            Ok(value) => match read_result(value) {
                Ok(result) if result.is_error && names_unknown_tool(&result.text, &tool) => {
                    Err(McpError::new(McpErrorCode::UnknownTool, ""))
                }
                Ok(result) => Ok(result),
                Err(detail) => Err(McpError::protocol(detail)),
            },
            Err(error) if error.code == McpErrorCode::Rejected => {
                let is_unknown = names_unknown_tool(&error.detail, &tool);
                let unknown = McpError::new(McpErrorCode::UnknownTool, "");
                Err(if is_unknown { unknown } else { error })
            }
            Err(error) => {
                // The next call connects again: the server may have been replaced.
                self.lock().retain(|kept| !Arc::ptr_eq(kept, &connection));
                Err(error)
            }
        }
    }

    async fn find_connection(
        &self,
        endpoint: &McpEndpoint,
        transport: McpTransport,
        revision: &str,
    ) -> Result<Arc<McpConnection>, McpError> {
        if let Some(kept) = self.lock().iter().find(|kept| kept.serves(endpoint)) {
            return Ok(Arc::clone(kept));
        }
        let connection =
            McpConnection::open(&self.egress, endpoint, transport, Some(revision)).await?;
        let connection = Arc::new(connection);
        if transport == McpTransport::Sse {
            // Its stream would count all answers together.
            return Ok(connection);
        }
        let mut connections = self.lock();
        if connections.len() >= MAX_CONNECTIONS {
            connections.remove(0);
        }
        connections.push(Arc::clone(&connection));
        Ok(connection)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<McpConnection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_slow() -> McpError {
    McpError::new(McpErrorCode::TooSlow, "the server did not answer in time")
}

/// Returns true if a server's words say that there is no such tool. The protocol has no code for this: servers
/// answer with `Unknown tool: NAME` or `Tool NAME not found`, as an error or as a result.
fn names_unknown_tool(words: &str, tool: &str) -> bool {
    let words = words.to_lowercase().replace(['"', '\'', '`', ':'], "");
    let tool = tool.to_lowercase();
    words.contains(&format!("unknown tool {tool}"))
        || words.contains(&format!("tool {tool} not found"))
        || words.contains(&format!("tool not found {tool}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_that_it_has_no_such_tool() {
        for (words, is_unknown) in [
            ("Unknown tool: add_note", true),
            ("MCP error -32602: Tool add_note not found (-32602)", true),
            ("Tool 'add_note' not found", true),
            ("tool not found: add_note", true),
            ("Unknown tool: other", false),
            ("the note was not found", false),
            ("", false),
        ] {
            assert_eq!(names_unknown_tool(words, "add_note"), is_unknown, "{words}");
        }
    }
}
