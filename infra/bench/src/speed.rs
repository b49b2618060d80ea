//! How fast runs are: one at a time, and many at once.

use std::time::Instant;

use anyhow::Result;
use djinn_local::{System, SystemOptions};
use djinn_scripted::{Script, Scripted};
use futures::future::try_join_all;
use tokio::net::TcpListener;

use crate::backend::bench;
use crate::client::Client;
use crate::figure::{Figure, Reach};
use crate::sample::Sample;

/// Runs that are not counted: connections are made, and caches filled.
const WARM_UP: usize = 50;

/// Runs one at a time.
const ALONE: usize = 300;

/// Clients at once, and the runs of each.
const CLIENTS: usize = 16;
const EACH: usize = 100;

pub(crate) async fn figures() -> Result<Vec<Figure>> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let model = Scripted::serve(listener, Script::bench(bench()))?;
    let base_url = model.base_url();
    let var = move |name: &str| match name {
        "OPENAI_API_KEY" | "OPENAI_MODEL" => Some("scripted".to_owned()),
        "OPENAI_BASE_URL" => Some(base_url.clone()),
        _ => None,
    };
    let options = SystemOptions { var: Box::new(var), ..SystemOptions::default() };
    let system = System::start(options).await?;
    let client = Client::new(format!("http://{}", system.address()))?;
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
    let unexpected = model.take_unexpected();
    anyhow::ensure!(unexpected.is_empty(), "the model: {}", unexpected.join("\n"));
    Ok(vec![
        Figure {
            name: "a run, one at a time, median",
            reach: Reach::AtMost(12.0),
            unit: "ms",
            measured: whole.median(),
            about: format!(
                "p95 {:.1} ms of {ALONE}; 6 model calls, 5 file writes and 200 deltas, from the \
                 request to the last byte; client, agent, stores and model in one process",
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
