//! What a run may use up and what it has used.

use serde::{Deserialize, Serialize};

/// What a run may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Turns of the agent loop, 1-1 000, default 40. Used up, the run sums up what there is.
    pub steps: u32,
    /// Milliseconds from the question to the end, default 24 h, at most 7 days. Also how long the
    /// records of a run are kept at least, beside their retention.
    pub wall_ms: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: 40, wall_ms: 24 * 60 * 60 * 1000 }
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

/// What a run has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Turns of the agent loop.
    pub steps: u32,
    /// Model calls that came to an end, failed attempts with output included.
    pub model_calls: u32,
    /// Tool calls that were answered by their tool.
    pub tool_calls: u32,
    /// The sum over its model calls.
    pub usage: Usage,
}

impl Spent {
    /// Counts one model call.
    pub fn add_model_call(&mut self, usage: &Usage) {
        self.model_calls += 1;
        self.usage.input_tokens += usage.input_tokens;
        self.usage.output_tokens += usage.output_tokens;
        self.usage.cached_tokens += usage.cached_tokens;
        self.usage.took_ms += usage.took_ms;
    }

    /// Counts what a task used up; its turns are its own.
    pub fn add_task(&mut self, task: &Self) {
        self.model_calls += task.model_calls;
        self.tool_calls += task.tool_calls;
        self.usage.input_tokens += task.usage.input_tokens;
        self.usage.output_tokens += task.usage.output_tokens;
        self.usage.cached_tokens += task.usage.cached_tokens;
        self.usage.took_ms += task.usage.took_ms;
    }

    /// Tokens read and written.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.usage.input_tokens + self.usage.output_tokens
    }
}
