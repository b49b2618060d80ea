//! A driver's requests while a model writes: lease, mailbox, and previews for viewers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use djinn_core::id::{RunId, TenantId};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::live::LiveLog as _;
use djinn_scripted::{Bench, Script};

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::{Backend, BackendAddress, standard_bench};
use crate::client::{BenchClient, RunStream};
use crate::figure::{Figure, FigureLimit};

/// The model's delay between two deltas of a reply.
const PACE: Duration = Duration::from_millis(20);

/// Deltas of the reply, enough to outlast the count.
const DELTAS: usize = 2_000;

/// Start of the count, between two renewals of the lease (every 5 s), so the exact moment does not matter.
const FROM: Duration = Duration::from_millis(7_500);

/// Duration of the count.
const COUNTED: Duration = Duration::from_secs(10);

pub(crate) async fn measure_driver_load() -> Result<Vec<Figure>> {
    let bench = Bench { model_calls: 2, tool_calls: 1, deltas: 2 * DELTAS, ..standard_bench() };
    let backend = Backend::start(Script::bench(bench).with_delay(PACE)).await?;
    let (alone, watched) =
        (HeldRun::start(&backend.address()).await?, HeldRun::start(&backend.address()).await?);
    // As a viewer does.
    let key = RunKey::new(TenantId::new("local")?, RunId::new(watched.stream.run_id()?)?);
    watched.agent.ports().store.mark_watched(&key, i64::MAX / 2).await?;
    tokio::time::sleep(FROM).await;
    let began = Instant::now();
    let counters = [&alone, &watched].map(|run| run.agent.aws().request_counter());
    drop(counters.map(|counter| counter.take_counts()));
    tokio::time::sleep(COUNTED).await;
    let [alone, watched] = counters.map(|counter| counter.take_counts());
    let seconds = began.elapsed().as_secs_f64();
    backend.check_expected()?;
    let rate = |requests: &BTreeMap<String, u64>, operation| {
        requests.get(operation).copied().unwrap_or_default() as f64 / seconds
    };
    let figure = |name, most, measured, about: String| Figure {
        name,
        limit: FigureLimit::AtMost(most),
        unit: "/s",
        measured,
        about,
    };
    let about_counts = format!("counted for {seconds:.0} s of a reply");
    let preview_rate = rate(&alone, "PutItem");
    Ok(vec![
        figure("lease writes while driven", 0.2, rate(&alone, "UpdateItem"), about_counts.clone()),
        figure(
            "mailbox queries, nobody watching",
            1.5,
            rate(&alone, "Query"),
            about_counts.clone(),
        ),
        figure("mailbox queries, somebody watching", 1.0, rate(&watched, "Query"), about_counts),
        figure("previews, nobody watching", 0.0, preview_rate, "of 50 deltas a second".to_owned()),
        figure(
            "previews, somebody watching",
            4.0,
            rate(&watched, "PutItem"),
            "of 50 deltas a second".to_owned(),
        ),
    ])
}

/// A run in the middle of a reply.
struct HeldRun {
    agent: AgentServer,
    stream: RunStream,
}

impl HeldRun {
    async fn start(backend: &BackendAddress) -> Result<Self> {
        let agent = AgentServer::start(backend, AgentOptions::default()).await?;
        let mut stream = BenchClient::new(agent.url())?.open_stream().await?;
        stream.read_previews(1).await?;
        Ok(Self { agent, stream })
    }
}
