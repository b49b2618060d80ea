//! Seeded faults: the processes, store operations and kicks that fail, and the end of the faults.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use crate::memory::{Op, StoreFault};
use crate::point::Fate;

/// A source of seeded faults. Clones share the state.
#[derive(Clone)]
pub struct Chaos(Arc<Mutex<ChaosState>>);

/// The probability of each kind of fault at each opportunity, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Odds {
    /// A process dies at a point.
    pub death: f64,
    /// A process is suspended at a point, for up to a minute.
    pub freeze: f64,
    /// The store rejects an operation with an error.
    pub refusal: f64,
    /// The store performs an operation but returns an error.
    pub reply_lost: f64,
    /// The store is slow, usually by little.
    pub slow: f64,
    /// A kick is lost.
    pub kick_lost: f64,
    /// A kick is delivered more than once.
    pub kick_twice: f64,
    /// A kick is delivered late, so that others overtake it.
    pub kick_late: f64,
    /// The client disconnects in the middle of a response.
    pub leave: f64,
    /// A user stops the run.
    pub stop: f64,
    /// A client posts the question without waiting for the answer.
    pub post: f64,
    /// The store has one outage.
    pub outage: f64,
}

impl Odds {
    /// No faults at all.
    pub const NONE: Self = Self {
        death: 0.0,
        freeze: 0.0,
        refusal: 0.0,
        reply_lost: 0.0,
        slow: 0.0,
        kick_lost: 0.0,
        kick_twice: 0.0,
        kick_late: 0.0,
        leave: 0.0,
        stop: 0.0,
        post: 0.0,
        outage: 0.0,
    };

    /// Draws each kind of fault for about half of all seeds, rare or frequent. Faults must also occur alone:
    /// otherwise a bug with a single cause stays hidden.
    fn of(rng: &mut Rng) -> Self {
        let mut some = |most: f64| if rng.bool() { most * rng.f64() } else { 0.0 };
        Self {
            death: some(0.05),
            freeze: some(0.02),
            refusal: some(0.15),
            reply_lost: some(0.15),
            slow: some(0.2),
            kick_lost: some(0.6),
            kick_twice: some(0.8),
            kick_late: some(0.8),
            leave: some(0.8),
            stop: some(0.5),
            post: some(0.6),
            outage: some(1.0),
        }
    }
}

struct ChaosState {
    seed: u64,
    rng: Rng,
    odds: Odds,
    began: Instant,
    duration: Duration,
    /// The remaining numbers of deaths and of suspensions.
    deaths: u32,
    freezes: u32,
    outage: Option<(Duration, Duration)>,
}

impl Chaos {
    /// Creates the faults of a seed, starting now, in a runtime with paused time.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let odds = Odds::of(&mut Rng::with_seed(seed));
        Self::with_odds(seed, odds)
    }

    /// Creates faults with these odds.
    #[must_use]
    pub fn with_odds(seed: u64, odds: Odds) -> Self {
        let mut rng = Rng::with_seed(!seed);
        let lasts = Duration::from_secs(rng.u64(5..240));
        let outage = (rng.f64() < odds.outage).then(|| {
            let from = Duration::from_millis(rng.u64(0..20_000));
            (from, from + Duration::from_millis(rng.u64(100..40_000)))
        });
        let deaths = rng.u32(0..8);
        let freezes = rng.u32(0..4);
        let began = Instant::now();
        let state = ChaosState { seed, rng, odds, began, duration: lasts, deaths, freezes, outage };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Returns the seed of the faults.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.lock_state().seed
    }

    /// Returns the probability of each kind of fault.
    #[must_use]
    pub fn odds(&self) -> Odds {
        self.lock_state().odds
    }

    /// Returns the duration of the faults.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.lock_state().duration
    }

    /// Returns true while faults may still occur.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        self.lock_state().is_bad()
    }

    /// Draws the fate of a process at a point.
    pub fn draw_fate(&self) -> Fate {
        let mut state = self.lock_state();
        let Odds { death, freeze, .. } = state.odds;
        if state.deaths > 0 && state.draws_trouble(death) {
            state.deaths -= 1;
            return Fate::Dies;
        }
        if state.freezes > 0 && state.draws_trouble(freeze) {
            state.freezes -= 1;
            return Fate::Freezes(Duration::from_millis(state.rng.u64(1_000..60_000)));
        }
        Fate::Passes
    }

    /// Draws the delay of an operation, and its fault afterwards.
    pub fn draw_fault(&self, op: &Op) -> (Duration, StoreFault) {
        let mut state = self.lock_state();
        let Odds { refusal, reply_lost, slow, .. } = state.odds;
        let before = if state.draws_trouble(slow) { state.draw_delay() } else { Duration::ZERO };
        let now = state.began.elapsed();
        let is_down = state.is_bad()
            && state.outage.is_some_and(|(from, until)| (from..until).contains(&now));
        let fault = if is_down || state.draws_trouble(refusal) {
            StoreFault::NotDone
        } else if op.kind.is_write() && state.draws_trouble(reply_lost) {
            StoreFault::ReplyLost
        } else if state.draws_trouble(slow) {
            StoreFault::Late(state.draw_delay())
        } else {
            StoreFault::None
        };
        (before, fault)
    }

    /// Draws the fault of a call to a service other than the store: an error, a lost reply, or none.
    pub fn draw_refusal(&self) -> StoreFault {
        let mut state = self.lock_state();
        let Odds { refusal, reply_lost, .. } = state.odds;
        if state.draws_trouble(refusal) {
            StoreFault::NotDone
        } else if state.draws_trouble(reply_lost) {
            StoreFault::ReplyLost
        } else {
            StoreFault::None
        }
    }

    /// Draws the delay of each copy of a kick; none if the kick is lost.
    pub fn draw_deliveries(&self) -> Vec<Duration> {
        let mut state = self.lock_state();
        let Odds { kick_lost, kick_twice, kick_late, .. } = state.odds;
        let mut copies = Vec::new();
        if !state.draws_trouble(kick_lost) {
            copies.push(Duration::ZERO);
        }
        while copies.len() < 4 && state.draws_trouble(kick_twice) {
            copies.push(Duration::ZERO);
        }
        for copy in &mut copies {
            if state.draws_trouble(kick_late) {
                *copy = Duration::from_millis(state.rng.u64(1..90_000));
            }
        }
        copies
    }

    /// Draws the maximum stay of a client; `None` for an unlimited stay.
    pub fn draw_stay(&self) -> Option<Duration> {
        let mut state = self.lock_state();
        let leaves = state.odds.leave;
        state.draws_trouble(leaves).then(|| Duration::from_millis(state.rng.u64(0..15_000)))
    }

    /// Draws the time until a client returns.
    pub fn draw_absence(&self) -> Duration {
        Duration::from_millis(self.lock_state().rng.u64(0..60_000))
    }

    /// Draws true if the client does not wait for the answer.
    pub fn draws_posted(&self) -> bool {
        let mut state = self.lock_state();
        let odds = state.odds.post;
        state.draws_trouble(odds)
    }

    /// Draws the time of a stop and the number of stop requests, if there is a stop.
    pub fn draw_stop(&self) -> Option<(Duration, usize)> {
        let mut state = self.lock_state();
        let stop = state.odds.stop;
        state
            .draws_trouble(stop)
            .then(|| (Duration::from_millis(state.rng.u64(0..20_000)), state.rng.usize(1..4)))
    }

    fn lock_state(&self) -> MutexGuard<'_, ChaosState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChaosState {
    fn is_bad(&self) -> bool {
        self.began.elapsed() < self.duration
    }

    fn draws_trouble(&mut self, odds: f64) -> bool {
        // Always draw a number, so that later faults do not depend on the odds.
        let dice = self.rng.f64();
        self.is_bad() && dice < odds
    }

    /// Draws a delay: usually some milliseconds, sometimes longer than a lease.
    fn draw_delay(&mut self) -> Duration {
        let most = match self.rng.u32(0..20) {
            0 => 20_000,
            1..4 => 2_000,
            _ => 60,
        };
        Duration::from_millis(self.rng.u64(0..most))
    }
}
