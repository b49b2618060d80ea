//! Plans: dispatch time of tasks, parallelism, and cost of a run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use djinn_scripted::{PlanBench, Script};
use serde_json::Value;

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::Backend;
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};
use crate::note;
use crate::sample::Sample;

/// Timed dispatches, after a warm-up.
const DISPATCHES: usize = 60;
const WARM_UP: usize = 10;

/// Tasks, the duration of each, and the number of parallel tasks.
const TASKS: usize = 100;
pub(crate) const WORK: Duration = Duration::from_millis(50);
pub(crate) const AT_ONCE: usize = 10;

/// Returns a script for plans with this number of steps. Each task makes `calls` tool calls, and each reply
/// takes `work`.
pub(crate) fn plan_script(steps: usize, calls: usize, work: Duration) -> Script {
    let tool = note::NAME.to_owned();
    Script::plan_bench(PlanBench { steps, calls, work, tool, arguments: note::nth_arguments })
}

pub(crate) async fn measure_plans() -> Result<Vec<Figure>> {
    let mut figures = vec![measure_dispatch().await?, measure_wall_time().await?];
    figures.extend(measure_costs().await?);
    Ok(figures)
}

async fn measure_dispatch() -> Result<Figure> {
    let backend = Backend::start(plan_script(3, 1, Duration::ZERO)).await?;
    let agent = AgentServer::start(&backend.address(), AgentOptions::default()).await?;
    let client = BenchClient::new(agent.url())?.with_mode("plan_solve");
    let mut sample = Sample::default();
    for nth in 0..WARM_UP + DISPATCHES {
        let mut stream = client.open_stream().await?;
        stream.read_to_end().await?;
        let took = stream.dispatch_time().context("a task was never heard from")?;
        if nth >= WARM_UP {
            sample.add(took);
        }
    }
    backend.check_expected()?;
    Ok(Figure {
        name: "3 steps dispatched, to their first entry, median",
        limit: FigureLimit::AtMost(60.0),
        unit: "ms",
        measured: sample.median(),
        about: format!(
            "p95 {:.1} ms of {DISPATCHES}; from the plan at the client until all three tasks were \
             heard from there",
            sample.p95()
        ),
    })
}

async fn measure_wall_time() -> Result<Figure> {
    let backend = Backend::start(plan_script(TASKS, 0, WORK)).await?;
    let agent = AgentServer::start(&backend.address(), AgentOptions::default()).await?;
    let client = BenchClient::new(agent.url())?.with_mode("plan_solve");
    let mut stream = client.open_stream().await?;
    let began = Instant::now();
    stream.read_to_end().await?;
    let took = began.elapsed();
    backend.check_expected()?;
    ensure!(stream.child_count() == TASKS, "{} tasks instead of {TASKS}", stream.child_count());
    let ideal = ideal_time(TASKS);
    Ok(Figure {
        name: "100 executors × 50 ms, wall against ideal",
        limit: FigureLimit::AtMost(1.5),
        unit: "×",
        measured: took.as_secs_f64() / ideal.as_secs_f64(),
        about: format!(
            "{:.0} ms, {AT_ONCE} at once (the default), so {:.0} ms is ideal; planner, stores and \
             model in the same process",
            took.as_secs_f64() * 1_000.0,
            ideal.as_secs_f64() * 1_000.0
        ),
    })
}

/// Returns the minimum time for this number of tasks.
pub(crate) fn ideal_time(tasks: usize) -> Duration {
    WORK.saturating_mul(u32::try_from(tasks.div_ceil(AT_ONCE)).unwrap_or(u32::MAX))
}

/// Write and read operations of the table.
pub(crate) const WRITES: [&str; 4] = ["DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"];
pub(crate) const READS: [&str; 4] = ["BatchGetItem", "GetItem", "Query", "Scan"];

/// Prices per million in US dollars, us-east-1 list prices: DynamoDB on-demand write and read request units
/// of 2024-11-01, S3 PUT and GET, Lambda invocations.
const WRITE: f64 = 0.625;
const READ: f64 = 0.125;
const PUT_OBJECT: f64 = 5.0;
const GET_OBJECT: f64 = 0.4;
const INVOCATION: f64 = 0.2;

/// Measures the requests of a run with 3 parallel steps of 2 turns each.
async fn measure_costs() -> Result<Vec<Figure>> {
    let backend = Backend::start(plan_script(3, 1, Duration::ZERO)).await?;
    let agent = AgentServer::start(&backend.address(), AgentOptions::default()).await?;
    let client = BenchClient::new(agent.url())?.with_mode("plan_solve");
    // A warm-up opens connections and checks the bucket.
    client.run_question().await?;
    drop(agent.aws().request_counter().take_counts());
    let mut stream = client.open_stream().await?;
    stream.read_to_end().await?;
    // Some deliveries follow the end as seen by the client.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let requests = agent.aws().request_counter().take_counts();
    backend.check_expected()?;
    let count = |kinds: &[&str]| count_requests(&requests, kinds);
    let writes = count(&WRITES);
    let reads = count(&READS);
    let transactions = count(&["TransactWriteItems"]);
    // A transaction of three items is billed as six writes, five more than counted.
    let dollars = (writes + 5.0 * transactions) * WRITE
        + reads * READ
        + count(&["PutObject"]) * PUT_OBJECT
        + count(&["GetObject"]) * GET_OBJECT
        + 4.0 * INVOCATION;
    let about = format!(
        "{}; {:.4} US cents at list prices besides Lambda's seconds and the model",
        list_requests(&requests),
        dollars / 1_000_000.0 * 100.0
    );
    let spent = stream.final_entry().and_then(|end| end.pointer("/spent/model_calls"));
    let model_calls = spent.and_then(Value::as_f64).context("a run without model calls")?;
    let figure = |name, most, measured, about| {
        let reach = FigureLimit::AtMost(most);
        Figure { name, limit: reach, unit: "", measured, about }
    };
    let run = "3 steps at once, 2 turns each".to_owned();
    Ok(vec![
        figure("writes of a Plan-Solve run", 60.0, writes, about),
        figure("reads of a Plan-Solve run", 40.0, reads, format!("{run}; tailing included")),
        figure(
            "model calls of a Plan-Solve run",
            9.0,
            model_calls,
            format!("{run}; 2 of the planner, 1 summary"),
        ),
    ])
}

/// Returns the number of requests with these operations.
pub(crate) fn count_requests(requests: &BTreeMap<String, u64>, kinds: &[&str]) -> f64 {
    kinds.iter().filter_map(|kind| requests.get(*kind)).map(|n| *n as f64).sum()
}

pub(crate) fn list_requests(requests: &BTreeMap<String, u64>) -> String {
    let each = requests.iter().map(|(kind, count)| format!("{count} {kind}"));
    each.collect::<Vec<_>>().join(", ")
}
