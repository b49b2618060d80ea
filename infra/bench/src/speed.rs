//! The speed of runs, sequential and parallel, against the machine's floor. Agent and floor alternate, so
//! both see the same machine conditions.
//!
//! One run at a time is measured on one thread, which is what a function has. Many runs in one process exist only in
//! `cargo dev`, so they are measured on several threads, as `cargo dev` has them.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use djinn_core::id::{RunId, TenantId};
use djinn_runtime::port::RunKey;
use djinn_scripted::Script;
use futures::future::try_join_all;
use tokio::runtime::Handle;

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::{Backend, standard_bench};
use crate::client::{BenchClient, RunTimes};
use crate::figure::{Figure, FigureLimit};
use crate::floor::Floor;
use crate::plan::WRITES;
use crate::sample::Sample;

/// Runs before counting, to open connections and fill caches.
const WARM_UP: usize = 50;

/// Sequential runs.
const ALONE: usize = 300;

/// Parallel clients, runs of each client, and rounds of alternating agent and floor.
const CLIENTS: usize = 16;
const EACH: usize = 10;
const ROUNDS: usize = 10;

/// Time for the work after a run's end.
const SETTLING: Duration = Duration::from_millis(200);

/// The target of requests: the agent or the floor.
#[derive(Clone)]
enum Target {
    Agent(BenchClient),
    Floor(Arc<Floor>),
}

impl Target {
    async fn run_once(&self) -> Result<RunTimes> {
        match self {
            Self::Agent(client) => client.run_question().await,
            Self::Floor(floor) => floor.run_once().await,
        }
    }

    async fn run_in_a_row(self) -> Result<()> {
        let row = async move {
            for _ in 0..EACH {
                self.run_once().await?;
            }
            Ok(())
        };
        tokio::spawn(row).await?
    }
}

/// The measurements of a target.
#[derive(Default)]
struct Measurements {
    whole: Sample,
    first_byte: Sample,
    at_once: Duration,
}

impl Measurements {
    fn runs_per_second(&self) -> f64 {
        (CLIENTS * EACH * ROUNDS) as f64 / self.at_once.as_secs_f64()
    }
}

pub(crate) async fn measure_speed() -> Result<Vec<Figure>> {
    let backend = Arc::new(Backend::start(Script::bench(standard_bench())).await?);
    let function = start_thread()?.spawn(Servers::start(Arc::clone(&backend))).await??;
    let in_words = function.floor.describe_work();
    let mut measurements = [Measurements::default(), Measurements::default()];
    let both = function.targets()?;
    warm_up(&both).await?;
    for _ in 0..ALONE {
        for (target, measurements) in both.iter().zip(&mut measurements) {
            let took = target.run_once().await?;
            measurements.whole.add(took.whole);
            measurements.first_byte.add(took.first_byte);
        }
    }
    // Servers poll the store as long as they live.
    drop((both, function));
    let threads = Servers::start(Arc::clone(&backend)).await?;
    let both = threads.targets()?;
    warm_up(&both).await?;
    for _ in 0..ROUNDS {
        for (target, measurements) in both.iter().zip(&mut measurements) {
            let began = Instant::now();
            try_join_all((0..CLIENTS).map(|_| target.clone().run_in_a_row())).await?;
            measurements.at_once += began.elapsed();
        }
    }
    backend.check_expected()?;
    Ok(list_figures(&measurements, &in_words))
}

async fn warm_up(both: &[Target]) -> Result<()> {
    for _ in 0..WARM_UP {
        for target in both {
            target.run_once().await?;
        }
    }
    Ok(())
}

/// Starts a thread for asynchronous work.
fn start_thread() -> Result<Handle> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    std::thread::Builder::new().spawn(move || runtime.block_on(pending::<()>()))?;
    Ok(handle)
}

/// An agent, and the floor of its runs.
struct Servers {
    agent: AgentServer,
    floor: Arc<Floor>,
}

impl Servers {
    /// Starts both on the threads of the current runtime.
    async fn start(backend: Arc<Backend>) -> Result<Self> {
        let agent = AgentServer::start(&backend.address(), AgentOptions::default()).await?;
        let client = BenchClient::new(agent.url())?;
        // A warm-up opens connections and checks the bucket.
        client.run_question().await?;
        tokio::time::sleep(SETTLING).await;
        drop(agent.aws().request_counter().take_counts());
        let stream = client.open_stream().await?;
        let run = RunKey::new(TenantId::new("local")?, RunId::new(stream.run_id()?)?);
        stream.finish().await?;
        tokio::time::sleep(SETTLING).await;
        let requests = agent.aws().request_counter().take_counts();
        let writes: u64 = WRITES.iter().filter_map(|kind| requests.get(*kind)).sum();
        let did = (standard_bench().model_calls, usize::try_from(writes)?);
        let floor = Floor::of(&run, did, &backend, &agent).await?;
        Ok(Self { agent, floor: Arc::new(floor) })
    }

    fn targets(&self) -> Result<[Target; 2]> {
        let client = BenchClient::new(self.agent.url())?;
        Ok([Target::Agent(client), Target::Floor(Arc::clone(&self.floor))])
    }
}

fn list_figures([run, floor]: &[Measurements; 2], floor_in_words: &str) -> Vec<Figure> {
    let figure =
        |name, reach, unit, measured, about| Figure { name, limit: reach, unit, measured, about };
    let alone = run.whole.median();
    let bare = floor.whole.median();
    let rate = run.runs_per_second();
    let bare_rate = floor.runs_per_second();
    vec![
        figure(
            "a run against its floor, one at a time, medians",
            FigureLimit::AtMost(1.6),
            "×",
            alone / bare,
            format!("{alone:.1} ms against {bare:.1} ms; the floor is {floor_in_words}"),
        ),
        figure(
            "runs against their floor, 16 at once",
            FigureLimit::AtMost(1.8),
            "×",
            bare_rate / rate,
            format!("{rate:.0}/s against {bare_rate:.0}/s"),
        ),
        figure(
            "a run, one at a time, median",
            FigureLimit::Unbounded,
            "ms",
            alone,
            format!(
                "p95 {:.1} ms of {ALONE}; 5 model calls, 5 tool calls and 200 deltas, from the \
                 request to the last byte; client, agent, stores and a model that writes each \
                 reply at once, in one process",
                run.whole.p95()
            ),
        ),
        figure(
            "runs per second, 16 concurrent",
            FigureLimit::Unbounded,
            "/s",
            rate,
            format!("{} runs in that process", CLIENTS * EACH * ROUNDS),
        ),
        figure(
            "first SSE byte, median",
            FigureLimit::AtMost(4.0),
            "ms",
            run.first_byte.median(),
            format!(
                "p95 {:.1} ms; the run is in the table before it is sent; the floor, which puts one \
                 record before, {:.1} ms",
                run.first_byte.p95(),
                floor.first_byte.median()
            ),
        ),
    ]
}
