//! Agents that others call: what the file of one says of it, as record 0 of its runs holds it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::effect::ToolChoice;
use crate::settings::{Mode, Role};
use crate::tool::Risk;

/// The argument that says what an agent is to do; the only one that a step of a plan has.
pub const TASK_ARGUMENT: &str = "task";

/// The argument of an agent that names the file its answer is to be.
pub const FILE_NAME_ARGUMENT: &str = "file_name";

/// The argument of the tool that is called with an agent's answer.
pub const ANSWER_ARGUMENT: &str = "answer";

/// An agent as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// What a model calls it by: 1-64 of `a-z 0-9 _ -`, beginning with a letter.
    pub name: String,
    /// What other models are told about it, 1-2 000 bytes.
    pub description: String,
    /// Its instructions: a template over its arguments, at most 16 KB.
    pub prompt: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
    /// The tools and agents that it is offered, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Whose model it uses (default `executor`).
    pub model: Role,
    /// How it works (default `react`).
    #[serde(default)]
    pub mode: Mode,
    /// Turns that it may take, 1-1 000, default 20.
    pub max_steps: u32,
    /// Calls that it may make in one turn, 1-100; none has no bound of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// Characters of a tool's result that it is shown, 1 000-1 000 000; none has the run's own bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_result_chars: Option<u32>,
    /// The tool that it must call in its first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_tool: Option<String>,
    /// The tools that are called with its arguments before its first turn, which is told their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// The tool that is called with its arguments and its `answer`: what comes of that is its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The form of its answer (default `text`).
    #[serde(default)]
    pub answer: AnswerFormat,
    /// What it is told of the run that calls it (default `none`).
    #[serde(default)]
    pub context: AgentContext,
    /// How much harm a call of it can do (default `low`).
    #[serde(default)]
    pub risk: Risk,
}

/// The form of an agent's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerFormat {
    /// Its last words, as they stand.
    #[default]
    Text,
    /// Its last words are a document, which is written to the file that its argument `file_name` names, or made
    /// by the tool that its file has called with its answer.
    File,
    /// One JSON value that keeps this schema. What does not is asked for again, twice.
    Json(Value),
}

/// What an agent is told of the run that calls it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentContext {
    /// Nothing but its arguments.
    #[default]
    None,
    /// The names, descriptions and sizes of the session's files.
    Files,
    /// The session's earlier questions and answers, and its files.
    Conversation,
}

impl AgentSpec {
    /// Whether its last words are written to a file as they stand.
    #[must_use]
    pub fn writes_answer(&self) -> bool {
        self.answer == AnswerFormat::File && self.after.is_none()
    }

    /// Whether it may, must or must not call tools in a turn, counted from 1, of which `steps_left` may
    /// follow with it. The last one is for its answer.
    #[must_use]
    pub fn tool_choice(&self, turn: u32, steps_left: u32) -> ToolChoice {
        match &self.first_tool {
            _ if self.tools.is_empty() || steps_left <= 1 => ToolChoice::None,
            Some(tool) if turn == 1 => ToolChoice::Named(tool.clone()),
            Some(_) | None => ToolChoice::Auto,
        }
    }
}
