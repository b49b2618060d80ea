//! Accounts: what many callers reserve and settle never passes their user's day by more than one call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use djinn_core::budget::{Price, Usage};
use djinn_core::effect::{ModelCall, ToolChoice};
use djinn_core::id::{ChildId, MessageId};
use djinn_core::input::{Input, RunSpec};
use djinn_core::settings::{Role, RunSettings};
use djinn_runtime::account::{BudgetAccount, MaxUsage, ReserveError};
use djinn_runtime::port::budget::{Amount, Budgets as _, DayKey};
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::port::{RunKey, UserKey};
use djinn_runtime::serve::start_background;
use djinn_runtime::settings::{Settings, UserLimits};
use djinn_testkit::ledger::Ledger as Done;
use djinn_testkit::memory::{MemoryStore, OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::{Sim, SimWorld};
use djinn_testkit::story::{StoryLine, StoryModel};
use fastrand::Rng;

use crate::story;

/// The most that one call of these tests uses up.
const MOST: u64 = 1_000;

/// Its money: two millionths a token.
const PRICE: Price = Price { input: 2_000_000, cached_input: 2_000_000, output: 2_000_000 };

fn world() -> SimWorld {
    let model = StoryModel::new([] as [(&str, StoryLine); 0], Points::new());
    Sim::new(model, Toolbox::default(), Points::new()).ports
}

/// A run, and the question it was asked.
async fn asked(ports: &SimWorld) -> (RunKey, RunSpec) {
    let question = Sim::new(
        StoryModel::new([] as [(&str, StoryLine); 0], Points::new()),
        Toolbox::default(),
        Points::new(),
    )
    .make_question(RunSettings::default());
    let key = start_background(ports, question).await.unwrap();
    let records = ports.store.read_from(&key, 0).await.unwrap();
    let Input::Started(asked) = records[0].inputs[0].clone() else { panic!("no question") };
    (key, *asked)
}

fn call(turn: u32) -> ModelCall {
    ModelCall {
        message: MessageId::for_turn(turn),
        role: Role::Executor,
        attempt: 1,
        failures: 0,
        crashes: 0,
        retries: 0,
        fallback: None,
        interrupts: 0,
        retry_at_ms: None,
        failing_since_ms: None,
        waits: false,
        tool_choice: ToolChoice::Auto,
    }
}

/// What a crowd of callers did.
#[derive(Default)]
struct Ledger {
    /// What its calls really cost, tokens.
    spent: u64,
    /// The most that was ever spent beyond what the day has.
    over: u64,
    refused: bool,
    crashed: bool,
}

/// One schedule: callers that reserve, call and crash, over a store that loses replies.
struct Schedule {
    ports: SimWorld,
    asked: RunSpec,
    budget: u64,
    ledger: Mutex<Ledger>,
    rng: Mutex<Rng>,
}

impl Schedule {
    fn chance(&self) -> f64 {
        self.rng.lock().unwrap().f64()
    }

    fn number(&self, range: std::ops::RangeInclusive<u64>) -> u64 {
        self.rng.lock().unwrap().u64(range)
    }

    async fn waits(&self) {
        let wait = Duration::from_millis(self.number(0..=3));
        self.ports.clock.sleep(wait).await;
    }

    /// A driver of one task after the other: each that crashes leaves what it held to the next.
    async fn caller(&self, key: RunKey) {
        let limits = UserLimits { day_tokens: Some(self.budget), ..UserLimits::default() };
        let mut epoch = 1;
        let mut account = BudgetAccount::new(limits, key.clone(), &self.asked, epoch);
        let mut turn = 0;
        while turn < 12 {
            turn += 1;
            self.waits().await;
            let input = self.number(1..=MOST / 2);
            let most = MaxUsage { input, output: MOST - input, price: Some(PRICE) };
            match account.reserve_budget(&self.ports, &call(turn), most).await {
                Ok(()) => {}
                Err(ReserveError::BudgetExhausted(_)) => {
                    self.ledger.lock().unwrap().refused = true;
                    break;
                }
                Err(ReserveError::Unavailable(_)) => continue,
            }
            self.waits().await;
            account.begin_attempt(&call(turn));
            let usage = self.spend(input);
            if self.chance() < 0.15 {
                self.ledger.lock().unwrap().crashed = true;
                epoch += 1;
                account = BudgetAccount::new(limits, key.clone(), &self.asked, epoch);
            } else {
                account.end_attempt(&call(turn), &usage);
            }
        }
        account.settle_all(&self.ports).await;
    }

    /// The provider serves a call, and charges it.
    fn spend(&self, input: u64) -> Usage {
        let output = self.number(0..=MOST - input);
        let mut ledger = self.ledger.lock().unwrap();
        ledger.spent += input + output;
        ledger.over = ledger.over.max(ledger.spent.saturating_sub(self.budget));
        Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
    }
}

/// Lets one schedule happen. Returns what it did, and what the store has of the day.
async fn happens(seed: u64) -> (Ledger, Amount) {
    let mut rng = Rng::with_seed(seed);
    let ports = world();
    ports.store.without_faults();
    let (key, asked) = asked(&ports).await;
    let (budget, callers) = (rng.u64(1..30) * 500, rng.u32(1..12));
    let trouble = if seed.is_multiple_of(4) { 0.0 } else { rng.f64() * 0.3 };
    let faults = Mutex::new(Rng::with_seed(!seed));
    ports.store.before_each(move |op| {
        let mut faults = faults.lock().unwrap();
        let (dice, lost) = (faults.f64(), faults.bool());
        async move {
            match op.kind == OpKind::ChangeDay && dice < trouble {
                true if lost => StoreFault::ReplyLost,
                true => StoreFault::NotDone,
                false => StoreFault::None,
            }
        }
    });
    let day = DayKey::at_time(
        UserKey { tenant: key.tenant.clone(), user: asked.user.clone() },
        ports.clock.now_ms(),
    );
    let schedule =
        Schedule { ports, asked, budget, ledger: Mutex::default(), rng: Mutex::new(rng) };
    let schedule = Arc::new(schedule);
    let mut working = tokio::task::JoinSet::new();
    for n in 1..=callers {
        let (schedule, key) = (Arc::clone(&schedule), key.with_child(ChildId::for_step(n, 1)));
        working.spawn(async move { schedule.caller(key).await });
    }
    working.join_all().await;
    let store: &MemoryStore = &schedule.ports.store;
    store.without_faults();
    let used = store.read_day_total(&day).await.unwrap();
    (std::mem::take(&mut *schedule.ledger.lock().unwrap()), used)
}

#[tokio::test(start_paused = true)]
async fn a_days_budget_is_passed_by_no_more_than_one_call_whatever_happens() {
    let (mut refused, mut passed, mut crashed) = (0, 0, 0);
    for seed in 0..1_000 {
        let (ledger, used) = happens(seed).await;
        assert!(ledger.over <= MOST, "seed {seed}: {} tokens over", ledger.over);
        assert!(used.tokens >= ledger.spent, "seed {seed}: {used:?}, spent {}", ledger.spent);
        if seed.is_multiple_of(4) && !ledger.crashed {
            let spent = Amount { tokens: ledger.spent, micro_usd: 0 };
            assert_eq!(used.tokens, spent.tokens, "seed {seed}: settled to the token");
        }
        refused += usize::from(ledger.refused);
        passed += usize::from(ledger.over > 0);
        crashed += usize::from(ledger.crashed);
    }
    // The weather was as bad as it should be, and budgets were there to be used.
    assert!(refused > 400 && passed > 100 && crashed > 400, "{refused} {passed} {crashed}");
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_nothing_is_reserved() {
    let ports = world();
    let (key, asked) = asked(&ports).await;
    ports.store.clear_log();
    let account = BudgetAccount::new(UserLimits::default(), key, &asked, 1);
    let most = MaxUsage { input: 1, output: 1, price: None };
    account.reserve_budget(&ports, &call(1), most).await.unwrap();
    account.begin_attempt(&call(1));
    account.end_attempt(&call(1), &Usage::default());
    assert!(account.final_settlement().is_empty());
    account.settle_all(&ports).await;
    assert_eq!(ports.store.log(), []);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_broken_off_costs_what_it_read_and_wrote() {
    let ports = world();
    let (key, asked) = asked(&ports).await;
    let user = UserKey { tenant: key.tenant.clone(), user: asked.user.clone() };
    let day = DayKey::at_time(user, ports.clock.now_ms());
    let limits = UserLimits { day_micro_usd: Some(1_000_000), ..UserLimits::default() };
    let account = BudgetAccount::new(limits, key, &asked, 1);
    let most = MaxUsage { input: 100, output: 900, price: Some(PRICE) };
    account.reserve_budget(&ports, &call(1), most).await.unwrap();
    let used = || async { ports.store.read_day_total(&day).await.unwrap() };
    assert_eq!(used().await, Amount { tokens: 1_000, micro_usd: 2_000 });
    account.begin_attempt(&call(1));
    account.add_written_bytes(&call(1), 30);
    account.settle_all(&ports).await;
    assert_eq!(used().await, Amount { tokens: 110, micro_usd: 220 });
    // Attempts of one call that failed count besides the one that did not.
    account.reserve_budget(&ports, &call(2), most).await.unwrap();
    let usage = |tokens| Usage { input_tokens: tokens, ..Usage::default() }.priced_at(Some(PRICE));
    account.begin_attempt(&call(2));
    account.end_attempt(&call(2), &usage(40));
    account.begin_attempt(&call(2));
    account.end_attempt(&call(2), &usage(50));
    account.settle_all(&ports).await;
    assert_eq!(used().await, Amount { tokens: 200, micro_usd: 400 });
    // One that fails says nothing of what it wrote, and another is broken off.
    account.reserve_budget(&ports, &call(3), most).await.unwrap();
    account.begin_attempt(&call(3));
    account.add_written_bytes(&call(3), 60);
    account.end_attempt(&call(3), &Usage::default());
    account.begin_attempt(&call(3));
    account.add_written_bytes(&call(3), 3_000_000);
    account.settle_all(&ports).await;
    assert_eq!(used().await, Amount { tokens: 200 + 120 + 1_000, micro_usd: 400 + 240 + 2_000 });
    // One that was not begun cost nothing.
    account.reserve_budget(&ports, &call(4), most).await.unwrap();
    account.settle_all(&ports).await;
    assert_eq!(used().await, Amount { tokens: 1_320, micro_usd: 2_640 });
}

#[tokio::test(start_paused = true)]
async fn a_day_keeps_what_was_spent_on_it() {
    let ports = world();
    let (key, asked) = asked(&ports).await;
    let user = UserKey { tenant: key.tenant.clone(), user: asked.user.clone() };
    let limits = UserLimits { day_tokens: Some(1_500), ..UserLimits::default() };
    let account = BudgetAccount::new(limits, key, &asked, 1);
    let most = MaxUsage { input: 500, output: 500, price: None };
    let today = DayKey::at_time(user.clone(), ports.clock.now_ms());
    account.reserve_budget(&ports, &call(1), most).await.unwrap();
    account.begin_attempt(&call(1));
    account.end_attempt(
        &call(1),
        &Usage { input_tokens: 500, output_tokens: 1_000, ..Usage::default() },
    );
    let refused = account.reserve_budget(&ports, &call(2), most).await.unwrap_err();
    let ReserveError::BudgetExhausted(failure) = refused else { panic!("{refused:?}") };
    assert_eq!((failure.code.as_str(), failure.detail.as_str()), ("budget_used_up", "1500 tokens"));
    ports.clock.sleep(Duration::from_secs(24 * 60 * 60)).await;
    let tomorrow = DayKey::at_time(user, ports.clock.now_ms());
    account.reserve_budget(&ports, &call(2), most).await.unwrap();
    account.begin_attempt(&call(2));
    account.settle_all(&ports).await;
    let (today, tomorrow) =
        (ports.store.read_day_total(&today).await, ports.store.read_day_total(&tomorrow).await);
    assert_eq!((today.unwrap().tokens, tomorrow.unwrap().tokens), (1_500, 500));
}

/// The story with every limit that a user may have.
fn limited(points: Points) -> Sim {
    let mut sim = story::sim(points, &Done::default());
    let user = UserLimits {
        runs_per_minute: Some(1),
        runs_at_once: Some(1),
        streams: None,
        day_tokens: Some(1_000_000),
        day_micro_usd: Some(1_000_000),
    };
    sim.ports.settings = Arc::new(Settings { user, ..Settings::default() });
    sim
}

/// What the day has of the story, and what its model really served.
async fn used_and_served(sim: &Sim) -> (u64, u64) {
    let question = sim.make_question(RunSettings::default());
    let user = UserKey::of(&question.spec);
    let store = MemoryStore::clone(&sim.ports.store);
    store.without_faults();
    let day = DayKey::at_time(user, sim.ports.clock.now_ms());
    let served = sim.ports.model.requests().len() as u64 * 110;
    (store.read_day_total(&day).await.unwrap().tokens, served)
}

#[tokio::test(start_paused = true)]
async fn a_limited_run_survives_a_crash_at_every_point_and_leaks_one_hold_at_most() {
    let points = Points::new();
    let mut sim = limited(points.clone());
    assert_eq!(story::visible(&story::told(&mut sim).await), story::TOLD);
    let (used, served) = used_and_served(&sim).await;
    assert_eq!(used, served, "settled to the token");
    let names = points.point_names();
    let reservations = names.iter().filter(|name| name.starts_with("after ChangeDay")).count();
    assert_eq!(reservations, 3, "one a call, and none at the end: {names:?}");
    for (at, name) in names.iter().enumerate() {
        let mut sim = limited(Points::killing_at(at));
        let entries = story::told(&mut sim).await;
        let end = entries.last().unwrap().event.run_result().unwrap();
        assert!(end.failure.is_none(), "killed at {at}, {name}: {end:?}");
        let (used, served) = used_and_served(&sim).await;
        assert!(used >= served, "killed at {at}, {name}: {used} of {served} counted");
        assert!(used <= served + HELD, "killed at {at}, {name}: {used} for {served}");
    }
}

/// More than one call of the story holds, tokens.
const HELD: u64 = 10_000;
