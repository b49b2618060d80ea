//! Code that is written, what it left, and what came of it in the end.

use serde_json::{Value, json};

use super::call::CallView;
use super::{AgentResponse, Translator};
use djinn_core::entry::Entry;
use djinn_core::file::ProductFile;
use djinn_core::tool::{ToolOutput, ToolResult};
use djinn_text::truncate::truncate_text;

/// The tool that runs a block.
const BLOCK_TOOL: &str = "python";
/// The agent that writes the blocks.
const CODE_AGENT: &str = "code_interpreter";
/// Bytes of a task that name the result of all blocks.
const MAX_TASK: usize = 300;

impl Translator {
    /// A block that is about to run.
    pub(super) fn code_event(
        &self,
        entry: &Entry,
        tool: &str,
        arguments: &Value,
    ) -> Option<AgentResponse> {
        let code = arguments.get("code").filter(|_| tool == BLOCK_TOOL)?.as_str()?;
        let mut event = self.new_event(&entry.id.to_string(), "code", entry.at_ms);
        event.result_map = json!({
            "code": code, "fileInfo": [], "isFinal": false, "agentType": self.agent_type(),
        });
        Some(event)
    }

    /// The files that a block left, each an event, since the page hides the event of what it printed; at the end
    /// what came of all blocks. `None` for what is neither.
    pub(super) fn code_result_events(
        &self,
        entry: &Entry,
        requested: &CallView,
        outcome: &ToolResult,
    ) -> Option<Vec<AgentResponse>> {
        let ToolResult::Done(output) = outcome else { return None };
        match requested.tool() {
            BLOCK_TOOL => Some(self.product_events(entry, &output.files)),
            CODE_AGENT => Some(vec![self.analysis_event(entry, requested, output)]),
            _ => None,
        }
    }

    fn product_events(&self, entry: &Entry, files: &[ProductFile]) -> Vec<AgentResponse> {
        let events = files.iter().enumerate().map(|(nth, file)| {
            let id = format!("{}.{nth}", entry.id);
            self.file_event(&id, "写入文件", file, entry.at_ms)
        });
        events.collect()
    }

    /// What came of all blocks. As an event of code the page would hide it.
    fn analysis_event(
        &self,
        entry: &Entry,
        requested: &CallView,
        output: &ToolOutput,
    ) -> AgentResponse {
        let task = requested.arguments().get("task").and_then(Value::as_str);
        let files: Vec<_> = output.files.iter().map(|file| self.file_info(file)).collect();
        let mut event = self.new_event(&entry.id.to_string(), "data_analysis", entry.at_ms);
        event.result_map = json!({
            "requestId": self.request, "task": truncate_text(task.unwrap_or_default(), MAX_TASK),
            "data": self.with_file_urls(&output.text, "markdown"), "fileInfo": files, "isFinal": true,
            "agentType": self.agent_type(),
        });
        event
    }
}
