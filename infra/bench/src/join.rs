//! Time for a new viewer to receive a long finished run.

use anyhow::{Result, ensure};
use djinn_scripted::{Bench, Script};

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::{Backend, standard_bench};
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};
use crate::sample::Sample;

/// Turns of the run, with three entries each; three more entries surround the turns.
const TURNS: usize = 331;

/// The run's tool calls: each call beyond the first of a turn has two entries.
const CALLS: usize = TURNS + 2;

/// Entries of the run; another number fails the measurement.
const ENTRIES: usize = 1_000;

/// Viewers, in sequence.
const VIEWERS: usize = 30;

/// Returns the work of a run with [`ENTRIES`].
pub(crate) fn long_bench() -> Bench {
    Bench { model_calls: TURNS + 1, tool_calls: CALLS, deltas: 4 * TURNS, ..standard_bench() }
}

pub(crate) async fn measure_join() -> Result<Figure> {
    let backend = Backend::start(Script::bench(long_bench())).await?;
    let agent = AgentServer::start(&backend.address(), AgentOptions::default()).await?;
    let client = BenchClient::new(agent.url())?;
    let stream = client.open_stream().await?;
    let run = stream.run_id()?.to_owned();
    stream.finish().await?;
    backend.check_expected()?;
    let mut whole = Sample::default();
    let mut first_byte = Sample::default();
    for _ in 0..VIEWERS {
        let took = client.join_run(&run).await?.finish().await?;
        ensure!(took.entries == ENTRIES, "the run has {} entries", took.entries);
        whole.add(took.whole);
        first_byte.add(took.first_byte);
    }
    Ok(Figure {
        name: "joining a finished run of 1 000 entries, all frames, median",
        limit: FigureLimit::AtMost(150.0),
        unit: "ms",
        measured: whole.median(),
        about: format!(
            "p95 {:.1} ms of {VIEWERS} new viewers; first byte {:.1} ms",
            whole.p95(),
            first_byte.median()
        ),
    })
}
