//! The agent's processor time per run. The agent runs alone in a process, stores and model in another, and
//! the clients in this process.

use anyhow::{Context as _, Result};
use futures::future::try_join_all;

use crate::agent_server;
use crate::backend::{self, standard_bench};
use crate::child_process::ChildProcess;
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};

/// Runs before counting starts.
const WARM_UP: usize = 30;

/// Sequential runs.
const ALONE: usize = 200;

/// Parallel clients, and the runs of each.
const CLIENTS: usize = 16;
const EACH: usize = 25;

/// Deltas of a long run, and the number of long runs. The cost beyond a normal run is the deltas' cost.
const DELTAS: usize = 4_000;
const LONG: usize = 50;

pub(crate) async fn measure_cpu() -> Result<Vec<Figure>> {
    let agent = AgentProcess::start(standard_bench().deltas, true).await?;
    agent.finish_runs(WARM_UP).await?;
    let alone_ms = agent.cost_ms(ALONE, agent.finish_runs(ALONE)).await?;
    let at_once = try_join_all((0..CLIENTS).map(|_| agent.finish_runs(EACH)));
    let at_once = async { at_once.await.map(drop) };
    let at_once_ms = agent.cost_ms(CLIENTS * EACH, at_once).await?;
    agent.end().await?;
    let delta_us =
        (cost_of_deltas(DELTAS).await? - cost_of_deltas(standard_bench().deltas).await?) * 1_000.0
            / (DELTAS - standard_bench().deltas) as f64;
    let figure = |name, most, unit, measured, about: String| {
        let reach = FigureLimit::AtMost(most);
        Figure { name, limit: reach, unit, measured, about }
    };
    let how = "the agent in a process of its own, user and system".to_owned();
    Ok(vec![
        figure("CPU of the agent for a run, one at a time", 8.0, "ms", alone_ms, how.clone()),
        figure("CPU of the agent for a run, 16 at once", 8.0, "ms", at_once_ms, how),
        figure(
            "CPU of the agent for a delta",
            15.0,
            "µs",
            delta_us,
            format!(
                "the difference between runs of {DELTAS} deltas and of {}, each delta written alone \
                 by the model, as fast as it can",
                standard_bench().deltas
            ),
        ),
    ])
}

/// Finishes runs for a profiler, this number at once.
pub(crate) async fn finish_runs(at_once: usize) -> Result<()> {
    let agent = AgentProcess::start(standard_bench().deltas, true).await?;
    let each = CLIENTS * EACH / at_once.clamp(1, CLIENTS);
    try_join_all((0..at_once).map(|_| agent.finish_runs(each))).await?;
    agent.end().await
}

/// Returns the milliseconds of a run with this number of deltas, each sent separately.
async fn cost_of_deltas(deltas: usize) -> Result<f64> {
    let agent = AgentProcess::start(deltas, false).await?;
    agent.finish_runs(WARM_UP / 2).await?;
    let cost = agent.cost_ms(LONG, agent.finish_runs(LONG)).await?;
    agent.end().await?;
    Ok(cost)
}

/// An agent process and a backend process.
pub(crate) struct AgentProcess {
    backend: ChildProcess,
    process: ChildProcess,
    client: BenchClient,
}

impl AgentProcess {
    /// Starts both. A run has this number of deltas; the model writes them at once, or one by one.
    pub(crate) async fn start(deltas: usize, at_once: bool) -> Result<Self> {
        let deltas = deltas.to_string();
        let at_once = at_once.to_string();
        let backend = ChildProcess::start(&[backend::FREE_PROCESS, &deltas, &at_once]).await?;
        let urls: Vec<&str> = backend.first_line().split(' ').collect();
        let words: Vec<&str> = std::iter::once(agent_server::PROCESS).chain(urls).collect();
        let process = ChildProcess::start(&words).await?;
        let client = BenchClient::new(process.first_line().to_owned())?;
        Ok(Self { backend, process, client })
    }

    async fn finish_runs(&self, runs: usize) -> Result<()> {
        for _ in 0..runs {
            self.client.run_question().await.context("a run did not end")?;
        }
        Ok(())
    }

    /// The client of the agent.
    pub(crate) fn client(&self) -> &BenchClient {
        &self.client
    }

    /// Returns the agent's processor time per run, in milliseconds.
    pub(crate) async fn cost_ms(
        &self,
        runs: usize,
        done: impl Future<Output = Result<()>>,
    ) -> Result<f64> {
        let before = self.process.cpu_seconds()?;
        done.await?;
        Ok((self.process.cpu_seconds()? - before) * 1_000.0 / runs as f64)
    }

    /// Ends both processes.
    pub(crate) async fn end(self) -> Result<()> {
        self.process.wait_for_end().await?;
        self.backend.wait_for_end().await
    }
}
