//! The tools of an agent: each one a file, registered in [`build_toolbox`]. Beside them, what checks content.

pub mod content_checker;
pub mod file_tool;
pub mod schema;

use std::sync::Arc;

use djinn_runtime::port::file::Files;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::prompt::Prompts;

/// The tools of a deployment. A new tool is one line here.
#[must_use]
pub fn build_toolbox<F: Files + Send + Sync + 'static>(
    files: Arc<F>,
    prompts: Arc<Prompts>,
) -> Toolbox {
    Toolbox::default().with_tool(file_tool::FileTool::new(files, prompts))
}
