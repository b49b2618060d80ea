//! Agents that other agents call. Record 0 of an agent's run holds the content of its file.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::effect::ToolChoice;
use crate::review::ReviewPolicy;
use crate::settings::{Machine, Role};
use crate::tool::{Risk, ToolSpec};
use crate::verdict::VERDICT_TOOL;
use crate::workflow::Workflow;

/// The argument with an agent's task; a step of a plan has no other argument.
pub const TASK_ARGUMENT: &str = "task";

/// The argument with the file name of an agent's answer.
pub const FILE_NAME_ARGUMENT: &str = "file_name";

/// The argument with an agent's answer, in the call of the tool in `after`.
pub const ANSWER_ARGUMENT: &str = "answer";

/// The name among an agent's tools that stands for all tools and agents of a user's run.
pub const ALL_TOOLS: &str = "all";

/// Maximum hand-overs of a run. A further hand-over fails with `too_deep`.
pub const MAX_HAND_OVERS: usize = 4;

/// The number of characters from which viewers see the text of a reply that hands the run over.
pub const MIN_SHOWN_CHARS: usize = 200;

/// An agent as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// The name for calls by models: 1-64 of `a-z 0-9 _ -`, beginning with a letter.
    pub name: String,
    /// The description for other models, 1-2 000 bytes.
    pub description: String,
    /// The instructions: a template over the arguments, at most 16 KB.
    pub prompt: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Value,
    /// The names of the tools and agents that the agent is offered. [`ALL_TOOLS`] adds those of a user's run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The role of its model (default `executor`).
    pub model: Role,
    /// The machine that works as the agent, `mode` in the file (default `react`).
    #[serde(default, rename = "mode")]
    pub machine: Machine,
    /// Maximum turns, 1-1 000, default 20.
    pub max_steps: u32,
    /// Maximum calls in one turn, 1-100; `None` sets no separate limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// Maximum characters of a tool's result in the model view, 1 000-1 000 000; `None` uses the run's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_result_chars: Option<u32>,
    /// The tool that the agent must call in its first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_tool: Option<String>,
    /// The tool choice of its turns, except the last turn (default `auto`).
    #[serde(default, skip_serializing_if = "ToolChoiceRule::is_default")]
    pub tool_choice: ToolChoiceRule,
    /// The tools whose results are the agent's answer: the agent ends with the first turn in which all calls
    /// of these tools succeed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_at: Vec<String>,
    /// The agents that can take the run over. [`ALL_TOOLS`] stands for every mode that does not hand over
    /// itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hands_over: Vec<String>,
    /// The tools and agents called with the agent's arguments before the first turn, which reads their
    /// results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<CallBefore>,
    /// The tool called with the agent's arguments and its `answer`. The tool's result is the agent's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The form of the answer (default `text`).
    #[serde(default)]
    pub answer: AnswerFormat,
    /// The information about the calling run (default `none`).
    #[serde(default)]
    pub context: AgentContext,
    /// The risk of a call of the agent (default `low`).
    #[serde(default)]
    pub risk: Risk,
    /// True if users can start runs of the agent: the agent is a mode (default false).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub entry: bool,
    /// The name for users, 1-100 characters; `None` shows `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The `agentType` of the mode in JoyAgent's protocol, 1-1 000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<u16>,
    /// The review of the answers of a mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewPolicy>,
    /// The steps of an agent that is a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Box<Workflow>>,
}

/// A call before an agent's first turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CallBefore {
    /// A tool or an agent of this name.
    Name(String),
    /// An agent with the model of another role than its own.
    WithModel {
        /// The name of the agent.
        agent: String,
        /// The role.
        model: Role,
    },
}

impl CallBefore {
    /// Returns the name of the tool or agent.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::WithModel { agent: name, .. } => name,
        }
    }

    /// Returns the role in place of the agent's own.
    #[must_use]
    pub fn model(&self) -> Option<Role> {
        match self {
            Self::Name(_) => None,
            Self::WithModel { model, .. } => Some(*model),
        }
    }
}

/// Maximum milliseconds for the file of the agent that takes a run over.
const HAND_OVER_MS: u64 = 10_000;

/// Returns the tool whose call hands the run over to this agent. The call has no `task`, because the task stays
/// the same.
#[must_use]
pub fn to_hand_over(mut agent: ToolSpec) -> ToolSpec {
    if let Some(schema) = agent.schema.as_object_mut() {
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.remove(TASK_ARGUMENT);
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| name != TASK_ARGUMENT);
        }
    }
    agent.policy.hands_over = true;
    agent.timeout_ms = HAND_OVER_MS;
    // Viewers see `agent.changed`.
    agent.visible = false;
    agent
}

/// The rule for the tool choice of an agent's turns: the key `tool_choice` of an agent file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoiceRule {
    /// The model may call tools.
    #[default]
    Auto,
    /// The model must call a tool.
    Required,
    /// The model is offered no tools.
    None,
    /// The model must call a tool until it has a result that its task needs: of a tool in `stop_at`, or of any
    /// tool if `stop_at` is empty. Then it may call tools.
    Smart,
}

impl ToolChoiceRule {
    /// Returns true for the rule of a file without the key.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The state of an agent before one of its turns, for the tool choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnState {
    /// The number of the turn, from 1.
    pub turn: u32,
    /// The number of remaining turns, including this turn.
    pub steps_left: u32,
    /// True if a tool has returned a result to the agent. A user's response is not such a result.
    pub has_result: bool,
    /// True if a closing call writes the answer when the turns are used up.
    pub has_closing_call: bool,
}

/// The form of an agent's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerFormat {
    /// The agent's last message, unchanged.
    #[default]
    Text,
    /// A document, written to the file in the argument `file_name`, or made by the tool in `after` from the
    /// answer.
    File,
    /// One JSON value that matches this schema. Another value is asked for again, at most twice.
    Json(Value),
}

/// Information about the calling run for an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentContext {
    /// Only the agent's arguments.
    #[default]
    None,
    /// The names, descriptions and sizes of the session's files.
    Files,
    /// The session's earlier questions and answers, and its files.
    Conversation,
}

impl AgentSpec {
    /// Returns true if the last message is written to a file unchanged.
    #[must_use]
    pub fn writes_answer(&self) -> bool {
        self.answer == AnswerFormat::File && self.after.is_none()
    }

    /// Returns true if the answer is a file, a value, or the result of the tool in `after`.
    #[must_use]
    pub fn is_answer_formed(&self) -> bool {
        self.answer != AnswerFormat::Text || self.after.is_some()
    }

    /// Returns true if the agent gives a verdict on the answers of the agents in `before`.
    #[must_use]
    pub fn gives_verdict(&self) -> bool {
        self.tools.iter().any(|tool| tool == VERDICT_TOOL)
    }

    /// Returns the number of agents that a user's run of this agent has turns and tool calls for: the agent itself
    /// and, if it gives a verdict, the agents in `before`.
    #[must_use]
    pub fn ensemble_size(&self) -> u32 {
        let others = if self.gives_verdict() { self.before.len() } else { 0 };
        u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Returns the tool choice of a turn. The last turn is free for the answer: the model need not call a tool,
    /// and cannot if no closing call follows.
    #[must_use]
    pub fn tool_choice(&self, state: TurnState) -> ToolChoice {
        let TurnState { turn, steps_left, has_result, has_closing_call } = state;
        let is_last = steps_left <= 1;
        let has_tools = !(self.tools.is_empty() && self.hands_over.is_empty());
        if !has_tools || (is_last && !has_closing_call) {
            return ToolChoice::None;
        }
        match (&self.first_tool, self.tool_choice) {
            (_, ToolChoiceRule::None) => ToolChoice::None,
            (_, ToolChoiceRule::Required | ToolChoiceRule::Smart) if is_last => ToolChoice::Auto,
            (Some(tool), _) if turn == 1 => ToolChoice::Named(tool.clone()),
            (_, ToolChoiceRule::Required) => ToolChoice::Required,
            // A result of a tool in `stop_at` would have ended the agent.
            (_, ToolChoiceRule::Smart) if !has_result || !self.stop_at.is_empty() => {
                ToolChoice::Required
            }
            (_, ToolChoiceRule::Auto | ToolChoiceRule::Smart) => ToolChoice::Auto,
        }
    }
}

#[cfg(test)]
mod tests;
