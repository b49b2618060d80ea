//! The tools of an MCP server, listed on an operator's machine for the lock file.

use std::time::Duration;

use djinn_egress::Egress;
use djinn_mcp::{McpClient, McpEndpoint, McpHeader, McpTransport};
use djinn_outside::{HeaderPart, LockedServer, McpServer, OutsideHeader, ServerTransport};
use djinn_runtime::configuration::Variables;
use djinn_runtime::port::secret::{SecretError, Secrets};

use crate::configuration::{TOOL_SECRETS, key_variable};
use crate::settings::GatewaySettings;
use crate::tool_call::TOOL_LIMITS;

/// Timeout of a listing.
const LIST_TIME: Duration = Duration::from_secs(60);

/// Lists the tools of a server by the rules for calls, and returns the server's entry for the lock file. A key comes from
/// where calls on a laptop read it: a variable such as `TOOL_KEY_NOTES`, else the secret `djinn/tools/notes`.
///
/// # Errors
/// Returns a sentence without its full stop if a key is missing, or if the list cannot be read to its end.
pub async fn list_server(
    server: &McpServer,
    variables: &Variables,
    secrets: &impl Secrets,
) -> Result<LockedServer, String> {
    let mut headers = Vec::new();
    for header in &server.headers {
        headers.push(fill_header(header, variables, secrets).await?);
    }
    let endpoint = McpEndpoint { url: server.url.clone(), headers, timeout: LIST_TIME };
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
async fn fill_header(
    header: &OutsideHeader,
    variables: &Variables,
    secrets: &impl Secrets,
) -> Result<McpHeader, String> {
    let mut value = String::new();
    let mut is_key = false;
    for part in &header.value {
        let key = match part {
            HeaderPart::Text(text) => {
                value.push_str(text);
                continue;
            }
            HeaderPart::Key(name) => match variables(&key_variable(name)) {
                Some(key) => key,
                None => read_stored_key(name, secrets).await?,
            },
            // Locking uses a key of the operator's own, which no user has set.
            HeaderPart::UserKey(name) => {
                let variable = key_variable(name.as_str());
                variables(&variable).ok_or_else(|| {
                    format!(
                        "the key `{name}` is needed: set one of yours as the variable {variable}"
                    )
                })?
            }
        };
        value.push_str(&key);
        is_key = true;
    }
    Ok(McpHeader { name: header.name.clone(), value, is_key })
}

async fn read_stored_key(name: &str, secrets: &impl Secrets) -> Result<String, String> {
    match secrets.read_secret(&format!("{TOOL_SECRETS}{name}")).await {
        Ok(key) => Ok(key.reveal().to_owned()),
        Err(SecretError::Missing(why) | SecretError::Unavailable(why)) => {
            let variable = key_variable(name);
            Err(format!("the key `{name}` is needed: set it as the variable {variable} ({why})"))
        }
    }
}
