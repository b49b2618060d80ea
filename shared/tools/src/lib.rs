//! The tool API, our own tools, and content checks. A tool is a file with a [`TypedTool`]; a [`ToolRegistry`]
//! checks registered tools.
//!
//! This crate's root has everything needed for custom tools.

pub mod agent_files;
pub mod agent_tool;
mod argument_struct;
mod citation;
pub mod cite_queries_tool;
pub mod cite_tool;
pub mod collect_tool;
mod column_ranking;
pub mod connections;
pub mod content_checker;
mod database_query;
mod document;
pub mod document_templates;
pub mod fetch_tool;
mod figures;
pub mod file_tool;
pub mod insight_tool;
mod job_files;
pub mod local_folder;
pub mod look_tool;
pub mod outside_tool;
pub mod prompt_files;
pub mod python_tool;
pub mod query_tool;
pub mod registry;
pub mod render_tool;
pub mod schema;
mod search_state;
pub mod search_tool;
pub mod table_catalog;
pub mod table_files;
mod table_joins;
mod table_list;
mod table_state;
pub mod table_tool;
pub mod tool_files;
pub mod typed_tool;
mod web_page;
pub mod words;
pub mod workflow_files;

pub use djinn_core::estimate::Estimate;
pub use djinn_core::language::Language;
pub use djinn_core::tool::{
    EffectClass, ResultView, Risk, SafeArguments, ToolOutput, ToolPolicy, ToolSpec,
};
pub use djinn_runtime::port::file::Files;
pub use djinn_runtime::port::secret::Secrets;
pub use djinn_runtime::port::tool::{
    BoxFuture, Tool, ToolAudience, ToolContext, ToolError, ToolSource, ToolSourceError,
};
pub use djinn_runtime::prompt::ToolDescription;
pub use djinn_settings::InvalidSetting;

pub use registry::{RegistrationError, ToolRegistry};
pub use typed_tool::{ToolAdapter, ToolDefinition, TypedTool};
