//! How fast runs are: one at a time, and many at once.

use std::time::Instant;

use anyhow::Result;
use djinn_scripted::Script;
use futures::future::try_join_all;

use crate::backend::{Backend, bench};
use crate::client::Client;
use crate::figure::{Figure, Reach};
use crate::front::{Changes, Front};
use crate::sample::Sample;

/// Runs that are not counted: connections are made, and caches filled.
const WARM_UP: usize = 50;

/// Runs one at a time.
const ALONE: usize = 300;

/// Clients at once, and the runs of each.
const CLIENTS: usize = 16;
const EACH: usize = 100;

pub(crate) async fn figures() -> Result<Vec<Figure>> {
    let backend = Backend::start(Script::bench(bench())).await?;
    let front = Front::start(&backend.place(), Changes::default()).await?;
    let client = Client::new(front.url())?;
    for _ in 0..WARM_UP {
        client.ask().await?;
    }
    let (mut whole, mut first_byte) = (Sample::default(), Sample::default());
    for _ in 0..ALONE {
        let took = client.ask().await?;
        whole.add(took.whole);
        first_byte.add(took.first_byte);
    }
    let began = Instant::now();
    try_join_all((0..CLIENTS).map(|_| run_in_a_row(client.clone()))).await?;
    let rate = (CLIENTS * EACH) as f64 / began.elapsed().as_secs_f64();
    backend.check()?;
    Ok(vec![
        Figure {
            name: "a run, one at a time, median",
            reach: Reach::AtMost(12.0),
            unit: "ms",
            measured: whole.median(),
            about: format!(
                "p95 {:.1} ms of {ALONE}; 5 model calls, 5 tool calls and 200 deltas, from the \
                 request to the last byte; client, agent, stores and a model that writes each \
                 reply at once, in one process",
                whole.p95()
            ),
        },
        Figure {
            name: "runs per second, 16 concurrent",
            reach: Reach::AtLeast(150.0),
            unit: "/s",
            measured: rate,
            about: format!("{} runs in that process", CLIENTS * EACH),
        },
        Figure {
            name: "first SSE byte, median",
            reach: Reach::AtMost(4.0),
            unit: "ms",
            measured: first_byte.median(),
            about: format!(
                "p95 {:.1} ms; the run is in the table before it is sent",
                first_byte.p95()
            ),
        },
    ])
}

async fn run_in_a_row(client: Client) -> Result<()> {
    let row = async move {
        for _ in 0..EACH {
            client.ask().await?;
        }
        Ok(())
    };
    tokio::spawn(row).await?
}
