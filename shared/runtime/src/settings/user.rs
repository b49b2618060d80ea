//! What one user may do.

use super::{InvalidSetting, parse_micro_usd, parse_number};

/// What one user of a tenant may do; without a bound as much as they like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UserLimits {
    /// Runs started in a minute.
    pub runs_per_minute: Option<u32>,
    /// Runs at work at once.
    pub runs_at_once: Option<u32>,
    /// Responses streamed at once.
    pub streams: Option<u32>,
    /// Tokens read and written in a day (UTC), by all runs and tasks.
    pub day_tokens: Option<u64>,
    /// Millionths of a US dollar that these cost.
    pub day_micro_usd: Option<u64>,
}

impl UserLimits {
    /// Reads `DJINN_USER_RUNS_PER_MINUTE`, `DJINN_USER_RUNS_AT_ONCE`, `DJINN_USER_STREAMS`,
    /// `DJINN_USER_DAY_TOKENS` and `DJINN_USER_DAY_USD`.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the variable.
    pub fn from_vars(var: &dyn Fn(&str) -> Option<String>) -> Result<Self, InvalidSetting> {
        let small = |name, range| -> Result<Option<u32>, InvalidSetting> {
            Ok(parse_number(var, name, range)?.and_then(|number| u32::try_from(number).ok()))
        };
        Ok(Self {
            runs_per_minute: small("DJINN_USER_RUNS_PER_MINUTE", 1..=100_000)?,
            runs_at_once: small("DJINN_USER_RUNS_AT_ONCE", 1..=1_000)?,
            streams: small("DJINN_USER_STREAMS", 1..=1_000)?,
            day_tokens: parse_number(var, "DJINN_USER_DAY_TOKENS", 1_000..=1_000_000_000_000)?,
            day_micro_usd: parse_micro_usd(var, "DJINN_USER_DAY_USD")?,
        })
    }

    /// Whether what a user's model calls use up in a day is bounded.
    #[must_use]
    pub fn has_day_budget(&self) -> bool {
        self.day_tokens.is_some() || self.day_micro_usd.is_some()
    }
}
