//! Files of tools: what is read from good ones, what is said of others, and requests that no value can change.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod bad_files;
mod good_files;
mod property;
mod servers;

use djinn_outside::HttpTool;

/// A valid file, with a placeholder in each position.
pub(crate) const GOOD: &str = r#"description = "Changes a room."
trust = "all"

[parameters]
type = "object"
required = ["id", "part"]

[parameters.properties]
id = { type = "string" }
part = { type = ["string", "integer"] }
units = { type = "string" }
tags = { type = "array", items = { type = "string" } }
note = { type = "string" }
size = {}

[request]
method = "PUT"
url = "https://api.example.com:8443/v1/rooms/{id}/x-{part}"
query = { units = "{units}", tag = "{tags}", limit = 10 }
headers = { Authorization = "Bearer {key:ROOMS}", Accept = "application/json" }
body = { note = "Note: {note}", size = "{size}", nested = [{ id = "{id}" }], brace = "{{x}}" }

[result]
pointer = "/data"
error_pointer = "/error/message"
interrupts = [{ pointer = "/code", value = 20006, message = "The credits are used up." }]
"#;

pub(crate) fn read(text: &str) -> Result<HttpTool, Vec<String>> {
    let tool = HttpTool::read("rooms", "tools/rooms.toml", text);
    tool.map_err(|problems| problems.iter().map(ToString::to_string).collect())
}
