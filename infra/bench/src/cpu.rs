//! What a run costs the agent in processor time: it alone in a process, stores and model in another, the
//! clients in this one.

use anyhow::{Context as _, Result};
use futures::future::try_join_all;

use crate::backend::{self, bench};
use crate::child::Child;
use crate::client::Client;
use crate::figure::{Figure, Reach};
use crate::front;

/// Runs that are not counted.
const WARM_UP: usize = 30;

/// Runs one at a time.
const ALONE: usize = 200;

/// Clients at once, and the runs of each.
const CLIENTS: usize = 16;
const EACH: usize = 25;

/// Deltas of a long run, and how many of these are made: what they cost beyond runs of the usual length is
/// the deltas' alone.
const DELTAS: usize = 4_000;
const LONG: usize = 50;

pub(crate) async fn figures() -> Result<Vec<Figure>> {
    let agent = Agent::start(bench().deltas, true).await?;
    agent.runs(WARM_UP).await?;
    let alone_ms = agent.cost_ms(ALONE, agent.runs(ALONE)).await?;
    let at_once = try_join_all((0..CLIENTS).map(|_| agent.runs(EACH)));
    let at_once = async { at_once.await.map(drop) };
    let at_once_ms = agent.cost_ms(CLIENTS * EACH, at_once).await?;
    agent.end().await?;
    let delta_us = (cost_of(DELTAS).await? - cost_of(bench().deltas).await?) * 1_000.0
        / (DELTAS - bench().deltas) as f64;
    let figure = |name, most, unit, measured, about: String| {
        let reach = Reach::AtMost(most);
        Figure { name, reach, unit, measured, about }
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
                bench().deltas
            ),
        ),
    ])
}

/// Milliseconds that a run of so many deltas takes, each of which leaves alone.
async fn cost_of(deltas: usize) -> Result<f64> {
    let agent = Agent::start(deltas, false).await?;
    agent.runs(WARM_UP / 2).await?;
    let cost = agent.cost_ms(LONG, agent.runs(LONG)).await?;
    agent.end().await?;
    Ok(cost)
}

/// An agent in a process of its own, and what it talks to in another.
struct Agent {
    backend: Child,
    process: Child,
    client: Client,
}

impl Agent {
    async fn start(deltas: usize, at_once: bool) -> Result<Self> {
        let (deltas, at_once) = (deltas.to_string(), at_once.to_string());
        let backend = Child::start(&[backend::FREE_PROCESS, &deltas, &at_once]).await?;
        let urls: Vec<&str> = backend.said().split(' ').collect();
        let words: Vec<&str> = std::iter::once(front::PROCESS).chain(urls).collect();
        let process = Child::start(&words).await?;
        let client = Client::new(process.said().to_owned())?;
        Ok(Self { backend, process, client })
    }

    async fn runs(&self, runs: usize) -> Result<()> {
        for _ in 0..runs {
            self.client.ask().await.context("a run did not end")?;
        }
        Ok(())
    }

    /// Milliseconds of processor time that each of so many runs takes the agent.
    async fn cost_ms(&self, runs: usize, done: impl Future<Output = Result<()>>) -> Result<f64> {
        let before = self.process.cpu_seconds()?;
        done.await?;
        Ok((self.process.cpu_seconds()? - before) * 1_000.0 / runs as f64)
    }

    async fn end(self) -> Result<()> {
        self.process.end().await?;
        self.backend.end().await
    }
}
