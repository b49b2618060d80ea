//! One event of the raw protocol.

use serde::Serialize;
use serde_json::{Value, json};

use super::Translator;
use djinn_core::id::TaskId;

/// One event of the raw protocol; null fields are written.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentResponse {
    /// The client's label of the question.
    pub request_id: String,
    /// The id shared by the deltas and the final text.
    pub message_id: String,
    /// True if the payload replaces all earlier payloads with this id.
    pub is_final: bool,
    /// The type of the event.
    pub message_type: &'static str,
    /// The role of the event's tool, if a model has already named a role for its task.
    pub digital_employee: Option<String>,
    /// Milliseconds since 1970, as a string: the UI breaks on a number.
    pub message_time: String,
    /// The planner's text, or a delta; Plan-Solve only.
    pub plan_thought: Option<String>,
    /// The plan in JoyAgent's own form; Plan-Solve only.
    pub plan: Option<Value>,
    /// The step at its start, as one line; Plan-Solve only.
    pub task: Option<String>,
    /// The result text of a step; Plan-Solve only.
    pub task_summary: Option<String>,
    /// The agent's text at work.
    pub tool_thought: Option<String>,
    /// A visible tool's result.
    pub tool_result: Option<Value>,
    /// Payload of the typed events; always an object.
    pub result_map: Value,
    /// The answer, in the run's last event.
    pub result: Option<String>,
    /// True if the run has ended.
    pub finish: bool,
    /// The way to resume after a handoff; unused by the original.
    pub ext: Option<Value>,
    /// The event's task, for the UI's lanes; not part of the raw protocol.
    #[serde(skip)]
    pub lane: Option<TaskId>,
}

impl Translator {
    /// Returns an event without content.
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
