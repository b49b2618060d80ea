//! The tools of every deployment.

use std::sync::Arc;

use djinn_aws::AwsStore;
use djinn_runtime::port::outside::Outside;
use djinn_runtime::port::sandbox::Sandbox;
use djinn_runtime::prompt::Prompts;
use djinn_tools::cite_queries_tool::CiteQueriesTool;
use djinn_tools::cite_tool::CiteTool;
use djinn_tools::collect_tool::CollectTool;
use djinn_tools::document_templates::DocumentTemplates;
use djinn_tools::fetch_tool::FetchTool;
use djinn_tools::file_tool::FileTool;
use djinn_tools::insight_tool::InsightTool;
use djinn_tools::look_tool::LookTool;
use djinn_tools::python_tool::PythonTool;
use djinn_tools::query_tool::QueryTool;
use djinn_tools::render_tool::RenderTool;
use djinn_tools::search_tool::SearchTool;
use djinn_tools::table_catalog::TableCatalog;
use djinn_tools::table_tool::TableTool;
use djinn_tools::{ToolAdapter, TypedTool};

use crate::djinn::{ToolFactory, ToolParts};

/// The dependencies of our tools.
struct Ports {
    files: Arc<AwsStore>,
    prompts: Arc<Prompts>,
    sandbox: Arc<dyn Sandbox>,
    outside: Arc<dyn Outside>,
    tables: Arc<TableCatalog>,
    templates: Arc<DocumentTemplates>,
}

/// Returns the factories of our tools.
pub(crate) fn own_tools() -> Vec<ToolFactory> {
    vec![
        factory(|ports| FileTool::new(ports.files, ports.prompts, ports.sandbox)),
        factory(|ports| PythonTool::new(ports.files, ports.prompts, ports.sandbox)),
        factory(|ports| LookTool::new(ports.files, ports.prompts, ports.sandbox)),
        factory(|ports| CollectTool::new(ports.files, ports.prompts, ports.sandbox)),
        factory(|ports| {
            let tool = RenderTool::new(ports.files, ports.prompts, ports.sandbox);
            tool.with_templates(ports.templates)
        }),
        factory(|ports| FetchTool::new(ports.outside, ports.sandbox, ports.prompts)),
        factory(|ports| SearchTool::new(ports.files, ports.outside, ports.sandbox, ports.prompts)),
        factory(|ports| TableTool::new(ports.files, ports.prompts, ports.sandbox, ports.tables)),
        factory(|ports| QueryTool::new(ports.files, ports.prompts, ports.sandbox, ports.tables)),
        factory(|ports| InsightTool::new(ports.files, ports.prompts, ports.sandbox)),
        factory(|ports| CiteTool::new(ports.files, ports.prompts)),
        factory(|ports| CiteQueriesTool::new(ports.files, ports.prompts)),
    ]
}

fn factory<T: TypedTool + 'static>(
    make: impl Fn(Ports) -> T + Send + Sync + 'static,
) -> ToolFactory {
    Arc::new(move |parts: &ToolParts<'_>| {
        let files = Arc::clone(&parts.files);
        let prompts = Arc::clone(&parts.prompts);
        let sandbox = Arc::clone(&parts.sandbox);
        let outside = Arc::clone(&parts.outside);
        let tables = Arc::clone(&parts.tables);
        let templates = Arc::clone(&parts.templates);
        let ports = Ports { files, prompts, sandbox, outside, tables, templates };
        Ok(Arc::new(ToolAdapter::new(make(ports))))
    })
}
