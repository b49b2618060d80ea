//! The public form of usage and costs.

use djinn_core::budget::{Spending, Usage};
use djinn_core::estimate::Estimate;
use serde::Serialize;

/// The usage of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicUsage {
    /// Input tokens, including cached tokens.
    pub input_tokens: u64,
    /// Output tokens, including reasoning.
    pub output_tokens: u64,
    /// Input tokens from the provider's cache.
    pub cached_tokens: u64,
    /// The duration in milliseconds.
    pub took_ms: u64,
    /// The cost in millionths of a US dollar; absent if the model has no price.
    #[serde(skip_serializing_if = "is_zero")]
    pub micro_usd: u64,
}

/// The spending of a run or a child.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicSpending {
    /// The number of turns of all agents.
    pub steps: u32,
    /// The number of model calls, including failed calls.
    pub model_calls: u32,
    /// The number of tool calls.
    pub tool_calls: u32,
    /// The sum of all model calls.
    pub usage: PublicUsage,
    /// The number of model calls of unknown cost, after the loss of a process; `usage` contains an estimate.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_calls: u32,
}

/// The estimated cost of a tool call: the usual cost and, if known, the 95th percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicEstimate {
    /// Tokens that the result adds to the conversation.
    pub tokens: u64,
    /// The duration in milliseconds.
    pub ms: u64,
    /// Calls to services of others.
    pub calls: u32,
    /// Millionths of a US dollar; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// The 95th percentile of the duration in milliseconds; 0 if unknown.
    pub ms_p95: u64,
    /// The 95th percentile of the tokens; 0 if unknown.
    pub tokens_p95: u64,
    /// The number of samples for the estimate; 0 for the tool's own declaration.
    pub samples: u32,
}

impl PublicUsage {
    /// Returns the public form of a usage.
    #[must_use]
    pub fn new(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
            took_ms: usage.took_ms,
            micro_usd: usage.micro_usd,
        }
    }
}

impl PublicSpending {
    /// Returns the public form of a spending.
    #[must_use]
    pub fn new(spent: &Spending) -> Self {
        Self {
            steps: spent.steps,
            model_calls: spent.model_calls,
            tool_calls: spent.tool_calls,
            usage: PublicUsage::new(&spent.usage),
            lost_calls: spent.lost_calls,
        }
    }
}

impl PublicEstimate {
    /// Returns the public form of an estimate.
    #[must_use]
    pub fn new(estimate: &Estimate) -> Self {
        Self {
            tokens: estimate.tokens,
            ms: estimate.ms,
            calls: estimate.calls,
            micro_usd: estimate.micro_usd,
            ms_p95: estimate.ms_p95,
            tokens_p95: estimate.tokens_p95,
            samples: estimate.samples,
        }
    }
}

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}
