//! What the agent needs for many open streams: it alone in a process, stores and model in another,
//! the clients in this one.

use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::future::try_join_all;

use crate::backend::{self, HELD_AT, bench};
use crate::child::Child;
use crate::client::Client;
use crate::figure::{Figure, Reach};
use crate::front;

/// Open streams.
const STREAMS: usize = 500;

/// How long they stay open before the memory is read: mail and leases are looked after meanwhile.
const OPEN: Duration = Duration::from_secs(8);

pub(crate) async fn figure() -> Result<Figure> {
    let mut backend = Child::start(&[backend::PROCESS]).await?;
    let urls: Vec<&str> = backend.said().split(' ').collect();
    let words: Vec<&str> = std::iter::once(front::PROCESS).chain(urls).collect();
    let agent = Child::start(&words).await?;
    let (idle, _) = agent.memory_mb()?;
    let client = Client::new(agent.said().to_owned())?;
    let opening = (0..STREAMS).map(|_| client.open());
    let mut streams = try_join_all(opening).await.context("a stream did not open")?;
    let held = streams.iter_mut().map(|stream| stream.read_previews(shown_before_the_gate()));
    try_join_all(held).await.context("a run did not come to its answer")?;
    tokio::time::sleep(OPEN).await;
    let (open, most) = agent.memory_mb()?;
    backend.tell().await?;
    let ends = streams.into_iter().map(crate::client::Stream::finish);
    try_join_all(ends).await.context("a run did not end")?;
    agent.end().await?;
    backend.end().await?;
    Ok(Figure {
        name: "memory with 500 open streams",
        reach: Reach::AtMost(80.0),
        unit: "MB",
        measured: open,
        about: format!(
            "resident; {most:.0} MB at most, {idle:.0} MB before the first; all in the middle of \
             their answers after 5 tool calls; the agent in a process of its own"
        ),
    })
}

/// The previews that a run shows before its answer is held.
fn shown_before_the_gate() -> usize {
    let bench = bench();
    let before = bench.model_calls - 1;
    bench.deltas / bench.model_calls * before
        + (bench.deltas % bench.model_calls).min(before)
        + HELD_AT
        - 1
}
