//! What the model calls of one driver reserve of their user's day, and how that is settled.
//!
//! Before a call its most is reserved; what it came to is known here until the next call of its line is
//! reserved, and goes to the store with that. The run's end takes the last one with it; whoever
//! leaves a run before, or waits for tasks, settles then. A driver that dies leaves its hold to the next one, which
//! counts it as spent.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use djinn_core::budget::{Price, Usage, dollars};
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::effect::ModelCall;
use djinn_core::input::Asked;

use crate::port::budget::{Amount, Bound, Budgets, DayChange, DayChanged, DayKey, Hold, Payer};
use crate::port::catalog::UserKey;
use crate::port::clock::Clock;
use crate::port::{Ports, RunKey, StoreError};
use crate::settings::{RetryPolicy, UserLimits};

/// How often a payer may turn out to hold something else than was thought. Once is what happens.
const SURPRISES: usize = 3;

/// How often room is looked for that others hold: for a minute or so.
const WAITS: u32 = 16;

/// Bytes of text that count as one token where nobody has counted.
pub(crate) const BYTES_OF_A_TOKEN: u64 = 3;

/// Longest that leaving waits for the store: a hold that stays counts as spent.
const LEAVING: RetryPolicy = RetryPolicy { attempts: 2, ..RetryPolicy::STORE };

/// The account of a driver. Its calls share it.
pub struct Account {
    limits: UserLimits,
    key: RunKey,
    user: UserKey,
    /// Tells this driver's calls from those of others.
    epoch: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: u64,
    leaving: bool,
    /// By line: the calls themselves, and those beside them.
    open: BTreeMap<bool, Open>,
}

/// A call that is reserved and not settled.
#[derive(Debug, Clone)]
struct Open {
    day: DayKey,
    hold: Hold,
    cost: Cost,
}

#[derive(Debug, Clone, Copy)]
enum Cost {
    /// It is what is held: another driver's call.
    Held,
    /// It is our own.
    Own {
        most: Most,
        /// What the attempts at it cost that came to an end.
        ended: Amount,
        /// The bytes that the attempt has written which is being made, or was broken off.
        writing: Option<u64>,
    },
}

/// The most that a call may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// What they cost.
    pub price: Option<Price>,
}

impl Most {
    fn amount(self) -> Amount {
        self.amount_of(self.output)
    }

    /// What is read, and so many bytes that are written.
    fn amount_of_bytes(self, bytes: u64) -> Amount {
        self.amount_of(bytes.div_ceil(BYTES_OF_A_TOKEN))
    }

    fn amount_of(self, output_tokens: u64) -> Amount {
        let usage = Usage { input_tokens: self.input, output_tokens, ..Usage::default() };
        Amount::of(&usage, self.price)
    }
}

/// Why a call may not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotReserved {
    /// The day's budget is used up.
    UsedUp(Failure),
    /// The store was not reached.
    Unavailable(StoreError),
}

impl Account {
    /// The account of a driver of `key`, whose lease has this epoch.
    #[must_use]
    pub fn new(limits: UserLimits, key: RunKey, asked: &Asked, epoch: u64) -> Self {
        let user = UserKey { tenant: key.tenant.clone(), user: asked.user.clone() };
        Self { limits, key, user, epoch, state: Mutex::default() }
    }

    /// Reserves the most that a call may use up, and settles the one before it. Without a budget
    /// nothing is done.
    ///
    /// # Errors
    /// [`NotReserved`]: the call must not be made.
    pub async fn reserve<P: Ports>(
        &self,
        ports: &P,
        call: &ModelCall,
        most: Most,
    ) -> Result<(), NotReserved> {
        if !self.limits.has_day_budget() {
            return Ok(());
        }
        let line = call.message.is_employees();
        let now_ms = ports.clock().now_ms();
        let day = DayKey::at(self.user.clone(), now_ms);
        let mut before = self.state().open.get(&line).cloned();
        if let Some(open) = before.take_if(|open| open.day != day) {
            // The day before keeps what was spent on it.
            self.settle(ports, line, &open, ports.settings().store_retries).await;
        }
        let hold =
            Hold { call: self.name(call), amount: most.amount(), at_s: now_ms.div_euclid(1000) };
        let (mut surprises, mut waited) = (0, 0);
        while surprises < SURPRISES {
            let change = self.change(line, before.as_ref(), Some(hold.clone()));
            let changed = change_day(ports, &day, &change, ports.settings().store_retries).await;
            match changed.map_err(NotReserved::Unavailable)? {
                DayChanged::Done => {
                    let cost = Cost::Own { most, ended: Amount::default(), writing: None };
                    let open = Open { day, hold, cost };
                    self.state().open.insert(line, open);
                    return Ok(());
                }
                DayChanged::UsedUp { used, held } => {
                    waited += 1;
                    match self.wait(ports, waited, used, held) {
                        Some(wait) => ports.clock().sleep(wait).await,
                        None => return Err(NotReserved::UsedUp(self.used_up(used))),
                    }
                }
                DayChanged::Holds(held) => {
                    surprises += 1;
                    let day = day.clone();
                    before = held.map(|hold| Open { day, hold, cost: Cost::Held });
                }
            }
        }
        let surprised = format!("{} keeps changing what it holds", self.key);
        Err(NotReserved::Unavailable(StoreError::Unavailable(surprised)))
    }

    /// How long to wait for what others hold, if that is all that stands in the way: it comes to less
    /// as a rule. `None` if the budget is spent, or was waited for long enough.
    fn wait<P: Ports>(
        &self,
        ports: &P,
        waited: u32,
        used: Amount,
        held: Amount,
    ) -> Option<Duration> {
        let spent = Amount {
            tokens: used.tokens.saturating_sub(held.tokens),
            micro_usd: used.micro_usd.saturating_sub(held.micro_usd),
        };
        let waits = RetryPolicy { attempts: WAITS, ..ports.settings().model_retries };
        let delay = waits.delay_after(waited, None, ports.clock().jitter());
        delay.filter(|_| self.bound().has_room(spent))
    }

    /// An attempt at a call begins.
    pub fn begins(&self, call: &ModelCall) {
        self.own(call, |_, _, writing| *writing = Some(0));
    }

    /// It has written some more.
    pub fn wrote(&self, call: &ModelCall, more: usize) {
        self.own(call, |_, _, writing| {
            *writing = writing.map(|bytes| bytes.saturating_add(more as u64));
        });
    }

    /// It came to its end, and this is what the provider says that it cost. One that failed and says
    /// nothing cost what it read and wrote, if it wrote anything.
    pub fn cost(&self, call: &ModelCall, usage: &Usage) {
        self.own(call, |most, ended, writing| {
            let written = writing.take().unwrap_or_default();
            let told = Amount { tokens: usage.tokens(), micro_usd: usage.micro_usd };
            let says_nothing = told.tokens == 0 && written > 0;
            *ended = ended.plus(if says_nothing { most.amount_of_bytes(written) } else { told });
        });
    }

    /// Changes what is known of a call of our own.
    fn own(&self, call: &ModelCall, change: impl FnOnce(&Most, &mut Amount, &mut Option<u64>)) {
        let mut state = self.state();
        if let Some(Open { cost: Cost::Own { most, ended, writing }, .. }) =
            state.open.get_mut(&call.message.is_employees())
        {
            change(most, ended, writing);
        }
    }

    /// What settles the last calls, for the transaction that ends the run.
    #[must_use]
    pub fn settlement(&self) -> Vec<(DayKey, DayChange)> {
        let open = self.state().open.clone();
        let settled =
            |(line, open): (bool, Open)| (open.day.clone(), self.change(line, Some(&open), None));
        open.into_iter().map(settled).collect()
    }

    /// The run's end has settled them.
    pub fn is_settled(&self) {
        self.state().open.clear();
    }

    /// Settles what is open; what cannot be settled stays in its day as if it had been spent.
    pub async fn leave<P: Ports>(&self, ports: &P) {
        let open = self.state().open.clone();
        for (line, open) in open {
            self.settle(ports, line, &open, LEAVING).await;
            let mut state = self.state();
            if state.open.get(&line).is_some_and(|now| now.hold == open.hold) {
                state.open.remove(&line);
            }
        }
        self.state().leaving = false;
    }

    /// Whether there is something to settle that nobody settles yet; whoever hears so does, by
    /// [`Self::leave`].
    #[must_use]
    pub fn may_be_left(&self) -> bool {
        let mut state = self.state();
        let may = !state.open.is_empty() && !state.leaving;
        state.leaving |= may;
        may
    }

    async fn settle<P: Ports>(&self, ports: &P, line: bool, open: &Open, retries: RetryPolicy) {
        let change = self.change(line, Some(open), None);
        if let Err(error) = change_day(ports, &open.day, &change, retries).await {
            tracing::warn!(%error, call = open.hold.call, "not settled: it counts as spent");
        }
    }

    fn change(&self, line: bool, before: Option<&Open>, next: Option<Hold>) -> DayChange {
        DayChange {
            payer: Payer::of(&self.key, line),
            held: before.map(|open| open.hold.clone()),
            settled: before.map(Open::came_to).unwrap_or_default(),
            next,
            bound: self.bound(),
        }
    }

    fn bound(&self) -> Bound {
        let UserLimits { day_tokens: tokens, day_micro_usd: micro_usd, .. } = self.limits;
        Bound { tokens, micro_usd }
    }

    fn name(&self, call: &ModelCall) -> String {
        let mut state = self.state();
        state.calls += 1;
        format!("{}.{}@{}.{}", call.message, call.attempt, self.epoch, state.calls)
    }

    fn used_up(&self, used: Amount) -> Failure {
        let bound = match (self.limits.day_tokens, self.limits.day_micro_usd) {
            (Some(tokens), _) if used.tokens >= tokens => format!("{tokens} tokens"),
            (_, Some(money)) => format!("${}", dollars(money)),
            (tokens, None) => format!("{} tokens", tokens.unwrap_or_default()),
        };
        Failure::new(ErrorCode::BudgetUsedUp, bound)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// What a call that is open came to, as far as that is known.
    fn came_to(&self) -> Amount {
        match self.cost {
            Cost::Held => self.hold.amount,
            Cost::Own { ended, writing: None, .. } => ended,
            Cost::Own { most, ended, writing: Some(bytes) } => {
                let written = most.amount_of_bytes(bytes);
                let Amount { tokens, micro_usd } = self.hold.amount;
                ended.plus(Amount {
                    tokens: written.tokens.min(tokens),
                    micro_usd: written.micro_usd.min(micro_usd),
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
) -> Result<DayChanged, StoreError> {
    let mut failed = 0;
    loop {
        let error = match ports.store().change_day(day, change).await {
            Ok(changed) => return Ok(changed),
            Err(error) => error,
        };
        failed += 1;
        let clock = ports.clock();
        match retries.delay_after(failed, None, clock.jitter()) {
            // One whose reply was lost is recognised.
            Some(delay) if error.may_pass() => clock.sleep(delay).await,
            Some(_) | None => return Err(error),
        }
    }
}
