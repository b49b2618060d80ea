//! What models are called for and what they said, and tools as runs know them: what was offered, what was called, what came of it, and the files that it names.

pub mod call_bounds;
pub mod file;
pub mod repeats;
pub mod reply;
pub mod role;
pub mod tool;
