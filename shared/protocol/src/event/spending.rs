//! The public form of usage and costs.

use djinn_core::budget::{Spending, Usage};
use djinn_core::estimate::Estimate;
use serde::Serialize;

/// What a call of a model came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicUsage {
    /// Tokens the model read, those from its cache included.
    pub input_tokens: u64,
    /// Tokens it wrote, its thoughts included.
    pub output_tokens: u64,
    /// Tokens that came from the provider's cache.
    pub cached_tokens: u64,
    /// Milliseconds that it took.
    pub took_ms: u64,
    /// Millionths of a US dollar; absent where the model has no price.
    #[serde(skip_serializing_if = "is_free")]
    pub micro_usd: u64,
}

/// What a run or a child used up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicSpending {
    /// Turns of its agents.
    pub steps: u32,
    /// Calls of models, those that failed included.
    pub model_calls: u32,
    /// How many calls of tools.
    pub tool_calls: u32,
    /// All calls of models together.
    pub usage: PublicUsage,
    /// Calls of models whose price nobody knows, since their process was lost; `usage` holds an estimate.
    #[serde(skip_serializing_if = "is_none_lost")]
    pub lost_calls: u32,
}

/// What a call of a tool may cost: the usual and, where known, the 95th percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicEstimate {
    /// Tokens that its result adds to the conversation.
    pub tokens: u64,
    /// Milliseconds that it took.
    pub ms: u64,
    /// Calls to services that others run.
    pub calls: u32,
    /// Millionths of a US dollar; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Milliseconds that 95 of 100 calls stay below; 0 if unknown.
    pub ms_p95: u64,
    /// Tokens that 95 of 100 calls stay below; 0 if unknown.
    pub tokens_p95: u64,
    /// Earlier calls that it is made from; 0 for what the tool declares.
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

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_free(micro_usd: &u64) -> bool {
    *micro_usd == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none_lost(calls: &u32) -> bool {
    *calls == 0
}
