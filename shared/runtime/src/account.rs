//! The model calls of one driver that are reserved from their user's day, and the settlement of these
//! reservations.
//!
//! The maximum cost of a call is reserved before the call. The real cost stays in memory until the next
//! reservation of the same line settles it in the store. The end of a run settles the last call; a driver
//! that leaves earlier, or waits for children, settles then. A dead driver's hold passes to the next driver,
//! which counts it as spent.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use djinn_core::budget::{Price, Usage, format_dollars};
use djinn_core::effect::ModelCall;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::RunSpec;
use djinn_text::tokens::estimate_tokens;

use crate::port::budget::{
    Amount, Budgets, CallLine, DayBound, DayChange, DayChangeResult, DayKey, Hold, Payer,
};
use crate::port::clock::Clock;
use crate::port::{RunKey, StoreError, UserKey};
use crate::settings::{RetryPolicy, UserLimits};
use crate::world::Ports;

/// The maximum number of conflicts with a hold of another driver. One is normal.
const MAX_HOLD_CONFLICTS: usize = 3;

/// The maximum number of waits for amounts held by other calls: about a minute.
const MAX_HOLD_WAITS: u32 = 16;

/// Retries of a settlement when a driver leaves: an unsettled hold counts as spent.
const SETTLE_RETRIES: RetryPolicy = RetryPolicy { attempts: 2, ..RetryPolicy::STORE };

/// The account of a driver, shared by its calls.
pub struct BudgetAccount {
    limits: UserLimits,
    key: RunKey,
    user: UserKey,
    /// The lease's epoch: distinguishes this driver's calls from other drivers'.
    epoch: u64,
    state: Mutex<AccountState>,
}

#[derive(Default)]
struct AccountState {
    calls: u64,
    is_settling: bool,
    reservations: BTreeMap<CallLine, Reservation>,
}

/// A reservation that is not settled.
#[derive(Debug, Clone)]
struct Reservation {
    day: DayKey,
    hold: Hold,
    cost: ReservationCost,
}

#[derive(Debug, Clone, Copy)]
enum ReservationCost {
    /// Another driver's call: costs the whole hold.
    OtherDriver,
    /// A call of this driver.
    OwnCall {
        most: MaxUsage,
        /// The cost of the finished attempts.
        past_attempts: Amount,
        /// The bytes written by the attempt that is running or was broken off.
        bytes_written: Option<u64>,
    },
}

/// The maximum usage of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxUsage {
    /// The maximum tokens of the request.
    pub input: u64,
    /// The maximum tokens of the reply.
    pub output: u64,
    /// The price of both; `None` for a model without a price.
    pub price: Option<Price>,
}

impl MaxUsage {
    fn to_amount(self) -> Amount {
        self.amount_for_tokens(self.output)
    }

    /// Returns the amount of the whole input and of `bytes` bytes of output.
    fn amount_for_bytes(self, bytes: u64) -> Amount {
        self.amount_for_tokens(estimate_tokens(bytes))
    }

    fn amount_for_tokens(self, output_tokens: u64) -> Amount {
        let usage = Usage { input_tokens: self.input, output_tokens, ..Usage::default() };
        Amount::of(&usage, self.price)
    }
}

/// The error of a reservation: the call must not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReserveError {
    /// The day's budget is used up.
    BudgetExhausted(Failure),
    /// The store was unreachable.
    Unavailable(StoreError),
}

impl BudgetAccount {
    /// Creates the account of a driver of `key` with this lease epoch.
    #[must_use]
    pub fn new(limits: UserLimits, key: RunKey, spec: &RunSpec, epoch: u64) -> Self {
        let user = UserKey { tenant: key.tenant.clone(), user: spec.user.clone() };
        Self { limits, key, user, epoch, state: Mutex::default() }
    }

    /// Reserves the maximum usage of a call, and settles the previous call. Does nothing without a budget.
    ///
    /// # Errors
    /// Returns [`ReserveError`] if the call must not be made.
    pub async fn reserve_budget<P: Ports>(
        &self,
        ports: &P,
        call: &ModelCall,
        most: MaxUsage,
    ) -> Result<(), ReserveError> {
        if !self.limits.has_day_budget() {
            return Ok(());
        }
        let line = CallLine::of(&call.message);
        let now_ms = ports.clock().now_ms();
        let day = DayKey::at_time(self.user.clone(), now_ms);
        let mut before = self.lock_state().reservations.get(&line).cloned();
        if let Some(open) = before.take_if(|open| open.day != day) {
            // Money spent yesterday counts against yesterday.
            self.settle_reservation(ports, line, &open, ports.settings().store_retries).await;
        }
        let hold = Hold {
            call: self.next_hold_name(call),
            amount: most.to_amount(),
            reserved_at_s: now_ms.div_euclid(1000),
        };
        let mut surprises = 0;
        let mut waits = 0;
        while surprises < MAX_HOLD_CONFLICTS {
            let change = self.day_change(line, before.as_ref(), Some(hold.clone()));
            let outcome = change_day(ports, &day, &change, ports.settings().store_retries).await;
            match outcome.map_err(ReserveError::Unavailable)? {
                DayChangeResult::Applied => {
                    let cost = ReservationCost::OwnCall {
                        most,
                        past_attempts: Amount::default(),
                        bytes_written: None,
                    };
                    let open = Reservation { day, hold, cost };
                    self.lock_state().reservations.insert(line, open);
                    return Ok(());
                }
                DayChangeResult::Exhausted { used, held: on_hold } => {
                    waits += 1;
                    match self.hold_wait(ports, waits, used, on_hold) {
                        Some(wait) => ports.clock().sleep(wait).await,
                        None => {
                            let failure = self.exhausted_failure(used);
                            return Err(ReserveError::BudgetExhausted(failure));
                        }
                    }
                }
                DayChangeResult::Conflict(other_hold) => {
                    surprises += 1;
                    let day = day.clone();
                    let cost = ReservationCost::OtherDriver;
                    before = other_hold.map(|hold| Reservation { day, hold, cost });
                }
            }
        }
        let message = format!("{} keeps changing what it holds", self.key);
        Err(ReserveError::Unavailable(StoreError::Unavailable(message)))
    }

    /// Returns the wait before the next try if only held amounts stand in the way: these usually shrink.
    /// `None` if the budget is spent, or after the last wait.
    fn hold_wait<P: Ports>(
        &self,
        ports: &P,
        wait_count: u32,
        used: Amount,
        reserved_amount: Amount,
    ) -> Option<Duration> {
        let spent = Amount {
            tokens: used.tokens.saturating_sub(reserved_amount.tokens),
            micro_usd: used.micro_usd.saturating_sub(reserved_amount.micro_usd),
        };
        let waits = RetryPolicy { attempts: MAX_HOLD_WAITS, ..ports.settings().hold_retries };
        let delay = waits.delay_after(wait_count, ports.clock().jitter());
        delay.filter(|_| self.day_bound().has_room(spent))
    }

    /// Marks the beginning of an attempt at a call.
    pub fn begin_attempt(&self, call: &ModelCall) {
        self.update_own_call(call, |_, _, writing| *writing = Some(0));
    }

    /// Adds to the bytes written by the current attempt.
    pub fn add_written_bytes(&self, call: &ModelCall, more: usize) {
        self.update_own_call(call, |_, _, writing| {
            *writing = writing.map(|bytes| bytes.saturating_add(more as u64));
        });
    }

    /// Ends an attempt with the provider's reported usage. A failed attempt without reported usage costs its
    /// input and its written output, if any was written.
    pub fn end_attempt(&self, call: &ModelCall, usage: &Usage) {
        self.update_own_call(call, |most, past_attempts, writing| {
            let bytes = writing.take().unwrap_or_default();
            let amount = Amount { tokens: usage.tokens(), micro_usd: usage.micro_usd };
            let says_nothing = amount.tokens == 0 && bytes > 0;
            *past_attempts = past_attempts.saturating_add(if says_nothing {
                most.amount_for_bytes(bytes)
            } else {
                amount
            });
        });
    }

    /// Changes the known cost of a call of this driver.
    fn update_own_call(
        &self,
        call: &ModelCall,
        change: impl FnOnce(&MaxUsage, &mut Amount, &mut Option<u64>),
    ) {
        let mut state = self.lock_state();
        if let Some(Reservation {
            cost: ReservationCost::OwnCall { most, past_attempts, bytes_written: writing },
            ..
        }) = state.reservations.get_mut(&CallLine::of(&call.message))
        {
            change(most, past_attempts, writing);
        }
    }

    /// Returns the settlement of the last calls, for the transaction that ends the run.
    #[must_use]
    pub fn final_settlement(&self) -> Vec<(DayKey, DayChange)> {
        let open = self.lock_state().reservations.clone();
        let to_change = |(line, open): (CallLine, Reservation)| {
            (open.day.clone(), self.day_change(line, Some(&open), None))
        };
        open.into_iter().map(to_change).collect()
    }

    /// Forgets all reservations, settled by the run's end.
    pub fn clear_reservations(&self) {
        self.lock_state().reservations.clear();
    }

    /// Settles all reservations; a reservation that cannot be settled counts as spent.
    pub async fn settle_all<P: Ports>(&self, ports: &P) {
        let open = self.lock_state().reservations.clone();
        for (line, open) in open {
            self.settle_reservation(ports, line, &open, SETTLE_RETRIES).await;
            let mut state = self.lock_state();
            if state.reservations.get(&line).is_some_and(|now| now.hold == open.hold) {
                state.reservations.remove(&line);
            }
        }
        self.lock_state().is_settling = false;
    }

    /// Returns true if reservations are open and no caller settles them yet. The caller must then call
    /// [`Self::settle_all`].
    #[must_use]
    pub fn claim_settlement(&self) -> bool {
        let mut state = self.lock_state();
        let may = !state.reservations.is_empty() && !state.is_settling;
        state.is_settling |= may;
        may
    }

    async fn settle_reservation<P: Ports>(
        &self,
        ports: &P,
        line: CallLine,
        open: &Reservation,
        retries: RetryPolicy,
    ) {
        let change = self.day_change(line, Some(open), None);
        if let Err(error) = change_day(ports, &open.day, &change, retries).await {
            tracing::warn!(%error, call = open.hold.call, "not settled: it counts as spent");
        }
    }

    fn day_change(
        &self,
        line: CallLine,
        before: Option<&Reservation>,
        next: Option<Hold>,
    ) -> DayChange {
        DayChange {
            payer: Payer::of(&self.key, line),
            hold: before.map(|open| open.hold.clone()),
            settled_amount: before.map(Reservation::known_cost).unwrap_or_default(),
            next_hold: next,
            bound: self.day_bound(),
        }
    }

    fn day_bound(&self) -> DayBound {
        let UserLimits { day_tokens: tokens, day_micro_usd: micro_usd, .. } = self.limits;
        DayBound { tokens, micro_usd }
    }

    fn next_hold_name(&self, call: &ModelCall) -> String {
        let mut state = self.lock_state();
        state.calls += 1;
        format!("{}.{}@{}.{}", call.message, call.attempt, self.epoch, state.calls)
    }

    fn exhausted_failure(&self, used: Amount) -> Failure {
        let bound = match (self.limits.day_tokens, self.limits.day_micro_usd) {
            (Some(tokens), _) if used.tokens >= tokens => format!("{tokens} tokens"),
            (_, Some(money)) => format!("${}", format_dollars(money)),
            (tokens, None) => format!("{} tokens", tokens.unwrap_or_default()),
        };
        Failure::new(ErrorCode::BudgetUsedUp, bound)
    }

    fn lock_state(&self) -> MutexGuard<'_, AccountState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Returns the known cost of an open call.
    fn known_cost(&self) -> Amount {
        match self.cost {
            ReservationCost::OtherDriver => self.hold.amount,
            ReservationCost::OwnCall { past_attempts, bytes_written: None, .. } => past_attempts,
            ReservationCost::OwnCall { most, past_attempts, bytes_written: Some(bytes) } => {
                let output_cost = most.amount_for_bytes(bytes);
                let Amount { tokens, micro_usd } = self.hold.amount;
                past_attempts.saturating_add(Amount {
                    tokens: output_cost.tokens.min(tokens),
                    micro_usd: output_cost.micro_usd.min(micro_usd),
                })
            }
        }
    }
}

async fn change_day<P: Ports>(
    ports: &P,
    day: &DayKey,
    change: &DayChange,
    retries: RetryPolicy,
) -> Result<DayChangeResult, StoreError> {
    let mut failures = 0;
    loop {
        let error = match ports.store().change_day(day, change).await {
            Ok(outcome) => return Ok(outcome),
            Err(error) => error,
        };
        failures += 1;
        let clock = ports.clock();
        match retries.delay_after(failures, clock.jitter()) {
            // The store recognises a change whose response was lost.
            Some(delay) if error.is_retryable() => clock.sleep(delay).await,
            Some(_) | None => return Err(error),
        }
    }
}
