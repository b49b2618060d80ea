//! The agent's memory for many open streams. The agent runs alone in a process, stores and model in another,
//! and the clients in this process.

use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::future::try_join_all;

use crate::agent_server;
use crate::backend;
use crate::child_process::ChildProcess;
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};

/// Open streams during the measurement.
const STREAMS: usize = 500;

/// Time before the measurement, in which mailboxes and leases are polled.
const OPEN: Duration = Duration::from_secs(8);

pub(crate) async fn measure_memory() -> Result<Figure> {
    let mut backend = ChildProcess::start(&[backend::PROCESS]).await?;
    let urls: Vec<&str> = backend.first_line().split(' ').collect();
    let words: Vec<&str> = std::iter::once(agent_server::PROCESS).chain(urls).collect();
    let agent = ChildProcess::start(&words).await?;
    let (idle, _) = agent.memory_mb()?;
    let client = BenchClient::new(agent.first_line().to_owned())?;
    let opening = (0..STREAMS).map(|_| client.open_stream());
    let mut streams = try_join_all(opening).await.context("a stream did not open")?;
    let waits =
        streams.iter_mut().map(|stream| stream.read_previews(backend::previews_before_gate()));
    try_join_all(waits).await.context("a run did not come to its answer")?;
    tokio::time::sleep(OPEN).await;
    let (open, most) = agent.memory_mb()?;
    backend.send_line().await?;
    let ends = streams.into_iter().map(crate::client::RunStream::finish);
    try_join_all(ends).await.context("a run did not end")?;
    agent.wait_for_end().await?;
    backend.wait_for_end().await?;
    Ok(Figure {
        name: "memory with 500 open streams",
        limit: FigureLimit::AtMost(80.0),
        unit: "MB",
        measured: open,
        about: format!(
            "resident; {most:.0} MB at most, {idle:.0} MB before the first; all in the middle of \
             their answers after 5 tool calls; the agent in a process of its own"
        ),
    })
}
