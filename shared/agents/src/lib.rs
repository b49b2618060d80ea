//! Agent files: Markdown with YAML front matter, as coding agents write them. They are read and checked
//! once, at the start, so that a fault in one is a sentence with its file and line and never a run that
//! fails.
//!
//! [`read_agent`] reads one file; [`check_agents`] looks at all of them together. [`check_arguments`]
//! and [`check_answer`] hold a call of an agent to what its file says. [`check_replacement`] looks at templates
//! that take the place of ours.

mod call_graph;
mod check;
mod fields;
mod file;
mod keys;
mod near_miss;
mod parameters;
mod problem;
mod read;
mod replacement;
mod schema;
mod shipped;
mod template;
mod template_words;
mod yaml;

pub use check::{RESERVED_NAMES, check_agents};
pub use file::{AgentFile, MAX_FILE};
pub use near_miss::find_near_miss;
pub use parameters::TEMPLATE_VARIABLES;
pub use problem::FileProblem;
pub use read::{MAX_DESCRIPTION, ReadAgent, read_agent};
pub use replacement::{ReplacedTemplate, check_replacement};
pub use schema::{check_answer, check_arguments, fill_arguments};
pub use shipped::shipped_agents;
pub use template::MAX_PROMPT;
