//! A thousand tasks: the driver alone in a process, stores and model in another, the executors here.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use djinn_aws::{Aws, Continue};
use djinn_core::tool::EffectClass;
use djinn_local::{ALARM_EVERY, Dispatch, run_executor};
use djinn_runtime::port::tool::Toolbox;
use tokio::sync::mpsc;

use crate::backend::{self, Place};
use crate::child::Child;
use crate::client::Client;
use crate::figure::{Figure, Reach};
use crate::front;
use crate::note::Note;
use crate::plan::ideal;

/// Tasks of the two runs that are compared.
const FEW: usize = 100;
const MANY: usize = 1_000;

pub(crate) async fn figures() -> Result<Vec<Figure>> {
    let few = Driven::of(FEW).await.context("100 tasks")?;
    let many = Driven::of(MANY).await.context("1 000 tasks")?;
    Ok(vec![
        Figure {
            name: "1 000 executors, memory of the driver",
            reach: Reach::AtMost(120.0),
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
            reach: Reach::AtMost(2.0),
            unit: "×",
            measured: many.seconds / ideal(MANY).as_secs_f64(),
            about: format!("{:.1} s, 10 at once (the default)", many.seconds),
        },
    ])
}

/// What a driver took for a run of so many tasks.
struct Driven {
    most_mb: f64,
    seconds: f64,
}

impl Driven {
    async fn of(tasks: usize) -> Result<Self> {
        let backend = Child::start(&[backend::PLAN_PROCESS, &tasks.to_string()]).await?;
        let urls: Vec<String> = backend.said().split(' ').map(str::to_owned).collect();
        let urls: [String; 4] = urls.try_into().ok().context("three URLs and a key")?;
        let words: Vec<&str> =
            std::iter::once(front::PROCESS).chain(urls.iter().map(String::as_str)).collect();
        let mut driver = Child::start(&words).await?;
        let client = Client::new(driver.said().to_owned())?.planning();
        let (invocations, received) = mpsc::unbounded_channel();
        let executor = tokio::spawn(run_executor(executors(&Place::at(urls))?, received));
        let began = Instant::now();
        let mut stream = client.open().await?;
        {
            let mut ended = std::pin::pin!(stream.read_to_the_end());
            loop {
                tokio::select! {
                    took = &mut ended => {
                        took?;
                        break;
                    }
                    line = driver.next_line() => {
                        let invocation: Continue = serde_json::from_str(&line?)?;
                        invocations.send(invocation).context("no executor")?;
                    }
                }
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        ensure!(stream.tasks() == tasks, "{} tasks instead of {tasks}", stream.tasks());
        let (_, most_mb) = driver.memory_mb()?;
        executor.abort();
        driver.end().await?;
        backend.end().await?;
        Ok(Self { most_mb, seconds })
    }
}

/// The world in which executors work, over a backend elsewhere.
fn executors(place: &Place) -> Result<djinn_local::LocalWorld> {
    let models = place.models();
    let var = |name: &str| match name {
        "DJINN_MODELS" => Some(models.clone()),
        _ => None,
    };
    let aws = Aws::new(place.store.clone());
    // Whom tasks kick: nobody, for each ends under its first driver. Their run is driven elsewhere.
    let (dispatch, _) = Dispatch::new(ALARM_EVERY);
    let mut ports = djinn_wiring::world(&var, &aws, dispatch.clone(), dispatch)?;
    ports.tools = Toolbox::default().with(Note(EffectClass::Read));
    Ok(ports)
}
