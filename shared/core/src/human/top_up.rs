//! Amounts in addition to a run's budget.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Tokens and money that a user adds to a run's budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopUp {
    /// Tokens in addition to the budget.
    pub tokens: u64,
    /// Millionths of a US dollar; 0 for a run without a money budget.
    #[serde(default)]
    pub micro_usd: u64,
}

impl TopUp {
    /// Adds both extensions, each amount separately.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            micro_usd: self.micro_usd.saturating_add(other.micro_usd),
        }
    }

    /// Returns the fields that a `modify` may replace, with their values.
    #[must_use]
    pub fn parameters(self) -> Map<String, Value> {
        let members = [("tokens", self.tokens), ("micro_usd", self.micro_usd)];
        members.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
    }

    /// Parses another amount, up to the offered amount.
    ///
    /// # Errors
    /// Returns the problem as a sentence for users.
    pub fn parse_amount(self, parameters: &Map<String, Value>) -> Result<Self, String> {
        let limits = self.parameters();
        let amount = |name: &str| match (parameters.get(name), limits.get(name)) {
            (None, _) => Some(0),
            (Some(value), Some(limit)) => {
                value.as_u64().filter(|amount| Some(*amount) <= limit.as_u64())
            }
            (Some(_), None) => None,
        };
        let tokens = amount("tokens");
        let micro_usd = amount("micro_usd");
        let is_known = parameters.keys().all(|name| limits.contains_key(name));
        let more = tokens.zip(micro_usd).filter(|(tokens, money)| is_known && tokens + money > 0);
        more.map(|(tokens, micro_usd)| Self { tokens, micro_usd }).ok_or_else(|| {
            let Self { tokens, micro_usd } = self;
            format!("`parameters` are `tokens` up to {tokens} and `micro_usd` up to {micro_usd}")
        })
    }
}
