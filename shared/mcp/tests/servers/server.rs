//! An MCP server for tests, with `rmcp`: prints its port, then serves until it is killed.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, object};

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[derive(Clone)]
struct Calculator {
    /// The name of the tool that adds.
    add: &'static str,
}

impl Calculator {
    fn add(request: &CallToolRequestParams) -> CallToolResult {
        let number =
            |name| request.arguments.as_ref().and_then(|arguments| arguments.get(name)?.as_i64());
        match number("a").zip(number("b")) {
            Some((a, b)) => text((a + b).to_string()),
            None => CallToolResult::error(vec![ContentBlock::text("a and b must be integers")]),
        }
    }
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// The key of the call, from the headers of its HTTP request.
fn key(context: &RequestContext<RoleServer>) -> String {
    let parts = context.extensions.get::<http::request::Parts>();
    let key = parts.and_then(|parts| parts.headers.get(http::header::AUTHORIZATION)?.to_str().ok());
    key.unwrap_or("None").to_owned()
}

impl ServerHandler for Calculator {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let integer = object!({ "type": "integer" });
        let numbers = object!({
            "type": "object", "properties": { "a": integer, "b": integer }, "required": ["a", "b"]
        });
        let nothing = Arc::new(object!({ "type": "object", "properties": {} }));
        Ok(ListToolsResult::with_all_items(vec![
            Tool::new(self.add, "Adds two numbers.", Arc::new(numbers)),
            Tool::new("picture", "Draws a pixel.", Arc::clone(&nothing)),
            Tool::new("fail", "Always fails.", Arc::clone(&nothing)),
            Tool::new("who", "Returns the key of the call.", Arc::clone(&nothing)),
            Tool::new("wait", "Never ends.", nothing),
        ]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = match &*request.name {
            name if name == self.add => Self::add(&request),
            "picture" => CallToolResult::success(vec![ContentBlock::image(PIXEL, "image/png")]),
            "fail" => CallToolResult::error(vec![ContentBlock::text("there is no ink")]),
            "who" => text(key(&context)),
            "wait" => {
                print_line("waiting").map_err(|error| {
                    ErrorData::internal_error(format!("stdout is closed: {error}"), None)
                })?;
                std::future::pending().await
            }
            name => {
                return Err(ErrorData::invalid_params(format!("unknown tool: {name}"), None));
            }
        };
        Ok(result.into())
    }
}

fn print_line(line: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{line}")?;
    output.flush()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let port = arguments.iter().skip_while(|argument| *argument != "--port").nth(1);
    let port: u16 = port.map_or(Ok(0), |port| port.parse())?;
    let server = Calculator { add: if has("--renamed") { "plus" } else { "add" } };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(!has("--stateless") && !has("--json"))
        .with_json_response(has("--json"));
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    print_line(&listener.local_addr()?.port().to_string())?;
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
