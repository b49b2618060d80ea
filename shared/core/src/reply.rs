//! Replies of models, after repair.

use crate::budget::Usage;
use crate::id::MessageId;
use crate::role::Role;
use serde::{Deserialize, Serialize};

use crate::tool::{OfferedTool, ToolArguments, ToolSetRef};

/// The reasoning of a model before its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The reasoning in plain text, with whole URLs; empty if the provider shows none.
    pub text: String,
    /// Data that the model's client needs to send the reasoning back with the turn. Opaque to all other code;
    /// may exist without any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The reasoning as the model wrote it, if it contained placeholders for URLs. The model receives this
    /// form again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

/// A complete reply, with the offered tools and the omitted context of its request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReplied {
    /// The id of the message.
    pub message: MessageId,
    /// The reply after repair, as it joins the conversation.
    pub reply: Reply,
    /// The tools of the request with their declarations. Empty if no tool was offered, or if an earlier
    /// record of the journal holds the tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<OfferedTool>,
    /// The set of the offered tools. `None` if no tool was offered, and in old records, whose tools have the
    /// estimates of their turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_set: Option<ToolSetRef>,
    /// The context that was left out of the request, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<DroppedContext>,
    /// The use of the model's window by the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowUsage>,
    /// The reason why the reply does not match the answer format of the agent's file, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_problem: Option<String>,
}

/// A model's reply, after repair.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The text for the user; empty if the reply only calls tools.
    #[serde(default)]
    pub text: String,
    /// The reasoning before the text, if the model shows any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// The requested tool calls, in the model's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RequestedCall>,
    /// The reason why the reply ended; shows if the reply was cut off.
    pub finish: FinishReason,
    /// The tokens and money of the reply, including attempts without a record.
    pub usage: Usage,
}

/// A tool call as the model requested it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The name of the tool as the model wrote it, known or not.
    pub tool: String,
    /// The arguments after repair, or the text that could not be parsed.
    pub arguments: ToolArguments,
    /// The role whose model works as the called agent, if an agent's file names another role than the agent's
    /// own. `None` for every call of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Role>,
}

impl RequestedCall {
    /// Creates a call as a model requests it.
    #[must_use]
    pub fn new(tool: impl Into<String>, arguments: ToolArguments) -> Self {
        Self { tool: tool.into(), arguments, model: None }
    }
}

/// The reason that a reply ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done, or requested tools.
    #[default]
    Done,
    /// The reply reached the model's output limit.
    Length,
    /// The provider's content filter cut the reply.
    Filtered,
}

/// The size of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowUsage {
    /// The tokens of the request, including omitted context: the larger of the provider's count and ours.
    pub tokens: u64,
    /// The maximum tokens of the request.
    pub limit: u64,
    /// The name of the model that rejected larger requests. The `limit` applies to the model's later calls in
    /// the run. `None` if no request was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_for: Option<String>,
}

/// The part of a conversation that did not fit into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedContext {
    /// The number of the oldest pieces that were left out.
    pub parts: u32,
    /// The tokens of the request with these pieces.
    pub tokens_before: u64,
    /// The tokens of the sent request.
    pub tokens: u64,
}
