//! What a run may use up and what it has used.

use serde::{Deserialize, Serialize};

/// What a run may use up. Used up, the run sums up what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Turns of the run's own agent, 1-1 000, default 40. For a planned run and its tasks together
    /// see [`crate::settings::PlanSettings::run_steps`].
    pub steps: u32,
    /// Tokens read and written, those of its tasks included, default 50 million.
    #[serde(default = "default_tokens")]
    pub tokens: u64,
    /// Milliseconds from the question to the end, default 24 h, at most 7 days. Also how long the
    /// records of a run are kept at least, beside their retention.
    pub wall_ms: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: 40, tokens: default_tokens(), wall_ms: 24 * 60 * 60 * 1000 }
    }
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
pub struct Share {
    /// Turns.
    pub steps: u32,
    /// Tokens.
    pub tokens: u64,
}

impl Share {
    /// Whether nothing can be done with it.
    #[must_use]
    pub fn is_used_up(self) -> bool {
        self.steps == 0 || self.tokens == 0
    }

    /// What is left of it besides `other`.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        let steps = self.steps.saturating_sub(other.steps);
        Self { steps, tokens: self.tokens.saturating_sub(other.tokens) }
    }

    /// One of so many equal parts of it, of at most `steps` turns. Something of what there is, even
    /// if it is split finer than it can be.
    #[must_use]
    pub fn part(self, parts: u32, steps: u32) -> Self {
        let parts = parts.max(1);
        Self {
            steps: (self.steps / parts).min(steps).max(1).min(self.steps),
            tokens: (self.tokens / u64::from(parts)).max(1).min(self.tokens),
        }
    }
}

/// Tokens and time of one model call, as the provider counted them.
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
}

impl Usage {
    /// What two calls cost together.
    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        self.add(&other);
        self
    }

    fn add(&mut self, other: &Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_tokens += other.cached_tokens;
        self.took_ms += other.took_ms;
    }
}

/// What a run has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Turns of the agent loop, those of its tasks included.
    pub steps: u32,
    /// Model calls that came to an end, failed attempts with output included.
    pub model_calls: u32,
    /// Tool calls that were answered by their tool.
    pub tool_calls: u32,
    /// The sum over its model calls, lost ones included.
    pub usage: Usage,
    /// Model calls that died with their driver: their usage is an estimate.
    #[serde(default, skip_serializing_if = "is_none")]
    pub lost_calls: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

impl Spent {
    /// Counts one model call.
    pub fn add_model_call(&mut self, usage: &Usage) {
        self.model_calls += 1;
        self.usage.add(usage);
    }

    /// Counts those that died with their driver, at what they are taken to have cost together.
    pub fn add_lost_calls(&mut self, calls: u32, estimate: &Usage) {
        self.lost_calls += calls;
        self.usage.add(estimate);
    }

    /// Counts what a task used up.
    pub fn add_task(&mut self, task: &Self) {
        self.steps = self.steps.saturating_add(task.steps);
        self.model_calls += task.model_calls;
        self.tool_calls += task.tool_calls;
        self.lost_calls += task.lost_calls;
        self.usage.add(&task.usage);
    }

    /// Tokens read and written.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.usage.input_tokens + self.usage.output_tokens
    }
}
