//! The tools of a server, listed page by page.

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, Tool};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::connection::McpConnection;
use crate::endpoint::McpTransport;
use crate::error::{McpError, McpErrorCode};

/// Maximum number of pages of a listing.
pub const MAX_PAGES: usize = 200;

/// Maximum number of tools of a server.
pub const MAX_TOOLS: usize = 10_000;

/// The tools of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpListing {
    /// The transport that the server speaks.
    pub transport: McpTransport,
    /// The negotiated revision of the protocol.
    pub revision: String,
    /// The definition of each tool, or the problem of an invalid definition as a sentence without its full stop.
    pub tools: Vec<Result<Value, String>>,
}

/// Lists all tools.
///
/// # Errors
/// Returns [`McpError`] unless every page was read before the deadline.
pub(crate) async fn list_all_tools(
    connection: &McpConnection,
    transport: McpTransport,
    deadline: Instant,
) -> Result<McpListing, McpError> {
    let mut tools = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
        let left = deadline.saturating_duration_since(Instant::now());
        let page = connection.request(request, Map::new(), left).await?;
        let Value::Object(mut page) = page else {
            return Err(McpError::protocol("a page of the listing is no object"));
        };
        let Some(Value::Array(definitions)) = page.remove("tools") else {
            return Err(McpError::protocol("a page of the listing has no `tools`"));
        };
        tools.extend(definitions.into_iter().map(read_tool));
        if tools.len() > MAX_TOOLS {
            let detail = format!("the server has more than {MAX_TOOLS} tools");
            return Err(McpError::new(McpErrorCode::TooLarge, detail));
        }
        let next = match page.remove("nextCursor") {
            Some(Value::String(next)) if !next.is_empty() => next,
            None | Some(Value::Null | Value::String(_)) => {
                let revision = connection.revision();
                return Ok(McpListing { transport, revision, tools });
            }
            Some(_) => {
                return Err(McpError::protocol("a page of the listing has no text as its cursor"));
            }
        };
        if cursor.as_ref() == Some(&next) {
            return Err(McpError::protocol("the listing repeats its cursor"));
        }
        cursor = Some(next);
    }
    let detail = format!("the listing has more than {MAX_PAGES} pages");
    Err(McpError::new(McpErrorCode::TooLarge, detail))
}

/// Returns the definition with the fields that the protocol knows.
fn read_tool(definition: Value) -> Result<Value, String> {
    let name = match definition.get("name").and_then(Value::as_str) {
        Some(name) => name.chars().take(100).collect(),
        None => "without a name".to_owned(),
    };
    let refuse = |why: String| format!("the tool {name:?} has an invalid definition: {why}");
    let tool = serde_json::from_value::<Tool>(definition);
    let tool = tool.map_err(|error| refuse(error.to_string()))?;
    serde_json::to_value(tool).map_err(|error| refuse(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_needs_a_name_and_an_object_of_parameters() {
        let schema = json!({"type": "object"});
        for (definition, is_valid) in [
            (json!({"name": "a", "inputSchema": schema}), true),
            (json!({"name": "a", "inputSchema": schema, "x": 1}), true),
            (json!({"name": 1, "inputSchema": schema}), false),
            (json!({"name": "a"}), false),
            (json!({"name": "a", "inputSchema": []}), false),
            (json!({"name": "a", "inputSchema": schema, "description": {}}), false),
            (json!("a"), false),
            (json!(null), false),
        ] {
            assert_eq!(read_tool(definition.clone()).is_ok(), is_valid, "{definition}");
        }
    }
}
