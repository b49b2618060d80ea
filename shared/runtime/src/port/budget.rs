//! What a user's model calls use up in a day: reserved before each call, settled after it.
//!
//! A day has two sums, tokens and money. They hold what calls have cost and what is reserved for those
//! that are being made, so a call may be made while its user's sums are below their bounds: whoever
//! passes a bound is the last, and what calls cost in the end passes it by no more than that one call.
//!
//! A *payer* (a run or a child) has at most one *hold* for each line of its calls. What a hold comes to is
//! known when the next call of that line is reserved, and travels with that. A hold that nobody
//! settles, since its driver died or its run was given up, stays in the sums of its day as if it had
//! been spent: nobody knows what that call did cost, and less would let crashes overspend. It goes with
//! its day.

use std::fmt;

use djinn_core::budget::{Price, Usage};
use djinn_core::id::{MessageId, sha256_hex};

use super::{RunKey, StoreError, UserKey};

/// A user's day, to which all that they use up is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DayKey {
    /// The user whose day it is.
    pub user: UserKey,
    /// Which, in UTC: `2026-11-21`.
    pub day: String,
}

impl DayKey {
    /// The day that a moment is in, Unix milliseconds.
    #[must_use]
    pub fn at_time(user: UserKey, at_ms: i64) -> Self {
        let date = time::OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1000));
        let date = date.unwrap_or(time::OffsetDateTime::UNIX_EPOCH).date();
        let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
        Self { user, day: format!("{year:04}-{month:02}-{day:02}") }
    }
}

/// Tokens, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens read and written.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub micro_usd: u64,
}

impl Amount {
    /// What both are together.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            micro_usd: self.micro_usd.saturating_add(other.micro_usd),
        }
    }

    /// What a call used up, at this price.
    #[must_use]
    pub fn of(usage: &Usage, price: Option<Price>) -> Self {
        Self { tokens: usage.tokens(), micro_usd: usage.priced_at(price).micro_usd }
    }
}

/// Model calls of a run or a child that are made one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallLine {
    /// Those of its work.
    Work,
    /// Those beside its work.
    Beside,
}

impl CallLine {
    /// The line that the call stands in which writes this message.
    #[must_use]
    pub fn of(message: &MessageId) -> Self {
        if message.is_employees() { Self::Beside } else { Self::Work }
    }

    /// The word that stands for it in stored keys.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Beside => "beside",
        }
    }
}

/// Who reserves: a line of model calls of a run or a child.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Payer(String);

impl Payer {
    /// Who reserves for a line of calls of a run or a child.
    #[must_use]
    pub fn of(key: &RunKey, line: CallLine) -> Self {
        let hash = sha256_hex(format!("{} {} {}", key.run, key.path, line.as_str()).as_bytes());
        Self(hash.chars().take(16).collect())
    }

    /// 16 hexadecimal digits: more than a day has payers.
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

/// What is reserved for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Names the call, and the driver that makes it: no two calls ever have the same name.
    pub call: String,
    /// The most that the call may come to.
    pub amount: Amount,
    /// When it was reserved, Unix seconds.
    pub reserved_at_s: i64,
}

/// A change of a user's day: what a payer held is settled, something is reserved, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayChange {
    /// The payer whose hold changes.
    pub payer: Payer,
    /// What it holds now.
    pub hold: Option<Hold>,
    /// What that came to.
    pub settled_amount: Amount,
    /// What it is to hold.
    pub next_hold: Option<Hold>,
    /// What the day's sums have to be below for that, once the settlement counts.
    pub bound: DayBound,
}

/// What the sums of a day are bounded by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayBound {
    /// Tokens that the sum has to stay below; `None` has no bound.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub micro_usd: Option<u64>,
}

impl DayBound {
    /// Whether these sums are below it.
    #[must_use]
    pub fn has_room(&self, sums: Amount) -> bool {
        let below = |sum: u64, bound: Option<u64>| bound.is_none_or(|bound| sum < bound);
        below(sums.tokens, self.tokens) && below(sums.micro_usd, self.micro_usd)
    }
}

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DayChangeResult {
    /// It is made, by this write or by an earlier one whose reply was lost.
    Applied,
    /// Nothing is changed: the payer holds something else.
    Conflict(Option<Hold>),
    /// Nothing is changed: the day's sums are too high.
    Exhausted {
        /// What is spent or held.
        used: Amount,
        /// What of that is held, and may come to less.
        held: Amount,
    },
}

/// How many holds a day keeps apart at least. Beyond that, those older than [`MAX_HOLD_AGE_S`] count as
/// spent.
pub const MAX_HOLDS: usize = 200;

/// Seconds after which nobody can be making a call any more.
pub const MAX_HOLD_AGE_S: i64 = 60 * 60;

/// Days of users. Needs `dynamodb:UpdateItem` on the table.
pub trait Budgets {
    /// Changes a day, in one step.
    fn change_day(
        &self,
        day: &DayKey,
        change: &DayChange,
    ) -> impl Future<Output = Result<DayChangeResult, StoreError>> + Send;

    /// The sums of a day: what was spent, and what is held. Strongly consistent.
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
