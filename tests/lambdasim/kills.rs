//! `kill -9`, and standing still, at any moment of runs whose tools leave their mark on the world.
//!
//! `DJINN_KILLS=10000` kills so many runs, `DJINN_SEED=17` only that one: when and what is killed
//! follows from the seed, what a process is doing then does not.

mod ledger;
mod life;
mod tally;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::id::{RequestId, RunId, SessionName, TenantId, UserId};
use djinn_testkit::lambdasim::{Invocation, InvocationOutcome};
use futures::{StreamExt as _, stream};
use serde_json::json;
use tokio::time::Instant;

use crate::always::PACE;
use crate::client::{Client, Seen};
use crate::host::{Host, Options, quick_and, soaks};
use crate::story::{Story, add_agents};
use ledger::Ledger;
use life::Plan;
use tally::Tally;

/// How many runs are killed, unless `DJINN_KILLS` says otherwise.
const RUNS: u64 = 300;

/// Runs that are under way at once.
const AT_ONCE: usize = 20;

/// Runs over the same stores; for the next ones there are new ones.
const BATCH: u64 = 250;

/// A run that ended before its moment came is told again, with one that comes earlier; and so is one
/// for which the machine stood still.
const TRIES: u32 = 8;

/// Stores, functions and model, and what is known of runs that nobody kills.
struct Field {
    host: Host,
    story: Story,
    ledger: Ledger,
}

/// What a run is that nobody kills.
struct Unkilled {
    seen: Seen,
    takes: Duration,
}

/// Many runs of a story, and what happens to them.
struct Sweep {
    name: &'static str,
    story: Story,
    /// One of so many that are killed in all.
    share: u64,
    lease: Lease,
    plan: fn(seed: u64, life: Duration) -> Plan,
}

/// What becomes of a process that stands still.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lease {
    /// Others take over what it did.
    Lapses,
    /// It goes on, although all that it had under way has taken longer than it may.
    Lasts,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the worker: cargo verify --only kills"]
async fn a_react_run_loses_and_doubles_nothing_whenever_it_is_killed() {
    let (story, lease) = (Story::marks(PACE), Lease::Lapses);
    Sweep { name: "kills-react", story, share: 3, lease, plan: Plan::to_kill }.run().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the worker: cargo verify --only kills"]
async fn a_plan_loses_and_doubles_nothing_whenever_it_is_killed() {
    let (story, lease) = (Story::marked_plan(PACE), Lease::Lapses);
    Sweep { name: "kills-plan", story, share: 3, lease, plan: Plan::to_kill }.run().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the worker: cargo verify --only kills"]
async fn a_tree_loses_and_doubles_nothing_whenever_it_is_killed() {
    let (story, lease) = (Story::marked_tree(PACE), Lease::Lapses);
    Sweep { name: "kills-tree", story, share: 3, lease, plan: Plan::to_kill }.run().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the worker: cargo verify --only kills"]
async fn a_react_run_loses_and_doubles_nothing_whenever_it_stands_still() {
    let (story, lease) = (Story::marks(PACE), Lease::Lapses);
    Sweep { name: "freezes-react", story, share: 20, lease, plan: freezing }.run().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the worker: cargo verify --only kills"]
async fn a_plan_loses_and_doubles_nothing_whenever_it_stands_still() {
    let (story, lease) = (Story::marked_plan(PACE), Lease::Lapses);
    Sweep { name: "freezes-plan", story, share: 20, lease, plan: freezing }.run().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the worker: cargo verify --only kills"]
async fn a_react_run_that_stood_still_goes_on_as_if_it_had_not() {
    let (story, lease) = (Story::marks(PACE), Lease::Lasts);
    Sweep { name: "thaws-react", story, share: 15, lease, plan: thawing }.run().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the worker: cargo verify --only kills"]
async fn a_plan_that_stood_still_goes_on_as_if_it_had_not() {
    let (story, lease) = (Story::marked_plan(PACE), Lease::Lasts);
    Sweep { name: "thaws-plan", story, share: 15, lease, plan: thawing }.run().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the worker: cargo verify --only kills"]
async fn a_call_that_kills_its_process_is_given_up_alone() {
    let field = Field::start("poison", Story::poisoned(PACE), Lease::Lapses).await;
    let seen = Client::ask(&field.host, "s1", field.story).end().await;
    let outcome = |call: &str| {
        let id = format!("t1.{call}.result");
        seen.state.entries.iter().find(|entry| entry["id"] == *id).unwrap()["result"].clone()
    };
    assert_eq!(outcome("c3")["reason"], "crashed");
    for (call, text) in [("c1", "read"), ("c2", "put"), ("c4", "read"), ("c5", "put")] {
        assert_eq!(outcome(call)["text"], format!("{text} is done"), "{:?}", outcome(call));
    }
    assert_eq!(seen.resumed(), 3, "each death counts once");
    assert!(seen.count("run.ended") == 1 && field.host.with_outcome(InvocationOutcome::Died) >= 3);
}

/// For longer than a lease; thirty seconds when there is time.
fn freezing(seed: u64, life: Duration) -> Plan {
    Plan::to_freeze(seed, life, Duration::from_secs(if soaks() { 30 } else { 8 }))
}

/// For longer than anything under way may take, which is long enough for twenty runs at once on a
/// slow machine.
fn thawing(seed: u64, life: Duration) -> Plan {
    Plan::to_freeze(seed, life, Duration::from_secs(if soaks() { 30 } else { 20 }))
}

impl Sweep {
    #[allow(clippy::print_stdout, reason = "what was tried says more than that it went well")]
    async fn run(&self) {
        let Self { name, story, share, lease, plan } = *self;
        let began = Instant::now();
        let seeds = match number("DJINN_SEED") {
            Some(seed) => seed..seed + 1,
            None => 0..number("DJINN_KILLS").unwrap_or(RUNS).div_ceil(share),
        };
        let unkilled = Arc::new(Field::start(name, story, lease).await.unkilled().await);
        let mut tally = Tally::default();
        for batch in batches(seeds) {
            let field = Arc::new(Field::start(name, story, lease).await);
            let mut runs = stream::iter(batch)
                .map(|seed| {
                    let told = told(Arc::clone(&field), Arc::clone(&unkilled), seed, plan);
                    let run = tokio::spawn(told);
                    async move { (seed, run.await) }
                })
                .buffer_unordered(AT_ONCE);
            while let Some((seed, run)) = runs.next().await {
                let failed = || format!("{name}: DJINN_SEED={seed} failed, see above");
                tally.add(run.unwrap_or_else(|_| panic!("{}", failed())));
            }
        }
        println!(
            "{name}: {tally}, {:.1?} unkilled, {:.0?} in all",
            unkilled.takes,
            began.elapsed()
        );
        tally.is_telling(lease == Lease::Lapses);
    }
}

fn batches(seeds: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let end = seeds.end;
    seeds.step_by(usize::try_from(BATCH).unwrap()).map(move |from| from..end.min(from + BATCH))
}

fn number(name: &str) -> Option<u64> {
    #[allow(clippy::disallowed_methods, reason = "a test's own setting")]
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, got {text}")))
}

/// Tells a run until it is struck in time, and looks at what is left of it.
async fn told(
    field: Arc<Field>,
    unkilled: Arc<Unkilled>,
    seed: u64,
    plan: fn(u64, Duration) -> Plan,
) -> Tally {
    let (mut life, mut stood_still) = (unkilled.takes, 0);
    for attempt in 0..TRIES {
        let plan = plan(seed, life);
        let run = Run::new(seed, attempt);
        let blows = life::live(&field, &run, &plan).await;
        match field.check(&run, &unkilled.seen, blows.times).await {
            None => stood_still += 1,
            Some(tally) if blows.times > 0 => {
                return tally.struck(blows.processes, plan.moment(), stood_still);
            }
            // The machine is less busy than it was.
            Some(_) => life = life.mul_f64(0.6),
        }
    }
    panic!("it always ended before its moment, or the machine stood still {stood_still} times");
}

/// A run of a session of its own.
struct Run {
    id: RunId,
    session: String,
}

impl Run {
    fn new(seed: u64, attempt: u32) -> Self {
        let session = format!("s{seed}-{attempt}");
        let (tenant, user) = (TenantId::new("local").unwrap(), UserId::new("you").unwrap());
        let (name, request) = (SessionName::new(session.as_str()), RequestId::new("r1").unwrap());
        let id = RunId::of(&tenant, &user, &name.unwrap(), &request);
        Self { id, session }
    }

    /// Whether an invocation is for it: the executor is given its id, the agent its session.
    fn is_worked_on_by(&self, invocation: &Invocation) -> bool {
        let payload = &invocation.payload;
        let asked = payload["body"]
            .as_str()
            .is_some_and(|body| body.contains(&json!(self.session).to_string()));
        asked || payload["run"] == self.id.as_str()
    }
}

impl Field {
    async fn start(name: &str, story: Story, lease: Lease) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (ledger, config) =
            (folder.join(format!("{name}.ledger")), folder.join(format!("{name}.config")));
        add_agents(&config);
        let options = Options {
            timeout: Duration::from_secs(120),
            concurrency: 200,
            alarm_every: Duration::from_secs(2),
            settings: quick_and(&match lease {
                Lease::Lapses => {
                    json!({"lease_ms": 5_000, "renew_every_ms": 500, "tool_timeout_ms": 20_000})
                }
                Lease::Lasts => {
                    json!({"lease_ms": 120_000, "renew_every_ms": 500, "tool_timeout_ms": 15_000})
                }
            }),
            model_timeout_s: match lease {
                Lease::Lapses => 30,
                Lease::Lasts => 15,
            },
            ledger: Some(ledger.clone()),
            config: story.calls_agents().then_some(config),
            ..Options::default()
        };
        let ledger = Ledger::empty(ledger);
        Self { host: Host::start(name, options, story).await, story, ledger }
    }

    /// Tells as many runs at once as there will be, and measures the second half of them: the first
    /// starts the processes.
    async fn unkilled(&self) -> Unkilled {
        let runs = u64::try_from(AT_ONCE * 2).unwrap();
        let told = stream::iter(0..runs).map(async |number| {
            let run = Run::new(number, 0);
            let began = Instant::now();
            let seen = Client::ask(&self.host, &run.session, self.story).end().await;
            let takes = began.elapsed();
            self.check(&run, &seen, 0).await;
            Unkilled { seen, takes }
        });
        let told: Vec<_> = told.buffered(AT_ONCE).collect().await;
        let mut told: Vec<_> = told.into_iter().skip(AT_ONCE).collect();
        told.sort_by_key(|run| run.takes);
        told.swap_remove(AT_ONCE / 2)
    }

    /// Checks what a run that has ended left behind: in its history and in the world. `None` if it
    /// was given up because drivers that nobody killed could not renew their leases: the machine
    /// stood still for longer than a lease.
    async fn check(&self, run: &Run, expected: &Seen, blows: usize) -> Option<Tally> {
        let ours = |known: &Invocation| known.outcome.is_none() && run.is_worked_on_by(known);
        self.host.lambda.wait_until(|all| !all.iter().any(ours)).await;
        let seen = Client::ask(&self.host, &run.session, self.story).end().await;
        if seen.was_given_up() && seen.resumed() > blows {
            return None;
        }
        let marks = self.ledger.of(&run.id);
        let uncertain = marks.check(&seen);
        seen.assert_same_but(expected, &uncertain, &format!("{}\n{marks:?}", run.id));
        Some(Tally::of(&seen, &marks, uncertain.len()))
    }
}
