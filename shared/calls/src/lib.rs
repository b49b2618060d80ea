//! Roles and replies of models, and tools as runs know them: tool sets, tool calls, tool results and their
//! files.

pub mod call_bounds;
pub mod file;
pub mod repeats;
pub mod reply;
pub mod role;
pub mod tool;
