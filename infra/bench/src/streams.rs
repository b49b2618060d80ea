//! The delay of words from many models at once. The agent runs alone in a process, stores and model in
//! another, and the clients in this process, all on the same cores.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use djinn_scripted::{STAMP, Script, ScriptedResponse};
use futures::future::try_join_all;

use crate::agent_server;
use crate::backend;
use crate::child_process::ChildProcess;
use crate::client::{BenchClient, RunStream};
use crate::figure::{Figure, FigureLimit};
use crate::sample::Sample;

/// Open streams during the measurement.
pub(crate) const STREAMS: usize = 1_000;

/// Streams opened in parallel; a thousand at the same moment would be a different measurement.
const AT_ONCE: usize = 16;

/// Interval between two pieces of a model's reply.
const EVERY: Duration = Duration::from_millis(50);

/// Pieces of each reply, enough for opening all streams and for the measurement.
const PIECES: usize = 600;

/// Duration of the measurement.
const WATCHED: Duration = Duration::from_secs(10);

/// Returns a script with every reply as an answer in [`PIECES`] timestamped pieces.
pub(crate) fn stream_script() -> Script {
    let script = Script::default();
    let pieces = || (0..PIECES).map(|_| format!("{STAMP} "));
    let reply = move || {
        ScriptedResponse::default()
            .deltas(pieces())
            .delta_chars(usize::MAX)
            .delay(EVERY)
            .with_stamps()
    };
    script.on_request(|_| true).respond_with(move |_| reply()).always();
    script
}

pub(crate) async fn measure_streams(streams: usize) -> Result<Figure> {
    let backend = ChildProcess::start(&[backend::SLOW_PROCESS]).await?;
    let urls: Vec<&str> = backend.first_line().split(' ').collect();
    let words: Vec<&str> = std::iter::once(agent_server::PROCESS).chain(urls).collect();
    let agent = ChildProcess::start(&words).await?;
    let client = BenchClient::new(agent.first_line().to_owned())?;
    let start = Instant::now();
    let mut reading = Vec::new();
    while reading.len() < streams {
        let some = (0..AT_ONCE.min(streams - reading.len())).map(|_| open_stream(client.clone()));
        for mut stream in try_join_all(some).await.context("a stream did not open")? {
            reading.push(tokio::spawn(async move {
                stream.read_to_end().await?;
                anyhow::Ok(stream)
            }));
        }
    }
    let watch_start = Instant::now();
    let watch_end = watch_start + WATCHED;
    let busy = [backend.cpu_seconds()?, agent.cpu_seconds()?];
    tokio::time::sleep_until(watch_end.into()).await;
    let busy = [backend.cpu_seconds()? - busy[0], agent.cpu_seconds()? - busy[1]]
        .map(|seconds| seconds / WATCHED.as_secs_f64());
    let mut lags = Sample::default();
    let mut pieces = 0;
    for stream in try_join_all(reading).await? {
        let within = |(at, _): &&(Instant, Duration)| (watch_start..watch_end).contains(at);
        let stream = stream.context("a run did not end")?;
        for (_, lag) in stream.lags().iter().filter(within) {
            lags.add(*lag);
            pieces += 1;
        }
    }
    agent.wait_for_end().await?;
    backend.wait_for_end().await?;
    let rate = f64::from(pieces) / WATCHED.as_secs_f64() / streams as f64;
    Ok(Figure {
        name: "1 000 open streams, 20 deltas/s each, lag p99",
        limit: FigureLimit::AtMost(50.0),
        unit: "ms",
        measured: lags.p99(),
        about: format!(
            "median {:.1} ms, p95 {:.1} ms, from the model's write to the client's read; {rate:.1} \
             deltas/s each over {} s, all opened within {:.1} s; of the processors the agent had {:.2}, \
             model and stores {:.2}, and the clients the rest",
            lags.median(),
            lags.p95(),
            WATCHED.as_secs(),
            (watch_start - start).as_secs_f64(),
            busy[1],
            busy[0],
        ),
    })
}

/// Opens a stream and waits for the first preview.
async fn open_stream(client: BenchClient) -> Result<RunStream> {
    let mut stream = client.open_stream().await?;
    stream.read_previews(1).await?;
    Ok(stream)
}
