//! Code that is written, what it left, and what came of it in the end.

use serde_json::{Value, json};

use super::{AgentResponse, Translator};
use djinn_core::entry::Entry;
use djinn_core::file::ProductFile;
use djinn_core::tool::ToolResult;

/// The tool that runs a block.
const BLOCK_TOOL: &str = "python";
/// The agent that writes the blocks.
const CODE_AGENT: &str = "code_interpreter";

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
        tool: &str,
        outcome: &ToolResult,
    ) -> Option<Vec<AgentResponse>> {
        let ToolResult::Done(output) = outcome else { return None };
        match tool {
            BLOCK_TOOL => Some(self.product_events(entry, &output.files)),
            CODE_AGENT => Some(vec![self.code_output_event(entry, &output.text, &output.files)]),
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

    fn code_output_event(&self, entry: &Entry, text: &str, files: &[ProductFile]) -> AgentResponse {
        let mut event = self.new_event(&entry.id.to_string(), "code", entry.at_ms);
        let files: Vec<_> = files.iter().map(|file| self.file_info(file)).collect();
        event.result_map = json!({
            "codeOutput": text, "fileInfo": files, "isFinal": true,
            "agentType": self.agent_type(),
        });
        event
    }
}
