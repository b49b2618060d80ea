//! What one user may do.

use djinn_settings::table::runtime::{
    USER_DAY_TOKENS, USER_DAY_USD, USER_RUNS_AT_ONCE, USER_RUNS_PER_MINUTE, USER_STREAMS,
};
use djinn_settings::{InvalidSetting, VarLookup};

/// What one user of a tenant may do; without a bound as much as they like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UserLimits {
    /// Runs started in a minute.
    pub runs_per_minute: Option<u32>,
    /// Runs at work at once.
    pub runs_at_once: Option<u32>,
    /// Responses streamed at once.
    pub streams: Option<u32>,
    /// Tokens read and written in a day (UTC), by all runs and children.
    pub day_tokens: Option<u64>,
    /// Millionths of a US dollar that these cost.
    pub day_micro_usd: Option<u64>,
}

impl UserLimits {
    /// Reads the bounds of a deployment.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the variable.
    pub fn from_vars(var: VarLookup<'_>) -> Result<Self, InvalidSetting> {
        Ok(Self {
            runs_per_minute: USER_RUNS_PER_MINUTE.find_number(var)?,
            runs_at_once: USER_RUNS_AT_ONCE.find_number(var)?,
            streams: USER_STREAMS.find_number(var)?,
            day_tokens: USER_DAY_TOKENS.find_number(var)?,
            day_micro_usd: USER_DAY_USD.find_money_limit(var)?.map(|limit| limit.micro_usd),
        })
    }

    /// Whether what a user's model calls use up in a day is bounded.
    #[must_use]
    pub fn has_day_budget(&self) -> bool {
        self.day_tokens.is_some() || self.day_micro_usd.is_some()
    }
}
