//! How fast runs are, one at a time and many at once, against the floor of the machine: both are measured
//! in turn, so that they see the same of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use djinn_core::id::{RunId, TenantId};
use djinn_runtime::port::RunKey;
use djinn_scripted::Script;
use futures::future::try_join_all;

use crate::backend::{Backend, bench};
use crate::client::{Client, Took};
use crate::figure::{Figure, Reach};
use crate::floor::Floor;
use crate::front::{Changes, Front};
use crate::plan::WRITES;
use crate::sample::Sample;

/// Runs that are not counted: connections are made, and caches filled.
const WARM_UP: usize = 50;

/// Runs one at a time.
const ALONE: usize = 300;

/// Clients at once, the runs of each in a row, and how often they and their floor take turns.
const CLIENTS: usize = 16;
const EACH: usize = 10;
const ROUNDS: usize = 10;

/// What a run leaves to be done when its client has its end.
const SETTLING: Duration = Duration::from_millis(200);

/// Something that is asked and answered: our agent, or its floor.
#[derive(Clone)]
enum Asked {
    Agent(Client),
    Floor(Arc<Floor>),
}

impl Asked {
    async fn ask(&self) -> Result<Took> {
        match self {
            Self::Agent(client) => client.ask().await,
            Self::Floor(floor) => floor.ask().await,
        }
    }

    async fn in_a_row(self) -> Result<()> {
        let row = async move {
            for _ in 0..EACH {
                self.ask().await?;
            }
            Ok(())
        };
        tokio::spawn(row).await?
    }
}

/// What was seen of one of the two.
#[derive(Default)]
struct Seen {
    whole: Sample,
    first_byte: Sample,
    at_once: Duration,
}

impl Seen {
    async fn alone(&mut self, asked: &Asked) -> Result<()> {
        let took = asked.ask().await?;
        self.whole.add(took.whole);
        self.first_byte.add(took.first_byte);
        Ok(())
    }

    async fn at_once(&mut self, asked: &Asked) -> Result<()> {
        let began = Instant::now();
        try_join_all((0..CLIENTS).map(|_| asked.clone().in_a_row())).await?;
        self.at_once += began.elapsed();
        Ok(())
    }

    fn rate(&self) -> f64 {
        (CLIENTS * EACH * ROUNDS) as f64 / self.at_once.as_secs_f64()
    }
}

pub(crate) async fn figures() -> Result<Vec<Figure>> {
    let backend = Backend::start(Script::bench(bench())).await?;
    let front = Front::start(&backend.place(), Changes::default()).await?;
    let client = Client::new(front.url())?;
    let floor = Arc::new(floor_of_a_run(&client, &backend, &front).await?);
    let in_words = floor.in_words();
    let both = [Asked::Agent(client), Asked::Floor(floor)];
    let mut seen = [Seen::default(), Seen::default()];
    for _ in 0..WARM_UP {
        for asked in &both {
            asked.ask().await?;
        }
    }
    for _ in 0..ALONE {
        for (asked, seen) in both.iter().zip(&mut seen) {
            seen.alone(asked).await?;
        }
    }
    for _ in 0..ROUNDS {
        for (asked, seen) in both.iter().zip(&mut seen) {
            seen.at_once(asked).await?;
        }
    }
    backend.check()?;
    Ok(said(&seen, &in_words))
}

/// The floor of a run that is made for it.
async fn floor_of_a_run(client: &Client, backend: &Backend, front: &Front) -> Result<Floor> {
    // Connections are made and the bucket is looked for once.
    client.ask().await?;
    tokio::time::sleep(SETTLING).await;
    drop(front.aws().requests().take());
    let stream = client.open().await?;
    let run = RunKey::new(TenantId::new("local")?, RunId::new(stream.run()?)?);
    stream.finish().await?;
    tokio::time::sleep(SETTLING).await;
    let requests = front.aws().requests().take();
    let writes: u64 = WRITES.iter().filter_map(|kind| requests.get(*kind)).sum();
    let did = (bench().model_calls, usize::try_from(writes)?);
    Floor::of(&run, did, backend, front).await
}

fn said([run, floor]: &[Seen; 2], floor_in_words: &str) -> Vec<Figure> {
    let figure = |name, reach, unit, measured, about| Figure { name, reach, unit, measured, about };
    let (alone, bare) = (run.whole.median(), floor.whole.median());
    let (rate, bare_rate) = (run.rate(), floor.rate());
    vec![
        figure(
            "a run against its floor, one at a time, medians",
            Reach::AtMost(1.6),
            "×",
            alone / bare,
            format!("{alone:.1} ms against {bare:.1} ms; the floor is {floor_in_words}"),
        ),
        figure(
            "runs against their floor, 16 at once",
            Reach::AtMost(1.8),
            "×",
            bare_rate / rate,
            format!("{rate:.0}/s against {bare_rate:.0}/s"),
        ),
        figure(
            "a run, one at a time, median",
            Reach::Known,
            "ms",
            alone,
            format!(
                "p95 {:.1} ms of {ALONE}; 5 model calls, 5 tool calls and 200 deltas, from the \
                 request to the last byte; client, agent, stores and a model that writes each \
                 reply at once, in one process",
                run.whole.p95()
            ),
        ),
        figure(
            "runs per second, 16 concurrent",
            Reach::Known,
            "/s",
            rate,
            format!("{} runs in that process", CLIENTS * EACH * ROUNDS),
        ),
        figure(
            "first SSE byte, median",
            Reach::AtMost(4.0),
            "ms",
            run.first_byte.median(),
            format!(
                "p95 {:.1} ms; the run is in the table before it is sent; the floor, which puts one \
                 record before, {:.1} ms",
                run.first_byte.p95(),
                floor.first_byte.median()
            ),
        ),
    ]
}
