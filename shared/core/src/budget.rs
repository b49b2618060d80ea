//! Budgets of runs, and their spending.

use serde::{Deserialize, Serialize};

/// The budget of a run. A run with a used-up budget sums up its results so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Maximum turns of the run's own agent, 1-1 000, default 40. For a planned run and its tasks together
    /// see `max_run_turns` of its plan settings.
    pub steps: u32,
    /// Maximum tool calls of one agent, 1-100 000, default 200: of an unplanned run, or of each task in a
    /// planned run. No limit in records from before this setting.
    #[serde(default = "unlimited_calls")]
    pub tool_calls: u32,
    /// Maximum tokens read and written, including tasks, default 50 million.
    #[serde(default = "default_tokens")]
    pub tokens: u64,
    /// Maximum cost of model calls, including tasks, in millionths of a US dollar. `None`, the default, sets
    /// no limit, also in records from before this setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Milliseconds from the question to the end, default 24 h, at most 7 days. Also how long the
    /// records of a run are kept at least, beside their retention.
    pub wall_ms: u64,
}

impl Default for Budget {
    fn default() -> Self {
        let tokens = default_tokens();
        let wall_ms = 24 * 60 * 60 * 1000;
        Self { steps: 40, tool_calls: 200, tokens, micro_usd: None, wall_ms }
    }
}

/// Returns the limit for records from before the limit of tool calls.
fn unlimited_calls() -> u32 {
    u32::MAX
}

/// Returns the limit for records from before the token budget.
fn default_tokens() -> u64 {
    50_000_000
}

impl Budget {
    /// Returns the milliseconds at the end that are reserved for the summary.
    #[must_use]
    pub fn summary_ms(&self) -> u64 {
        (self.wall_ms / 5).min(MAX_SUMMARY_MS)
    }
}

/// Maximum time that is reserved for the summary.
const MAX_SUMMARY_MS: u64 = 2 * 60 * 1000;

/// A part of a run's budget: the remaining budget, or the share of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetShare {
    /// Turns of the agents that draw on this share.
    pub steps: u32,
    /// Tool calls of the same agents.
    pub tool_calls: u32,
    /// Tokens of model calls, read and written together.
    pub tokens: u64,
    /// Money in millionths of a US dollar; `None` sets no limit.
    pub micro_usd: Option<u64>,
}

impl BudgetShare {
    /// Returns true if the share allows no more work.
    #[must_use]
    pub fn is_used_up(self) -> bool {
        self.steps == 0 || self.tokens == 0 || self.micro_usd == Some(0)
    }

    /// Returns the remainder after `other`.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let money = other.micro_usd.unwrap_or_default();
        Self {
            steps: self.steps.saturating_sub(other.steps),
            tool_calls: self.tool_calls.saturating_sub(other.tool_calls),
            tokens: self.tokens.saturating_sub(other.tokens),
            micro_usd: self.micro_usd.map(|own| own.saturating_sub(money)),
        }
    }

    /// Returns one of `parts` equal parts, with at most `steps` turns. A part is at least 1 of each amount
    /// that the share has, even if the share is too small for the split.
    #[must_use]
    pub fn equal_part(self, parts: u32, steps: u32) -> Self {
        let parts = parts.max(1);
        Self {
            steps: (self.steps / parts).min(steps).max(1).min(self.steps),
            tool_calls: (self.tool_calls / parts).max(1).min(self.tool_calls),
            tokens: (self.tokens / u64::from(parts)).max(1).min(self.tokens),
            micro_usd: self.micro_usd.map(|own| (own / u64::from(parts)).max(1).min(own)),
        }
    }
}

/// Maximum runs below a user's run that may have their own invocations at the same time.
pub const MAX_PLACES: u32 = 1_000;

/// Splits the places of a run between its children that want to work. Returns the maximum children at the
/// same time, and the places of each child for runs below. A single child takes no place, because its
/// caller's driver drives the child. Without places, children work one after another.
#[must_use]
pub fn split_places(places: u32, count: u32) -> (u32, u32) {
    match count.min(places) {
        0 | 1 => (1, places),
        at_once => (at_once, (places - at_once) / at_once),
    }
}

/// The price of a model's tokens, in millionths of a US dollar per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The price of tokens that the model reads, except tokens in the provider's cache.
    pub input: u64,
    /// Tokens read from the provider's prompt cache.
    pub cached_input: u64,
    /// The price of tokens that the model writes, including reasoning.
    pub output: u64,
}

impl Price {
    /// Returns the cost of a call, rounded up to a millionth of a dollar.
    #[must_use]
    pub fn cost_of(&self, usage: &Usage) -> u64 {
        let cached_tokens = usage.cached_tokens.min(usage.input_tokens);
        let times = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = times(usage.input_tokens - cached_tokens, self.input)
            + times(cached_tokens, self.cached_input)
            + times(usage.output_tokens, self.output);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// Tokens, money and time of one model call, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, including cached tokens.
    pub input_tokens: u64,
    /// Tokens written, including reasoning.
    pub output_tokens: u64,
    /// Tokens read from the provider's prompt cache.
    pub cached_tokens: u64,
    /// Milliseconds from the request to the last byte.
    pub took_ms: u64,
    /// The cost in millionths of a US dollar, at the price of the time. 0 for a model without a price, and in
    /// records from before prices.
    #[serde(default, skip_serializing_if = "is_free")]
    pub micro_usd: u64,
}

impl Usage {
    /// Returns the usage with its cost at this price.
    #[must_use]
    pub fn priced_at(self, price: Option<Price>) -> Self {
        Self { micro_usd: price.map_or(0, |price| price.cost_of(&self)), ..self }
    }

    /// Returns the tokens read and written.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns true if a provider may bill the call.
    #[must_use]
    pub fn is_billed(&self) -> bool {
        self.tokens() > 0 || self.micro_usd > 0
    }

    /// Returns the sum of both calls.
    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        self.add_usage(&other);
        self
    }

    fn add_usage(&mut self, other: &Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_tokens += other.cached_tokens;
        self.took_ms += other.took_ms;
        self.micro_usd = self.micro_usd.saturating_add(other.micro_usd);
    }
}

/// The spending of a run so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Turns of the agent loop, including tasks.
    pub steps: u32,
    /// Model calls that ended, including failed attempts with output.
    pub model_calls: u32,
    /// Tool calls with a result from their tool.
    pub tool_calls: u32,
    /// The sum over all model calls, including lost calls.
    pub usage: Usage,
    /// Model calls that died with their driver: their usage is an estimate.
    #[serde(default, skip_serializing_if = "is_zero_count")]
    pub lost_calls: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_free(micro_usd: &u64) -> bool {
    *micro_usd == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero_count(count: &u32) -> bool {
    *count == 0
}

impl Spending {
    /// Counts one model call.
    pub fn add_model_call(&mut self, usage: &Usage) {
        self.model_calls += 1;
        self.usage.add_usage(usage);
    }

    /// Counts model calls that died with their driver, with their estimated total usage.
    pub fn add_lost_calls(&mut self, calls: u32, estimate: &Usage) {
        self.lost_calls += calls;
        self.usage.add_usage(estimate);
    }

    /// Adds the spending of a task.
    pub fn add_child(&mut self, task: &Self) {
        self.steps = self.steps.saturating_add(task.steps);
        self.model_calls += task.model_calls;
        self.tool_calls += task.tool_calls;
        self.lost_calls += task.lost_calls;
        self.usage.add_usage(&task.usage);
    }

    /// Returns the tokens read and written.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.usage.tokens()
    }
}

/// Formats an amount in dollars for users: `0.25`, with at least two decimals and no trailing zeros after
/// them.
#[must_use]
pub fn format_dollars(micro_usd: u64) -> String {
    let text = format!("{}.{:06}", micro_usd / 1_000_000, micro_usd % 1_000_000);
    let cut = text.trim_end_matches('0');
    let least = text.len() - 4;
    text.get(..cut.len().max(least)).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_what_its_tokens_cost_rounded_up() {
        let price = Price { input: 2_000_000, cached_input: 500_000, output: 8_000_000 };
        let cost = |input_tokens, cached_tokens, output_tokens| {
            let usage = Usage { input_tokens, cached_tokens, output_tokens, ..Usage::default() };
            usage.priced_at(Some(price)).micro_usd
        };
        assert_eq!(cost(0, 0, 0), 0);
        assert_eq!(cost(1_000_000, 0, 0), 2_000_000);
        assert_eq!(cost(1_000, 400, 100), 1_200 + 200 + 800);
        // Cached tokens are among those read; a provider that says otherwise gains nothing by it.
        assert_eq!(cost(10, 20, 0), 5);
        assert_eq!(cost(1, 1, 0), 1, "half a millionth is a whole one");
        assert_eq!(cost(u64::MAX, 0, u64::MAX), u64::MAX);
        assert_eq!(Usage { output_tokens: 9, ..Usage::default() }.priced_at(None).micro_usd, 0);
    }

    #[test]
    fn amounts_read_as_dollars() {
        let told = [0, 1, 10_000, 250_000, 1_234_567, 3_000_000].map(format_dollars);
        assert_eq!(told, ["0.00", "0.000001", "0.01", "0.25", "1.234567", "3.00"]);
    }

    #[test]
    fn places_nest_and_are_never_given_twice() {
        let split = [(1_000, 1), (1_000, 10), (1_000, 1_000), (3, 2), (2, 9), (1, 9), (0, 9)]
            .map(|(places, wanted)| split_places(places, wanted));
        assert_eq!(split, [(1, 1_000), (10, 99), (1_000, 0), (2, 0), (2, 0), (1, 1), (1, 0)]);
        for (places, wanted) in (0..200).flat_map(|places| (0..20).map(move |n| (places, n))) {
            let (at_once, each) = split_places(places, wanted);
            let taken = if at_once == 1 { each } else { at_once + at_once * each };
            assert!(taken <= places, "{places} between {wanted}");
        }
    }

    #[test]
    fn a_share_of_money_is_split_and_never_lost() {
        let whole = BudgetShare { steps: 9, tool_calls: 9, tokens: 9, micro_usd: Some(10) };
        let part = whole.equal_part(3, 40);
        assert_eq!(part.micro_usd, Some(3));
        assert_eq!(whole.minus(part).minus(part).micro_usd, Some(4));
        assert!(whole.minus(BudgetShare { micro_usd: Some(11), ..part }).is_used_up());
        let free = BudgetShare { micro_usd: None, ..whole };
        assert_eq!((free.equal_part(3, 40).micro_usd, free.minus(part).micro_usd), (None, None));
    }
}
