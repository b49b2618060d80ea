//! Daily budgets of users, with a conditional update for each change.

use djinn_runtime::port::StoreError;
use djinn_runtime::port::budget::{
    Amount, Budgets, DayBound, DayChange, DayChangeResult, DayKey, Hold, MAX_HOLD_AGE_S, MAX_HOLDS,
};

use crate::change::{ItemChange, number, text, values};
use crate::item::day::{DayItem, format_hold};
use crate::key::{Attributes, ItemKey};
use crate::store::{AwsStore, ChangeResult};
use crate::throttle::RetrySchedule;

/// Retention of a day in seconds: users can read a day for a week afterwards.
const RETENTION_S: i64 = 9 * 24 * 60 * 60;

/// Maximum number of old holds removed by one update; an expression is limited to a few thousand characters.
const MAX_HOLDS_FORGOTTEN: usize = 50;

/// A change of a day, with dynamic expressions.
pub(crate) struct DayUpdate {
    key: ItemKey,
    expression: String,
    condition: String,
    values: Attributes,
}

impl DayUpdate {
    /// Creates the update for a change.
    pub(crate) fn of(day: &DayKey, change: &DayChange) -> Self {
        let name = DayItem::hold_name(&change.payer);
        let amount = |hold: &Option<Hold>| hold.as_ref().map(|h| h.amount).unwrap_or_default();
        let held_amount = amount(&change.hold);
        let next = amount(&change.next_hold);
        let settled_amount = change.settled_amount;
        let sum = |part: fn(&Amount) -> u64| {
            i128::from(part(&settled_amount)) - i128::from(part(&held_amount))
                + i128::from(part(&next))
        };
        let mut expression = "SET #used_tokens = if_not_exists(#used_tokens, :zero) + :tokens, \
            #used_micro_usd = if_not_exists(#used_micro_usd, :zero) + :micro_usd"
            .to_owned();
        let mut condition = format!("attribute_not_exists(#{name})");
        let mut values = values([
            (":zero", number(&0)),
            (":tokens", number(&sum(|amount| amount.tokens))),
            (":micro_usd", number(&sum(|amount| amount.micro_usd))),
        ]);
        if let Some(current_hold) = &change.hold {
            condition = format!("#{name} = :held");
            values.insert(":held".to_owned(), text(&format_hold(current_hold)));
        }
        match &change.next_hold {
            None => expression += &format!(" REMOVE #{name}"),
            Some(next) => {
                expression +=
                    &format!(", #{name} = :next, #expires = if_not_exists(#expires, :expires)");
                values.insert(":next".to_owned(), text(&format_hold(next)));
                values.insert(":expires".to_owned(), number(&(next.reserved_at_s + RETENTION_S)));
                let DayBound { tokens, micro_usd } = change.bound;
                for (sum, bound, more) in [
                    (
                        "used_tokens",
                        tokens,
                        i128::from(held_amount.tokens) - i128::from(settled_amount.tokens),
                    ),
                    (
                        "used_micro_usd",
                        micro_usd,
                        i128::from(held_amount.micro_usd) - i128::from(settled_amount.micro_usd),
                    ),
                ] {
                    if let Some(bound) = bound {
                        condition += &format!(
                            " AND (attribute_not_exists(#{sum}) OR #{sum} < :below_{sum})"
                        );
                        let below = i128::from(bound) + more;
                        values.insert(format!(":below_{sum}"), number(&below));
                    }
                }
            }
        }
        Self { key: DayItem::key(day), expression, condition, values }
    }

    /// Returns the item change. The change fails if the stored hold differs, or if a limit of the day is used
    /// up.
    pub(crate) fn to_change(&self) -> ItemChange<'_> {
        let key = self.key.clone();
        let values = self.values.clone();
        ItemChange { key, expression: &self.expression, condition: &self.condition, values }
    }
}

impl Budgets for AwsStore {
    async fn change_day(
        &self,
        day: &DayKey,
        change: &DayChange,
    ) -> Result<DayChangeResult, StoreError> {
        let update = DayUpdate::of(day, change);
        let (is_refused, item) =
            match self.update_with_retry(RetrySchedule::RECORD, update.to_change()).await? {
                ChangeResult::Done(item) => (false, DayItem::from_item(&item)?),
                ChangeResult::Refused(item) => (true, DayItem::from_item(&item)?),
            };
        let current_hold = item.hold_of(&change.payer);
        if is_refused && current_hold == change.hold.as_ref() {
            return Ok(DayChangeResult::Exhausted { used: item.used, held: item.total_held() });
        }
        if is_refused && current_hold != change.next_hold.as_ref() {
            return Ok(DayChangeResult::Conflict(current_hold.cloned()));
        }
        self.forget_old_holds(day, change, &item).await;
        Ok(DayChangeResult::Applied)
    }

    async fn read_day_total(&self, day: &DayKey) -> Result<Amount, StoreError> {
        let item = self.get_item(DayItem::key(day)).await?.unwrap_or_default();
        Ok(DayItem::from_item(&item)?.used)
    }
}

impl AwsStore {
    /// Removes old holds if the day has too many holds, and so counts them as spent. This limits the item's
    /// size.
    async fn forget_old_holds(&self, day: &DayKey, change: &DayChange, item: &DayItem) {
        let Some(next) = change.next_hold.as_ref().filter(|_| item.holds.len() > MAX_HOLDS) else {
            return;
        };
        let old = item
            .holds
            .iter()
            .filter(|(_, hold)| hold.reserved_at_s <= next.reserved_at_s - MAX_HOLD_AGE_S);
        let mut names = Vec::new();
        let mut conditions = Vec::new();
        let mut values = Attributes::new();
        for (nth, (payer, hold)) in old.take(MAX_HOLDS_FORGOTTEN).enumerate() {
            let name = DayItem::hold_name(payer);
            conditions.push(format!("#{name} = :h{nth}"));
            names.push(format!("#{name}"));
            values.insert(format!(":h{nth}"), text(&format_hold(hold)));
        }
        if names.is_empty() {
            return;
        }
        let expression = format!("REMOVE {}", names.join(", "));
        let condition = conditions.join(" AND ");
        let key = DayItem::key(day);
        let change = ItemChange { key, expression: &expression, condition: &condition, values };
        // After a failed condition, the next call tries again.
        if let Err(error) = self.update_item(change).await {
            tracing::warn!(%error, "old holds are not forgotten");
        }
    }
}
