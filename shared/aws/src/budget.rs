//! Days of users: one conditional update a change.

use djinn_runtime::port::StoreError;
use djinn_runtime::port::budget::{
    Amount, Bound, Budgets, DayChange, DayChanged, DayKey, Hold, MAX_HOLDS, OLD_HOLD_S,
};

use crate::change::{Change, number, text, values};
use crate::item::day::{DayItem, written};
use crate::store::{AwsStore, Changed};
use crate::table::{Attributes, Key};
use crate::throttle::Patience;

/// How long a day is kept, in seconds: it can be looked at for a week after it.
const KEPT_S: i64 = 9 * 24 * 60 * 60;

/// Old holds that one update forgets at most; an expression has room for a few thousand characters.
const FORGOTTEN_AT_ONCE: usize = 50;

/// A change of a day, with expressions of its own.
pub(crate) struct DayUpdate {
    key: Key,
    expression: String,
    condition: String,
    values: Attributes,
}

impl DayUpdate {
    /// The update that makes a change.
    pub(crate) fn of(day: &DayKey, change: &DayChange) -> Self {
        let name = DayItem::hold_name(&change.payer);
        let amount = |hold: &Option<Hold>| hold.as_ref().map(|h| h.amount).unwrap_or_default();
        let (held, next) = (amount(&change.held), amount(&change.next));
        let settled = change.settled;
        let sum = |part: fn(&Amount) -> u64| {
            i128::from(part(&settled)) - i128::from(part(&held)) + i128::from(part(&next))
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
        if let Some(held) = &change.held {
            condition = format!("#{name} = :held");
            values.insert(":held".to_owned(), text(&written(held)));
        }
        match &change.next {
            None => expression += &format!(" REMOVE #{name}"),
            Some(next) => {
                expression +=
                    &format!(", #{name} = :next, #expires = if_not_exists(#expires, :expires)");
                values.insert(":next".to_owned(), text(&written(next)));
                values.insert(":expires".to_owned(), number(&(next.at_s + KEPT_S)));
                let Bound { tokens, micro_usd } = change.bound;
                for (sum, bound, more) in [
                    ("used_tokens", tokens, i128::from(held.tokens) - i128::from(settled.tokens)),
                    (
                        "used_micro_usd",
                        micro_usd,
                        i128::from(held.micro_usd) - i128::from(settled.micro_usd),
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

    /// The update itself.
    pub(crate) fn change(&self) -> Change<'_> {
        let (key, values) = (self.key.clone(), self.values.clone());
        Change { key, expression: &self.expression, condition: &self.condition, values }
    }
}

impl Budgets for AwsStore {
    async fn change_day(&self, day: &DayKey, change: &DayChange) -> Result<DayChanged, StoreError> {
        let update = DayUpdate::of(day, change);
        let (is_refused, item) = match self.change_within(Patience::RECORD, update.change()).await?
        {
            Changed::Done(item) => (false, DayItem::from_item(&item)?),
            Changed::Refused(item) => (true, DayItem::from_item(&item)?),
        };
        let stored = item.held(&change.payer);
        if is_refused && stored == change.held.as_ref() {
            return Ok(DayChanged::UsedUp { used: item.used, held: item.held_by_all() });
        }
        if is_refused && stored != change.next.as_ref() {
            return Ok(DayChanged::Holds(stored.cloned()));
        }
        self.forget_old_holds(day, change, &item).await;
        Ok(DayChanged::Done)
    }

    async fn day(&self, day: &DayKey) -> Result<Amount, StoreError> {
        let item = self.get(DayItem::key(day)).await?.unwrap_or_default();
        Ok(DayItem::from_item(&item)?.used)
    }
}

impl AwsStore {
    /// Lets old holds count as spent when there are too many: the item must not grow without bound.
    async fn forget_old_holds(&self, day: &DayKey, change: &DayChange, item: &DayItem) {
        let Some(next) = change.next.as_ref().filter(|_| item.holds.len() > MAX_HOLDS) else {
            return;
        };
        let old = item.holds.iter().filter(|(_, hold)| hold.at_s <= next.at_s - OLD_HOLD_S);
        let (mut names, mut conditions, mut values) = (Vec::new(), Vec::new(), Attributes::new());
        for (nth, (payer, hold)) in old.take(FORGOTTEN_AT_ONCE).enumerate() {
            let name = DayItem::hold_name(payer);
            conditions.push(format!("#{name} = :h{nth}"));
            names.push(format!("#{name}"));
            values.insert(format!(":h{nth}"), text(&written(hold)));
        }
        if names.is_empty() {
            return;
        }
        let expression = format!("REMOVE {}", names.join(", "));
        let condition = conditions.join(" AND ");
        let key = DayItem::key(day);
        let change = Change { key, expression: &expression, condition: &condition, values };
        // One that is refused is tried by whoever comes next.
        if let Err(error) = self.change(change).await {
            tracing::warn!(%error, "old holds are not forgotten");
        }
    }
}
