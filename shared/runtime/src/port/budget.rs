//! A user's daily budget for model calls: reserved before each call, settled after it.
//!
//! A day has two sums, tokens and money, of spent and reserved amounts. A call may be made while the user's
//! sums are below the limits, so overshoot is at most one call.
//!
//! A *payer* (a run or a child) has at most one *hold* for each line of its calls. The next reservation of
//! the same line settles the hold. A hold that is never settled, after a dead driver or an abandoned run,
//! counts as spent until the end of its day: its real cost is unknown, and a lower figure would let crashes
//! overspend.

use std::fmt;

use djinn_core::budget::{Price, Usage};
use djinn_core::id::{MessageId, sha256_hex};

use super::{RunKey, StoreError, UserKey};

/// A user's day, in UTC.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DayKey {
    /// The user who pays for the day.
    pub user: UserKey,
    /// The date in UTC: `2026-11-21`.
    pub day: String,
}

impl DayKey {
    /// Returns the day of a moment, given in Unix milliseconds.
    #[must_use]
    pub fn at_time(user: UserKey, at_ms: i64) -> Self {
        let date = time::OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1000));
        let date = date.unwrap_or(time::OffsetDateTime::UNIX_EPOCH).date();
        let year = date.year();
        let month = u8::from(date.month());
        let day = date.day();
        Self { user, day: format!("{year:04}-{month:02}-{day:02}") }
    }
}

/// An amount of tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// The number of input and output tokens.
    pub tokens: u64,
    /// The cost in millionths of a US dollar.
    pub micro_usd: u64,
}

impl Amount {
    /// Returns the sum of both amounts.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            micro_usd: self.micro_usd.saturating_add(other.micro_usd),
        }
    }

    /// Returns the amount of a call's usage at this price.
    #[must_use]
    pub fn of(usage: &Usage, price: Option<Price>) -> Self {
        Self { tokens: usage.tokens(), micro_usd: usage.priced_at(price).micro_usd }
    }
}

/// A sequence of consecutive model calls of a run or a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallLine {
    /// The calls of the work.
    Work,
    /// The calls beside the work.
    Beside,
}

impl CallLine {
    /// Returns the line of the call that writes this message.
    #[must_use]
    pub fn of(message: &MessageId) -> Self {
        if message.is_employees() { Self::Beside } else { Self::Work }
    }

    /// Returns the line's name in stored keys.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Beside => "beside",
        }
    }
}

/// The payer of a line of model calls of a run or a child.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Payer(String);

impl Payer {
    /// Returns the payer for a line of calls of a run or a child.
    #[must_use]
    pub fn of(key: &RunKey, line: CallLine) -> Self {
        let hash = sha256_hex(format!("{} {} {}", key.run, key.path, line.as_str()).as_bytes());
        Self(hash.chars().take(16).collect())
    }

    /// Returns the 16 hexadecimal digits of the payer, unique within a day.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Payer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The amount reserved for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The unique name of the call and its driver: no two calls share a name.
    pub call: String,
    /// The maximum cost of the call.
    pub amount: Amount,
    /// The time of the reservation, in Unix seconds.
    pub reserved_at_s: i64,
}

/// A change of a user's day: a settlement, a reservation, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayChange {
    /// The payer whose hold changes.
    pub payer: Payer,
    /// The hold before the change.
    pub hold: Option<Hold>,
    /// The real cost of the call behind `hold`.
    pub settled_amount: Amount,
    /// The hold after the change.
    pub next_hold: Option<Hold>,
    /// The limit that the day's sums must be below for the new hold, after the settlement.
    pub bound: DayBound,
}

/// The limits of a day's sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayBound {
    /// The limit of tokens, exclusive; `None` means unlimited.
    pub tokens: Option<u64>,
    /// The limit in millionths of a US dollar, exclusive; `None` means unlimited.
    pub micro_usd: Option<u64>,
}

impl DayBound {
    /// Returns true if both sums are below the limits.
    #[must_use]
    pub fn has_room(&self, sums: Amount) -> bool {
        let below = |sum: u64, bound: Option<u64>| bound.is_none_or(|bound| sum < bound);
        below(sums.tokens, self.tokens) && below(sums.micro_usd, self.micro_usd)
    }
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DayChangeResult {
    /// The change is stored, by this write or by an earlier write whose response was lost.
    Applied,
    /// Nothing changed: the payer has this other hold.
    Conflict(Option<Hold>),
    /// Nothing changed: the day's sums are too high.
    Exhausted {
        /// The spent and the held amounts together.
        used: Amount,
        /// The held part of `used`, which may cost less in the end.
        held: Amount,
    },
}

/// The minimum number of holds that a day keeps apart. Above this, holds older than [`MAX_HOLD_AGE_S`] count
/// as spent.
pub const MAX_HOLDS: usize = 200;

/// The age in seconds after which a hold's call must have ended.
pub const MAX_HOLD_AGE_S: i64 = 60 * 60;

/// The store of users' days. Needs `dynamodb:UpdateItem` on the table.
pub trait Budgets {
    /// Changes a day atomically.
    fn change_day(
        &self,
        day: &DayKey,
        change: &DayChange,
    ) -> impl Future<Output = Result<DayChangeResult, StoreError>> + Send;

    /// Returns the sum of a day's spent and held amounts. Strongly consistent.
    fn read_day_total(
        &self,
        day: &DayKey,
    ) -> impl Future<Output = Result<Amount, StoreError>> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::id::{ChildId, RunId, TenantId, UserId};

    #[test]
    fn a_day_begins_at_midnight_in_utc() {
        let user =
            || UserKey { tenant: TenantId::new("t").unwrap(), user: UserId::new("u").unwrap() };
        let day = |at_ms| DayKey::at_time(user(), at_ms).day;
        assert_eq!(day(1_795_219_199_999), "2026-11-20");
        assert_eq!(day(1_795_219_200_000), "2026-11-21");
    }

    #[test]
    fn every_line_of_calls_pays_for_itself() {
        let run = RunId::new(format!("run_{}", "0".repeat(32))).unwrap();
        let key = RunKey::new(TenantId::new("t").unwrap(), run);
        let child = key.with_child(ChildId::for_step(1, 1));
        let lines = [CallLine::Work, CallLine::Beside];
        let of_lines = |key: &RunKey| lines.map(|line| Payer::of(key, line));
        let mut payers = [of_lines(&key), of_lines(&child)].concat();
        payers.sort();
        payers.dedup();
        assert_eq!(payers.len(), 4);
        assert!(payers.iter().all(|payer| payer.as_str().len() == 16));
    }
}
