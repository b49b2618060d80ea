//! The limits of one user.

use djinn_settings::table::runtime::{
    USER_DAY_TOKENS, USER_DAY_USD, USER_RUNS_AT_ONCE, USER_RUNS_PER_MINUTE, USER_STREAMS,
};
use djinn_settings::{InvalidSetting, VarLookup};

/// The limits of one user of a tenant; `None` means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UserLimits {
    /// The maximum number of runs started per clock minute.
    pub runs_per_minute: Option<u32>,
    /// The maximum number of runs at work.
    pub runs_at_once: Option<u32>,
    /// The maximum number of streamed responses at a time.
    pub streams: Option<u32>,
    /// The maximum number of input and output tokens per day (UTC), for all runs and children.
    pub day_tokens: Option<u64>,
    /// The maximum cost of these tokens per day, in millionths of a US dollar.
    pub day_micro_usd: Option<u64>,
}

impl UserLimits {
    /// Reads the limits of a deployment.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] with the name of an invalid variable.
    pub fn from_vars(var: VarLookup<'_>) -> Result<Self, InvalidSetting> {
        Ok(Self {
            runs_per_minute: USER_RUNS_PER_MINUTE.find_number(var)?,
            runs_at_once: USER_RUNS_AT_ONCE.find_number(var)?,
            streams: USER_STREAMS.find_number(var)?,
            day_tokens: USER_DAY_TOKENS.find_number(var)?,
            day_micro_usd: USER_DAY_USD.find_money_limit(var)?.map(|limit| limit.micro_usd),
        })
    }

    /// Returns true if the tokens or the cost of a user's day are limited.
    #[must_use]
    pub fn has_day_budget(&self) -> bool {
        self.day_tokens.is_some() || self.day_micro_usd.is_some()
    }
}
