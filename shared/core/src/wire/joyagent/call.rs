//! What came of calls: files, results, and what failed.

use serde_json::{Map, Value, json};

use super::words::{failed_call, no_rows};
use super::{AgentResponse, Translator};
use crate::entry::Entry;
use crate::file::ProductFile;
use crate::id::CallId;
use crate::settings::OutputStyle;
use crate::tool::{FailReason, Outcome, Shown};

/// Characters of what a tool says of its failure.
const MAX_DETAIL: usize = 500;

/// A call as it was asked for.
pub(super) struct RequestedCall {
    tool: String,
    /// What people are shown of it: nothing, unless they are shown its result.
    arguments: Value,
    visible: bool,
}

impl RequestedCall {
    pub(super) fn of(tool: &str, arguments: &Value, visible: bool) -> Self {
        let arguments = if visible { arguments.clone() } else { Value::Null };
        Self { tool: tool.to_owned(), arguments, visible }
    }
}

impl Translator {
    /// What came of a call. Nobody asks for it again.
    pub(super) fn completed(
        &mut self,
        entry: &Entry,
        call: &CallId,
        outcome: &Outcome,
    ) -> Option<AgentResponse> {
        let (id, at_ms) = (entry.id.as_str(), entry.at_ms);
        let requested = self.calls.remove(&(entry.within.clone(), call.clone()))?;
        let roles = self.employees.get(&entry.within);
        let role = roles.and_then(|roles| roles.get(&requested.tool)).cloned();
        let shown = |event| Some(AgentResponse { digital_employee: role, ..event });
        let text = match outcome {
            Outcome::Done(observation) => match &observation.shown {
                Shown::FileWritten { file } => return shown(self.written(id, file, at_ms)),
                Shown::FileRead { file } => {
                    return shown(self.file(id, "读取文件", file, at_ms));
                }
                Shown::UserAnswer => {
                    let (tool, reason) = (requested.tool.as_str(), FailReason::Answered);
                    let text = failed_call(tool, reason, &observation.text, self.language);
                    return shown(self.said(entry.within.as_ref(), id, &text, at_ms));
                }
                Shown::Text if requested.visible => observation.text.clone(),
                // The plan has an event of its own.
                Shown::Text | Shown::Plan { .. } => return None,
            },
            Outcome::Failed { reason, detail } if requested.visible && has_run(*reason) => {
                format!("{}: {detail}", reason.as_str())
            }
            Outcome::Failed { reason, detail } => {
                let detail: String = detail.chars().take(MAX_DETAIL).collect();
                let text = failed_call(&requested.tool, *reason, &detail, self.language);
                return shown(self.said(entry.within.as_ref(), id, &text, at_ms));
            }
        };
        let mut event = self.event(id, "tool_result", at_ms);
        event.tool_result = Some(json!({
            "toolName": requested.tool, "toolParam": requested.arguments, "toolResult": text,
        }));
        shown(event)
    }

    /// A page is shown as such, and slides where slides were wanted.
    fn written(&self, id: &str, file: &ProductFile, at_ms: i64) -> AgentResponse {
        let is_page = file.media_type == "text/html";
        let message_type = match (is_page, self.style) {
            (false, _) => return self.file(id, "写入文件", file, at_ms),
            (true, Some(OutputStyle::Ppt)) => "ppt",
            (true, _) => "html",
        };
        self.shown_file(id, message_type, file, "", at_ms)
    }

    /// A file, by what was done with it.
    fn file(&self, id: &str, command: &str, file: &ProductFile, at_ms: i64) -> AgentResponse {
        // The UI's table breaks on a file without rows.
        if file.has_rows == Some(false) {
            let text = no_rows(file.name.as_str(), self.language);
            return self.shown_file(id, "markdown", file, &text, at_ms);
        }
        let mut event = self.event(id, "file", at_ms);
        event.result_map = json!({
            "command": command, "fileInfo": [self.file_info(file)],
            "agentType": self.agent_type(),
        });
        event
    }

    /// A file with what stands for it.
    fn shown_file(
        &self,
        id: &str,
        message_type: &'static str,
        file: &ProductFile,
        text: &str,
        at_ms: i64,
    ) -> AgentResponse {
        let mut event = self.event(id, message_type, at_ms);
        event.result_map = json!({
            "data": text, "fileInfo": [self.file_info(file)], "isFinal": true,
            "agentType": self.agent_type(),
        });
        event
    }

    fn file_info(&self, file: &ProductFile) -> Map<String, Value> {
        let name = match file.has_rows {
            // The UI opens what is called a table as one, and breaks on one without rows.
            Some(false) => format!("{}.txt", file.name),
            Some(true) | None => file.name.to_string(),
        };
        Map::from_iter([
            ("fileName".to_owned(), json!(name)),
            ("ossUrl".to_owned(), json!(self.links.download(file))),
            ("downloadUrl".to_owned(), json!(self.links.download(file))),
            ("domainUrl".to_owned(), json!(self.links.preview(file))),
            ("fileSize".to_owned(), json!(file.size)),
        ])
    }

    pub(super) fn file_list(&self, files: &[ProductFile]) -> Value {
        let listed = files.iter().map(|file| {
            let mut info = self.file_info(file);
            info.insert("description".to_owned(), json!(file.description));
            info.insert("isInternalFile".to_owned(), json!(file.internal));
            Value::Object(info)
        });
        listed.collect()
    }
}

/// Whether the tool itself failed, rather than that it was not run.
fn has_run(reason: FailReason) -> bool {
    match reason {
        FailReason::Error | FailReason::TimedOut | FailReason::Crashed | FailReason::Uncertain => {
            true
        }
        FailReason::UnknownTool
        | FailReason::BadArguments
        | FailReason::BadPlan
        | FailReason::TooMany
        | FailReason::Stopped
        | FailReason::Skipped
        | FailReason::Answered => false,
    }
}
