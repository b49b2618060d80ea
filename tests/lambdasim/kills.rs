//! `kill -9` at any moment of runs whose tools leave their mark on the world.
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

use djinn_core::id::{RequestId, RunId, SessionId, TenantId};
use djinn_testkit::lambdasim::Invocation;
use futures::{StreamExt as _, stream};
use serde_json::json;
use tokio::time::Instant;

use crate::always::PACE;
use crate::client::{Client, Seen};
use crate::host::{Host, Options, quick_and};
use crate::story::Story;
use ledger::Ledger;
use life::Plan;
use tally::Tally;

/// How many runs of all kinds are killed, unless `DJINN_KILLS` says otherwise.
const RUNS: u64 = 300;

/// Runs that are under way at once.
const AT_ONCE: usize = 16;

/// Runs over the same stores; for the next ones there are new ones.
const BATCH: u64 = 250;

/// A run that ended before its moment came is told again, with one that comes earlier.
const TRIES: u32 = 6;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the worker: cargo verify --only kills"]
async fn a_react_run_loses_and_doubles_nothing_whenever_it_is_killed() {
    kill_all("kills-react", Story::marks(PACE)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the worker: cargo verify --only kills"]
async fn a_plan_loses_and_doubles_nothing_whenever_it_is_killed() {
    kill_all("kills-plan", Story::marked_plan(PACE)).await;
}

#[allow(clippy::print_stdout, reason = "what was tried says more than that it went well")]
async fn kill_all(name: &str, story: Story) {
    let began = Instant::now();
    let seeds = match number("DJINN_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("DJINN_KILLS").unwrap_or(RUNS).div_ceil(2),
    };
    let unkilled = Arc::new(Field::start(name, story).await.unkilled().await);
    let mut tally = Tally::default();
    for batch in batches(seeds) {
        let field = Arc::new(Field::start(name, story).await);
        let mut runs = stream::iter(batch)
            .map(|seed| {
                let run = tokio::spawn(killed(Arc::clone(&field), Arc::clone(&unkilled), seed));
                async move { (seed, run.await) }
            })
            .buffer_unordered(AT_ONCE);
        while let Some((seed, run)) = runs.next().await {
            tally
                .add(run.unwrap_or_else(|_| panic!("{name}: DJINN_SEED={seed} failed, see above")));
        }
    }
    println!("{name}: {tally}, {:.0?} unkilled, {:.0?} in all", unkilled.takes, began.elapsed());
    tally.is_telling();
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

/// Tells a run until it is killed in time, and looks at what is left of it.
async fn killed(field: Arc<Field>, unkilled: Arc<Unkilled>, seed: u64) -> Tally {
    for attempt in 0..TRIES {
        let plan = Plan::new(seed, unkilled.takes, attempt);
        let run = Run::new(seed, attempt);
        let kills = life::live(&field, &run, &plan).await;
        let tally = field.check(&run, &unkilled.seen).await;
        if kills > 0 {
            return tally.killed(kills, plan.moment());
        }
    }
    panic!("it always ended before it was killed");
}

/// A run of a session of its own.
struct Run {
    id: RunId,
    session: String,
}

impl Run {
    fn new(seed: u64, attempt: u32) -> Self {
        let session = format!("s{seed}-{attempt}");
        let (tenant, request) = (TenantId::new("local").unwrap(), RequestId::new("r1").unwrap());
        let id = RunId::of(&tenant, &SessionId::new(session.as_str()).unwrap(), &request);
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
    async fn start(name: &str, story: Story) -> Self {
        let ledger = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.ledger"));
        let options = Options {
            timeout: Duration::from_secs(120),
            concurrency: 200,
            alarm_every: Duration::from_secs(2),
            settings: quick_and(
                &json!({"lease_ms": 4_000, "renew_every_ms": 400, "tool_timeout_ms": 20_000}),
            ),
            model_timeout_s: 30,
            ledger: Some(ledger.clone()),
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
            self.check(&run, &seen).await;
            Unkilled { seen, takes }
        });
        let told: Vec<_> = told.buffered(AT_ONCE).collect().await;
        let mut told: Vec<_> = told.into_iter().skip(AT_ONCE).collect();
        told.sort_by_key(|run| run.takes);
        told.swap_remove(AT_ONCE / 2)
    }

    /// Checks what a run that has ended left behind: in its history and in the world.
    async fn check(&self, run: &Run, expected: &Seen) -> Tally {
        let ours = |known: &Invocation| known.outcome.is_none() && run.is_worked_on_by(known);
        self.host.lambda.until(|all| !all.iter().any(ours)).await;
        let seen = Client::ask(&self.host, &run.session, self.story).end().await;
        let marks = self.ledger.of(&run.id);
        let uncertain = marks.check(&seen);
        seen.assert_same_but(expected, &uncertain, &format!("{}\n{marks:?}", run.id));
        Tally::of(&seen, &marks, uncertain.len())
    }
}
