//! What calls may cost: as their tools declare, or as earlier calls did.

use serde::{Deserialize, Serialize};

use crate::budget::{Price, Usage};

/// What a call, or several, may cost: the usual and, where known, the 95th percentile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Estimate {
    /// Tokens that the results add to the conversation.
    pub tokens: u64,
    /// Milliseconds that the calls take, one after the other.
    pub ms: u64,
    /// Calls to services that others run.
    pub calls: u32,
    /// Millionths of a US dollar: what the tool declares, and what the model that is given the results
    /// takes for reading them. `None` where neither has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Milliseconds that 95 of 100 calls stay below; 0 if unknown.
    pub ms_p95: u64,
    /// Tokens that 95 of 100 calls stay below; 0 if unknown.
    pub tokens_p95: u64,
    /// Calls of this deployment that it is made from; 0 for what the tool declares.
    pub samples: u32,
}

impl Estimate {
    /// Both together; calls of one turn may run at once, but need not.
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

    /// The same with what a model of this price takes for reading the tokens once.
    #[must_use]
    pub fn with_price(self, price: Option<Price>) -> Self {
        let read = Usage { input_tokens: self.tokens, ..Usage::default() };
        let money = price.map(|price| price.cost_of(&read));
        Self { micro_usd: add_money(self.micro_usd, money), ..self }
    }
}

/// What of two amounts is known.
fn add_money(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (known, None) | (None, known) => known,
    }
}
