//! What a run may use up and what it has used.

use serde::{Deserialize, Serialize};

/// What a run may use up. Used up, the run sums up what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Turns of the run's own agent, 1-1 000, default 40. For a planned run and its tasks together
    /// see `max_run_turns` of its plan settings.
    pub steps: u32,
    /// Tool calls of one agent, 1-100 000, default 200: of a run that is not planned, or of each task of
    /// one that is. In records of before there was a bound: any number.
    #[serde(default = "unlimited_calls")]
    pub tool_calls: u32,
    /// Tokens read and written, those of its tasks included, default 50 million.
    #[serde(default = "default_tokens")]
    pub tokens: u64,
    /// Money that its model calls may cost, those of its tasks included, in millionths of a US
    /// dollar. `None`, the default, and in records of before there was one: as much as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Milliseconds from the question to the end, default 24 h, at most 7 days. Also how long the
    /// records of a run are kept at least, beside their retention.
    pub wall_ms: u64,
}

impl Default for Budget {
    fn default() -> Self {
        let (tokens, wall_ms) = (default_tokens(), 24 * 60 * 60 * 1000);
        Self { steps: 40, tool_calls: 200, tokens, micro_usd: None, wall_ms }
    }
}

/// Records of before there was a bound of tool calls hold none.
fn unlimited_calls() -> u32 {
    u32::MAX
}

/// Records of before there was a token budget hold none.
fn default_tokens() -> u64 {
    50_000_000
}

impl Budget {
    /// Milliseconds at the end that are kept for the summary.
    #[must_use]
    pub fn summary_ms(&self) -> u64 {
        (self.wall_ms / 5).min(MAX_SUMMARY_MS)
    }
}

/// The longest time that is kept for the summary.
const MAX_SUMMARY_MS: u64 = 2 * 60 * 1000;

/// A part of a run's budget: what is left of it, or what one of its tasks may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetShare {
    /// Turns of the agents that draw on this share.
    pub steps: u32,
    /// Tool calls of those agents.
    pub tool_calls: u32,
    /// Tokens of model calls, read and written ones together.
    pub tokens: u64,
    /// Money, in millionths of a US dollar; `None` has no end.
    pub micro_usd: Option<u64>,
}

impl BudgetShare {
    /// Whether nothing can be done with it.
    #[must_use]
    pub fn is_used_up(self) -> bool {
        self.steps == 0 || self.tokens == 0 || self.micro_usd == Some(0)
    }

    /// What is left of it besides `other`.
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

    /// One of so many equal parts of it, of at most `steps` turns. Something of what there is, even
    /// if it is split finer than it can be.
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

/// How many runs below one of a user's may have invocations of their own at the same time.
pub const MAX_PLACES: u32 = 1_000;

/// The places of a run, split between those right below it that want to be at work: how many may be at the
/// same time, and how many places each is given for those below itself. One alone takes none, since it is
/// driven where its caller is; without places, they are at work one after another.
#[must_use]
pub fn split_places(places: u32, wanted: u32) -> (u32, u32) {
    match wanted.min(places) {
        0 | 1 => (1, places),
        at_once => (at_once, (places - at_once) / at_once),
    }
}

/// What a model's tokens cost, in millionths of a US dollar per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The price of tokens that the model reads and the provider has not cached.
    pub input: u64,
    /// Tokens read from the provider's prompt cache.
    pub cached_input: u64,
    /// The price of tokens that the model writes, its thoughts included.
    pub output: u64,
}

impl Price {
    /// What a call costs, rounded up to a millionth of a dollar.
    #[must_use]
    pub fn cost_of(&self, usage: &Usage) -> u64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let times = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = times(usage.input_tokens - cached, self.input)
            + times(cached, self.cached_input)
            + times(usage.output_tokens, self.output);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// Tokens, money and time of one model call, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Tokens written, reasoning included.
    pub output_tokens: u64,
    /// Of those read, the ones served from the provider's prompt cache.
    pub cached_tokens: u64,
    /// Milliseconds from the request to the last byte.
    pub took_ms: u64,
    /// What that cost, in millionths of a US dollar, at the price of its time. 0 for a model without
    /// a price, and in records of before there were prices.
    #[serde(default, skip_serializing_if = "is_free")]
    pub micro_usd: u64,
}

impl Usage {
    /// The same, at this price.
    #[must_use]
    pub fn priced_at(self, price: Option<Price>) -> Self {
        Self { micro_usd: price.map_or(0, |price| price.cost_of(&self)), ..self }
    }

    /// Tokens read and written.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Whether a provider may ask money for it.
    #[must_use]
    pub fn is_billed(&self) -> bool {
        self.tokens() > 0 || self.micro_usd > 0
    }

    /// What two calls cost together.
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

/// What a run has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Turns of the agent loop, those of its tasks included.
    pub steps: u32,
    /// Model calls that came to an end, failed attempts with output included.
    pub model_calls: u32,
    /// Tool calls that were answered by their tool.
    pub tool_calls: u32,
    /// The sum over its model calls, lost ones included.
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

    /// Counts those that died with their driver, at what they are taken to have cost together.
    pub fn add_lost_calls(&mut self, calls: u32, estimate: &Usage) {
        self.lost_calls += calls;
        self.usage.add_usage(estimate);
    }

    /// Counts what a task used up.
    pub fn add_child(&mut self, task: &Self) {
        self.steps = self.steps.saturating_add(task.steps);
        self.model_calls += task.model_calls;
        self.tool_calls += task.tool_calls;
        self.lost_calls += task.lost_calls;
        self.usage.add_usage(&task.usage);
    }

    /// Tokens read and written.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.usage.tokens()
    }
}

/// An amount as a person reads it: `0.25`, with as many decimals as it takes, at least two.
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
