//! The tools of an MCP server, listed on an operator's machine for the lock file.

use std::time::Duration;

use djinn_egress::Egress;
use djinn_mcp::{McpClient, McpEndpoint, McpHeader, McpTransport};
use djinn_outside::{HeaderPart, LockedServer, McpServer, OutsideHeader, ServerTransport};
use djinn_runtime::configuration::Variables;

use crate::configuration::key_variable;
use crate::settings::GatewaySettings;
use crate::tool_call::TOOL_LIMITS;

/// Timeout of a listing.
const LIST_TIME: Duration = Duration::from_secs(60);

/// Lists the tools of a server by the rules for calls, and returns the server's entry for the lock file. Keys come from
/// variables, such as `TOOL_KEY_NOTES`.
///
/// # Errors
/// Returns a sentence without its full stop if a key is missing, or if the list cannot be read to its end.
pub async fn list_server(
    server: &McpServer,
    variables: &Variables,
) -> Result<LockedServer, String> {
    let headers = server.headers.iter().map(|header| fill_header(header, variables));
    let endpoint = McpEndpoint {
        url: server.url.clone(),
        headers: headers.collect::<Result<_, _>>()?,
        timeout: LIST_TIME,
    };
    let settings = GatewaySettings::from_vars(&**variables).map_err(|error| error.to_string())?;
    let egress = Egress::new(settings.egress).map_err(|error| error.to_string())?;
    let client = McpClient::new(egress.with_limits(TOOL_LIMITS));
    let listing = client.list_tools(&endpoint).await.map_err(|error| error.to_string())?;
    let transport = match listing.transport {
        McpTransport::StreamableHttp => ServerTransport::StreamableHttp,
        McpTransport::Sse => ServerTransport::Sse,
    };
    Ok(LockedServer::from_listing(server, transport, &listing.revision, &listing.tools))
}

/// Returns a header with the values of its keys.
fn fill_header(header: &OutsideHeader, variables: &Variables) -> Result<McpHeader, String> {
    let mut value = String::new();
    let mut is_key = false;
    for part in &header.value {
        let name = match part {
            HeaderPart::Text(text) => {
                value.push_str(text);
                continue;
            }
            HeaderPart::Key(name) => name.as_str(),
            // Locking uses a key of the operator's own.
            HeaderPart::UserKey(name) => name.as_str(),
        };
        let variable = key_variable(name);
        let key = variables(&variable);
        value.push_str(&key.ok_or_else(|| {
            format!("the key `{name}` is needed: set it as the variable {variable}")
        })?);
        is_key = true;
    }
    Ok(McpHeader { name: header.name.clone(), value, is_key })
}
