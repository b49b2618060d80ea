//! How late the words of many models at once are: the agent alone in a process, stores and model in
//! another, the clients in this one, all on the same cores.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use djinn_scripted::{Response, STAMP, Script};
use futures::future::try_join_all;

use crate::backend;
use crate::child::Child;
use crate::client::{Client, Stream};
use crate::figure::{Figure, Reach};
use crate::front;
use crate::sample::Sample;

/// Open streams.
const STREAMS: usize = 1_000;

/// Streams that are opened at once: a thousand at the same moment are another question.
const AT_ONCE: usize = 16;

/// How often each of their models writes.
const EVERY: Duration = Duration::from_millis(50);

/// Pieces of each reply: it is long enough for all to open, and for a while after.
const PIECES: usize = 600;

/// How long all are watched.
const WATCHED: Duration = Duration::from_secs(10);

/// A model whose every reply is an answer in so many pieces, each saying when it left.
pub(crate) fn script() -> Script {
    let script = Script::default();
    let pieces = || (0..PIECES).map(|_| format!("{STAMP} "));
    let reply =
        move || Response::default().deltas(pieces()).delta_chars(usize::MAX).delay(EVERY).stamped();
    script.on_request(|_| true).respond_with(move |_| reply()).always();
    script
}

pub(crate) async fn figure() -> Result<Figure> {
    let backend = Child::start(&[backend::SLOW_PROCESS]).await?;
    let urls: Vec<&str> = backend.said().split(' ').collect();
    let words: Vec<&str> = std::iter::once(front::PROCESS).chain(urls).collect();
    let agent = Child::start(&words).await?;
    let client = Client::new(agent.said().to_owned())?;
    let asked = Instant::now();
    let (lines, mut reading) = (STREAMS.div_ceil(AT_ONCE), Vec::new());
    for _ in 0..lines {
        let some = (0..AT_ONCE.min(STREAMS - reading.len())).map(|_| opened(client.clone()));
        for stream in try_join_all(some).await.context("a stream did not open")? {
            reading.push(tokio::spawn(read(stream)));
        }
    }
    let opened = Instant::now();
    let watched = opened + WATCHED;
    let (mut lags, mut pieces) = (Sample::default(), 0);
    for stream in try_join_all(reading).await? {
        let within = |(at, _): &&(Instant, Duration)| (opened..watched).contains(at);
        let stream = stream.context("a run did not end")?;
        for (_, lag) in stream.lags().iter().filter(within) {
            lags.add(*lag);
            pieces += 1;
        }
    }
    agent.end().await?;
    backend.end().await?;
    let rate = f64::from(pieces) / WATCHED.as_secs_f64() / STREAMS as f64;
    ensure!(rate > 15.0, "{rate:.1} pieces a second and stream only, while all were open");
    Ok(Figure {
        name: "1 000 open streams, 20 deltas/s each, lag p99",
        reach: Reach::AtMost(50.0),
        unit: "ms",
        measured: lags.p99(),
        about: format!(
            "median {:.1} ms, p95 {:.1} ms, from the model's write to the client's read; {rate:.1} \
             deltas/s each over {} s, all opened within {:.1} s; model, agent and clients on the \
             same cores",
            lags.median(),
            lags.p95(),
            WATCHED.as_secs(),
            (opened - asked).as_secs_f64(),
        ),
    })
}

/// A stream that has begun to say something.
async fn opened(client: Client) -> Result<Stream> {
    let mut stream = client.open().await?;
    stream.read_previews(1).await?;
    Ok(stream)
}

async fn read(mut stream: Stream) -> Result<Stream> {
    stream.read_to_the_end().await?;
    Ok(stream)
}
