//! Events of code: the written code, its files, and the final result.

use serde_json::{Value, json};

use super::call::CallView;
use super::{AgentResponse, Translator};
use djinn_core::entry::Entry;
use djinn_core::tool::ToolResult;
use djinn_text::truncate::truncate_text;

/// The tool that runs a block.
const BLOCK_TOOL: &str = "python";
/// The agent that writes the blocks.
const CODE_AGENT: &str = "code_interpreter";
/// Maximum bytes of the task in the title of the final result.
const MAX_TASK: usize = 300;

impl Translator {
    /// Returns the event for a block before its run.
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

    /// Returns an event for each file of a block, because the page hides a block's output event. At the end,
    /// returns the result of all blocks. `None` for other calls.
    pub(super) fn code_result_events(
        &self,
        entry: &Entry,
        call_view: &CallView,
        outcome: &ToolResult,
    ) -> Option<Vec<AgentResponse>> {
        let ToolResult::Done(output) = outcome else { return None };
        match call_view.tool() {
            BLOCK_TOOL => {
                let events = output.files.iter().enumerate().map(|(nth, file)| {
                    let id = format!("{}.{nth}", entry.id);
                    self.file_event(&id, "写入文件", file, entry.at_ms)
                });
                Some(events.collect())
            }
            // The result of all blocks, not of type code because the page would hide code.
            CODE_AGENT => {
                let task = call_view.arguments().get("task").and_then(Value::as_str);
                let files: Vec<_> = output.files.iter().map(|file| self.file_info(file)).collect();
                let mut event = self.new_event(&entry.id.to_string(), "data_analysis", entry.at_ms);
                event.result_map = json!({
                    "requestId": self.request, "task": truncate_text(task.unwrap_or_default(), MAX_TASK),
                    "data": self.with_file_urls(&output.text, "markdown"), "fileInfo": files,
                    "isFinal": true, "agentType": self.agent_type(),
                });
                Some(vec![event])
            }
            _ => None,
        }
    }
}
