//! A thousand tasks. The driver runs alone in a process, stores and model in another, and the executors in
//! this process.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use djinn_aws::{Aws, RunInvocation};
use djinn_core::tool::EffectClass;
use djinn_local::{ALARM_EVERY, LocalDispatch, run_executor};
use djinn_runtime::port::tool::Toolbox;
use djinn_wiring::Variables;
use tokio::sync::mpsc;

use crate::agent_server;
use crate::backend::{self, BackendAddress};
use crate::child_process::ChildProcess;
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};
use crate::note::NoteTool;
use crate::plan::ideal_time;

/// Tasks of the two compared runs.
const FEW: usize = 100;
const MANY: usize = 1_000;

pub(crate) async fn measure_many_children() -> Result<Vec<Figure>> {
    let few = DriverCost::of(FEW).await.context("100 tasks")?;
    let many = DriverCost::of(MANY).await.context("1 000 tasks")?;
    Ok(vec![
        Figure {
            name: "1 000 executors, memory of the driver",
            limit: FigureLimit::AtMost(120.0),
            unit: "MB",
            measured: many.most_mb,
            about: format!(
                "resident, at most; {:.0} MB with 100, {:.2} times; the driver in a process of its \
                 own",
                few.most_mb,
                many.most_mb / few.most_mb
            ),
        },
        Figure {
            name: "1 000 executors × 50 ms, wall against ideal",
            limit: FigureLimit::AtMost(2.0),
            unit: "×",
            measured: many.seconds / ideal_time(MANY).as_secs_f64(),
            about: format!("{:.1} s, 10 at once (the default)", many.seconds),
        },
    ])
}

/// A driver's cost of a run with this number of tasks.
struct DriverCost {
    most_mb: f64,
    seconds: f64,
}

impl DriverCost {
    async fn of(tasks: usize) -> Result<Self> {
        let backend = ChildProcess::start(&[backend::PLAN_PROCESS, &tasks.to_string()]).await?;
        let urls: Vec<String> = backend.first_line().split(' ').map(str::to_owned).collect();
        let urls: [String; 4] = urls.try_into().ok().context("three URLs and a key")?;
        let words: Vec<&str> =
            std::iter::once(agent_server::PROCESS).chain(urls.iter().map(String::as_str)).collect();
        let mut driver = ChildProcess::start(&words).await?;
        let client = BenchClient::new(driver.first_line().to_owned())?.with_mode("plan_solve");
        let (invocations, received) = mpsc::unbounded_channel();
        let executor = tokio::spawn(run_executor(
            executor_world(&BackendAddress::from_parts(urls))?,
            received,
        ));
        let began = Instant::now();
        let mut stream = client.open_stream().await?;
        {
            let mut end = std::pin::pin!(stream.read_to_end());
            loop {
                tokio::select! {
                    took = &mut end => {
                        took?;
                        break;
                    }
                    line = driver.next_line() => {
                        let invocation: RunInvocation = serde_json::from_str(&line?)?;
                        invocations.send(invocation).context("no executor")?;
                    }
                }
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        ensure!(stream.child_count() == tasks, "{} tasks instead of {tasks}", stream.child_count());
        let (_, most_mb) = driver.memory_mb()?;
        executor.abort();
        driver.wait_for_end().await?;
        backend.wait_for_end().await?;
        Ok(Self { most_mb, seconds })
    }
}

/// Returns the executors' world, over a separate backend.
fn executor_world(backend: &BackendAddress) -> Result<djinn_local::LocalWorld> {
    let models = backend.models_json();
    let variables: Variables =
        Arc::new(move |name| (name == "DJINN_MODELS").then(|| models.clone()));
    let aws = Aws::new(backend.store.clone());
    // The receiver is dropped: each task ends under its first driver, and the parent run's driver is
    // elsewhere.
    let (dispatch, _) = LocalDispatch::new(ALARM_EVERY);
    let mut ports = djinn_wiring::build_world(
        &djinn_wiring::Djinn::new(),
        &variables,
        &aws,
        dispatch.clone(),
        dispatch,
    )?;
    ports.tools = Toolbox::default().with_tool(NoteTool(EffectClass::Read));
    Ok(ports)
}
