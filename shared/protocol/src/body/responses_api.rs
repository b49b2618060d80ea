//! A run as an object of OpenAI's Responses API.

use djinn_core::budget::Usage;
use djinn_core::id::RunId;
use djinn_core::status::RunStatus;
use serde::Serialize;
use serde_json::Value;

/// A run as a response.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseObjectBody<'a> {
    /// The id of the run.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: &'a RunId,
    /// `response`.
    pub object: &'static str,
    /// The start of the run, Unix seconds.
    pub created_at: i64,
    /// `queued`, `in_progress`, `completed`, `incomplete`, `failed` or `cancelled`. A run that waits for users is
    /// `completed`, and its last text has the requests.
    pub status: &'static str,
    /// True if the request did not wait for the run.
    pub background: bool,
    /// The error of a failed run.
    pub error: Option<ResponseErrorBody>,
    /// The reason for an answer that was cut off.
    pub incomplete_details: Option<IncompleteDetailsBody>,
    /// The name of the model.
    pub model: &'a str,
    /// The reasoning and the texts of the run so far.
    pub output: &'a [Value],
    /// The response before this one in the conversation, as the request named it.
    pub previous_response_id: Option<&'a str>,
    /// The session of the run.
    pub conversation: ResponseSessionBody<'a>,
    /// The tokens of the run and its children; null before the end.
    pub usage: Option<ResponseUsageBody>,
    /// Further facts about the run.
    pub metadata: ResponseMetadataBody,
    /// Always true.
    pub parallel_tool_calls: bool,
    /// Always `auto`: the agents have tools of their own.
    pub tool_choice: &'static str,
    /// Always empty.
    pub tools: [Value; 0],
    /// Always null.
    pub temperature: Option<f64>,
    /// Always null.
    pub top_p: Option<f64>,
}

/// The session of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseSessionBody<'a> {
    /// The name of the session.
    pub id: &'a str,
}

/// Further facts about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseMetadataBody {
    /// The status of the run in Djinn's own words.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub run_status: RunStatus,
}

/// The error of a failed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseErrorBody {
    /// The code of Djinn, as in `docs/errors.md`.
    pub code: String,
    /// The error and the remedy.
    pub message: String,
}

/// The reason for an answer that was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IncompleteDetailsBody {
    /// `max_output_tokens` or `content_filter`.
    pub reason: &'static str,
}

/// The tokens of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseUsageBody {
    /// Tokens read, including cached tokens.
    input_tokens: u64,
    /// Parts of the tokens read.
    input_tokens_details: InputTokensBody,
    /// Tokens written, including reasoning.
    output_tokens: u64,
    /// Parts of the tokens written.
    output_tokens_details: OutputTokensBody,
    /// The sum.
    total_tokens: u64,
}

/// Parts of the tokens read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct InputTokensBody {
    /// Tokens from the provider's cache.
    cached_tokens: u64,
    /// Always 0: not known.
    cache_write_tokens: u64,
}

/// Parts of the tokens written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OutputTokensBody {
    /// Always 0: not known.
    reasoning_tokens: u64,
}

impl ResponseUsageBody {
    /// Creates the tokens of a run with this usage.
    #[must_use]
    pub fn new(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            input_tokens_details: InputTokensBody {
                cached_tokens: usage.cached_tokens,
                cache_write_tokens: 0,
            },
            output_tokens: usage.output_tokens,
            output_tokens_details: OutputTokensBody { reasoning_tokens: 0 },
            total_tokens: usage.tokens(),
        }
    }
}
