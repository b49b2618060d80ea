//! JSON Schemas of tools that others wrote: an HTTP API's or an MCP server's.
//!
//! A provider rejects a whole request for one schema that it cannot read, and each provider reads another part of
//! JSON Schema. [`shown_form`] turns a schema into the part that all of them read, which is shown to models.
//! Arguments of a call are named back ([`ShownSchema::restore`]) and checked against the schema as its author
//! wrote it ([`OriginalSchema`]).
//!
//! The crate has no I/O, no clock and no randomness, and its work is limited for any input.

mod describe;
mod fields;
mod names;
mod original;
mod parts;
mod problem;
mod shown;
mod survey;
mod text;

pub use names::tool_name;
pub use original::OriginalSchema;
pub use problem::SchemaProblem;
pub use shown::{ShownSchema, shown_form};
pub use text::clean_description;
