//! What a model said, after repair.

use djinn_budget::budget::Usage;
use djinn_ids::MessageId;
use serde::{Deserialize, Serialize};

use crate::tool::{OfferedTool, ToolArguments, ToolSetRef};

/// What a model thought before it spoke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The thoughts in plain text, with whole URLs; empty where a provider shows none.
    pub text: String,
    /// What the model's client needs to send them back with the turn; opaque to everybody else, and
    /// possibly there without any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The thoughts as the model wrote them, where that was with placeholders for URLs: they go back
    /// to it as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

/// A complete reply, with what its request offered and left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReplied {
    /// The message it is.
    pub message: MessageId,
    /// The reply after repair, as it joins the conversation.
    pub reply: Reply,
    /// The tools that were offered with the request, as they declare themselves. Empty where none was, or
    /// where an earlier record of the journal holds them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<OfferedTool>,
    /// The set that these tools are; nothing where none was offered, and in old records, whose tools have
    /// the estimates of their turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_set: Option<ToolSetRef>,
    /// What had to be left out of the request, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<DroppedContext>,
    /// How much of the model's window the conversation took up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowUsage>,
    /// What is wrong with the reply as an answer in the form that the agent's file names, if anything is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_problem: Option<String>,
}

/// What a model said, after repair.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The text for the user; empty where the reply only calls tools.
    #[serde(default)]
    pub text: String,
    /// The thoughts before the text, if the model shows any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// The tools it asks for, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RequestedCall>,
    /// The reason why the reply ended, by which one that was cut off is known.
    pub finish: FinishReason,
    /// The tokens and the money that it cost, with attempts of which no record tells.
    pub usage: Usage,
}

/// A tool call as the model asked for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The name of the tool as the model wrote it, known or not.
    pub tool: String,
    /// The arguments after repair, or what could not be read as such.
    pub arguments: ToolArguments,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done, or asks for tools.
    #[default]
    Done,
    /// It reached its output limit.
    Length,
    /// The provider's filter cut it.
    Filtered,
}

/// How large a request was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowUsage {
    /// Its tokens, with what had to be left out: as the provider counted them, or as we did where
    /// that is more.
    pub tokens: u64,
    /// The tokens it could have had.
    pub limit: u64,
    /// The name of the model that refused larger requests: `limit` holds for its later calls in the run.
    /// `None` if nothing was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_for: Option<String>,
}

/// What of a conversation did not fit into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedContext {
    /// How many of its oldest pieces.
    pub parts: u32,
    /// The tokens the request would have had with them.
    pub tokens_before: u64,
    /// The tokens it had.
    pub tokens: u64,
}
