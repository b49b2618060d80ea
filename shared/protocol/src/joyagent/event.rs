//! One event of the raw protocol.

use serde::Serialize;
use serde_json::{Value, json};

use super::Translator;
use djinn_core::id::TaskId;

/// One event of the raw protocol; nulls are written.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentResponse {
    /// The client's label of the question.
    pub request_id: String,
    /// Deltas and the whole of one text share it.
    pub message_id: String,
    /// Whether the payload replaces what came before under this id.
    pub is_final: bool,
    /// What kind of event it is.
    pub message_type: &'static str,
    /// The role of the tool whose event it is, if a model has named one for its task by then.
    pub digital_employee: Option<String>,
    /// Milliseconds since 1970, as a string: the UI breaks on a number.
    pub message_time: String,
    /// The planner's text, or a piece of it; Plan-Solve only.
    pub plan_thought: Option<String>,
    /// The plan in JoyAgent's own form; Plan-Solve only.
    pub plan: Option<Value>,
    /// The step that begins, as one line; Plan-Solve only.
    pub task: Option<String>,
    /// The text that came of a step; Plan-Solve only.
    pub task_summary: Option<String>,
    /// What the agent says while it works.
    pub tool_thought: Option<String>,
    /// A visible tool's result.
    pub tool_result: Option<Value>,
    /// Payload of the typed events; always an object.
    pub result_map: Value,
    /// The answer, in the run's last event.
    pub result: Option<String>,
    /// Whether the run has ended.
    pub finish: bool,
    /// The original never sets it; a hand-over says here how to go on.
    pub ext: Option<Value>,
    /// The task it belongs to: the UI's lanes. The raw protocol does not say.
    #[serde(skip)]
    pub lane: Option<TaskId>,
}

impl Translator {
    /// An event that says nothing yet.
    pub(super) fn new_event(
        &self,
        id: &str,
        message_type: &'static str,
        at_ms: i64,
    ) -> AgentResponse {
        AgentResponse {
            request_id: self.request.to_string(),
            message_id: format!("{}.{id}", self.run),
            is_final: true,
            message_type,
            digital_employee: None,
            message_time: at_ms.to_string(),
            plan_thought: None,
            plan: None,
            task: None,
            task_summary: None,
            tool_thought: None,
            tool_result: None,
            result_map: json!({"agentType": self.agent_type()}),
            result: None,
            finish: false,
            ext: None,
            lane: None,
        }
    }
}
