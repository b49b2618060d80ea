//! What calls may cost: as their tools declare, or as earlier calls did.

use serde::{Deserialize, Serialize};

use crate::budget::{Price, Usage};

/// Calls from which an estimate is made; with fewer, what the tool declares counts.
pub const MIN_SAMPLES: usize = 20;

/// What a call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSample {
    /// Milliseconds that it took.
    pub ms: u64,
    /// Tokens that its result added to the conversation, counted as bytes.
    pub tokens: u64,
}

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

    /// What a call of a tool may cost as far as earlier ones tell: their median and 95th percentile (by
    /// nearest rank). Calls to others and money are as declared. With fewer than [`MIN_SAMPLES`], all is.
    #[must_use]
    pub fn from_samples(declared: Self, samples: &[CallSample]) -> Self {
        if samples.len() < MIN_SAMPLES {
            return declared;
        }
        let of = |part: fn(&CallSample) -> u64| {
            let mut values: Vec<u64> = samples.iter().map(part).collect();
            values.sort_unstable();
            (nearest_rank(&values, 50), nearest_rank(&values, 95))
        };
        let ((ms, ms_p95), (tokens, tokens_p95)) = (of(|call| call.ms), of(|call| call.tokens));
        let samples = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        Self { tokens, ms, ms_p95, tokens_p95, samples, ..declared }
    }
}

/// What of two amounts is known.
fn add_money(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (known, None) | (None, known) => known,
    }
}

/// The smallest of sorted values that so many of 100 are not above.
fn nearest_rank(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}
