//! The daily totals and holds of users in memory, changed atomically.

use std::collections::BTreeMap;

use djinn_runtime::port::StoreError;
use djinn_runtime::port::budget::{
    Amount, Budgets, DayBound, DayChange, DayChangeResult, DayKey, Hold, MAX_HOLD_AGE_S, MAX_HOLDS,
    Payer,
};

use super::{MemoryStore, OpKind, State};

/// The total of a user's day, and the current holds.
#[derive(Default)]
pub(super) struct StoredDay {
    tokens: i128,
    micro_usd: i128,
    holds: BTreeMap<Payer, Hold>,
}

impl State {
    pub(super) fn change_day(&mut self, key: &DayKey, change: &DayChange) -> DayChangeResult {
        let day = self.days.entry(key.clone()).or_default();
        let current = day.holds.get(&change.payer);
        if current == change.next_hold.as_ref() && current != change.hold.as_ref() {
            return DayChangeResult::Applied;
        }
        if current != change.hold.as_ref() {
            return DayChangeResult::Conflict(current.cloned());
        }
        let of = |hold: &Option<Hold>| hold.as_ref().map(|hold| hold.amount).unwrap_or_default();
        let own_hold = of(&change.hold);
        let next = of(&change.next_hold);
        let sum = |sum: i128, part: fn(Amount) -> u64| {
            sum - i128::from(part(own_hold)) + i128::from(part(change.settled_amount))
        };
        let tokens = sum(day.tokens, |amount| amount.tokens);
        let micro_usd = sum(day.micro_usd, |amount| amount.micro_usd);
        let DayBound { tokens: most_tokens, micro_usd: most_micro_usd } = change.bound;
        let passes = |sum: i128, most: Option<u64>| most.is_some_and(|most| sum >= most.into());
        if change.next_hold.is_some()
            && (passes(tokens, most_tokens) || passes(micro_usd, most_micro_usd))
        {
            let add_hold = |sum: Amount, hold: &Hold| sum.saturating_add(hold.amount);
            let amount_on_hold = day.holds.values().fold(Amount::default(), add_hold);
            return DayChangeResult::Exhausted { used: day.amount(), held: amount_on_hold };
        }
        day.tokens = tokens + i128::from(next.tokens);
        day.micro_usd = micro_usd + i128::from(next.micro_usd);
        match &change.next_hold {
            Some(hold) => {
                day.holds.insert(change.payer.clone(), hold.clone());
                if day.holds.len() > MAX_HOLDS {
                    let latest_s = hold.reserved_at_s - MAX_HOLD_AGE_S;
                    day.holds.retain(|_, old| old.reserved_at_s > latest_s);
                }
            }
            None => drop(day.holds.remove(&change.payer)),
        }
        DayChangeResult::Applied
    }
}

impl StoredDay {
    fn amount(&self) -> Amount {
        let whole = |sum: i128| u64::try_from(sum).unwrap_or_default();
        Amount { tokens: whole(self.tokens), micro_usd: whole(self.micro_usd) }
    }
}

impl Budgets for MemoryStore {
    async fn change_day(
        &self,
        day: &DayKey,
        change: &DayChange,
    ) -> Result<DayChangeResult, StoreError> {
        let act = |state: &mut State| Ok(state.change_day(day, change));
        self.perform(OpKind::ChangeDay, None, None, act).await
    }

    async fn read_day_total(&self, day: &DayKey) -> Result<Amount, StoreError> {
        let act =
            |state: &mut State| Ok(state.days.get(day).map(StoredDay::amount).unwrap_or_default());
        self.perform(OpKind::Day, None, None, act).await
    }
}
