//! Estimated cost of calls, as tools declare or as earlier calls used.

use serde::{Deserialize, Serialize};

use crate::budget::{Price, Usage};

/// The possible cost of one or several calls: the usual cost and, if known, the 95th percentile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Estimate {
    /// Tokens that the results add to the conversation.
    pub tokens: u64,
    /// Milliseconds of the calls in sequence.
    pub ms: u64,
    /// Calls to external services.
    pub calls: u32,
    /// Millionths of a US dollar: the tool's declared cost, and the model's price for reading the results.
    /// `None` if neither has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// The 95th percentile of milliseconds; 0 if unknown.
    pub ms_p95: u64,
    /// The 95th percentile of tokens; 0 if unknown.
    pub tokens_p95: u64,
    /// The number of this deployment's calls behind the estimate; 0 for a tool's declaration.
    pub samples: u32,
}

impl Estimate {
    /// Returns the sum of both. Calls of one turn may run at once, but need not.
    #[must_use]
    pub fn combine_with(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            ms: self.ms.saturating_add(other.ms),
            calls: self.calls.saturating_add(other.calls),
            micro_usd: add_money(self.micro_usd, other.micro_usd),
            ms_p95: self.ms_p95.saturating_add(other.ms_p95),
            tokens_p95: self.tokens_p95.saturating_add(other.tokens_p95),
            samples: self.samples.min(other.samples),
        }
    }

    /// Adds the price of reading the tokens once by a model with this price.
    #[must_use]
    pub fn with_price(self, price: Option<Price>) -> Self {
        let usage = Usage { input_tokens: self.tokens, ..Usage::default() };
        let money = price.map(|price| price.cost_of(&usage));
        Self { micro_usd: add_money(self.micro_usd, money), ..self }
    }
}

/// Returns the sum of the known amounts; `None` if neither is known.
fn add_money(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (amount, None) | (None, amount) => amount,
    }
}
