//! Agent files: Markdown with YAML front matter, as coding agents use them. The files are read and checked at
//! the start. A fault therefore causes a message with file and line, never a failed run.
//!
//! [`read_table`] parses the file of a table.
//!
//! [`read_workflow`] parses the file of a workflow, and [`check_workflows`] checks workflows with the agents.
//!
//! [`read_agent`] parses one file; [`check_agents`] checks all files together. [`check_arguments`] and
//! [`check_answer`] validate a call of an agent against its file. [`check_replacement`] checks templates that
//! replace the built-in templates.

mod before;
mod call_graph;
mod check;
mod fields;
mod file;
mod keys;
mod parameters;
mod problem;
mod read;
mod replacement;
mod review;
mod schema;
mod shipped;
mod table_file;
mod table_join;
mod template;
mod template_words;
mod tool_rules;
mod workflow;
mod yaml;

pub use check::{RESERVED_NAMES, check_agents, check_part};
pub use file::{AgentFile, MAX_FILE};
pub use parameters::TEMPLATE_VARIABLES;
pub use problem::FileProblem;
pub use read::{MAX_DESCRIPTION, ReadAgent, read_agent};
pub use replacement::{ReplacedTemplate, check_replacement};
pub use review::find_reviewer_problem;
pub use schema::{
    ParameterViolation, check_answer, check_arguments, fill_arguments, find_parameter_violation,
};
pub use shipped::shipped_agents;
pub use table_file::{
    AnalysisPart, DATA_ENDINGS, DatabaseRelation, DescribedColumn, TableFile, TableSources,
    read_table,
};
pub use table_join::TableJoin;
pub use template::MAX_PROMPT;
pub use workflow::{ReadWorkflow, check_workflows, read_workflow};
