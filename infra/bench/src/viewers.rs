//! The agent's cost of viewers that do not read. The agent runs alone in a process, stores and model in
//! another. The clients and the writer of the long journal run in this process.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use djinn_aws::Aws;
use djinn_core::entry::Event;
use djinn_core::id::{RunId, TenantId, WriteId};
use djinn_core::journal::Record;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use futures::future::try_join_all;

use crate::agent_server;
use crate::backend::{self, BackendAddress};
use crate::child_process::ChildProcess;
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};

/// Number of viewers of the run.
const VIEWERS: usize = 200;

/// Records of a journal of 36 MB, and bytes of text per record.
const RECORDS: u64 = 900;
const RECORD_BYTES: usize = 40_000;

/// Time without reads, enough for each viewer to poll the run many times.
const UNREAD: Duration = Duration::from_secs(15);

/// Expiry of the records, Unix seconds: after the end of any measurement.
const EXPIRES: i64 = 4_102_444_800;

pub(crate) async fn measure_viewers() -> Result<Figure> {
    let backend = ChildProcess::start(&[backend::PROCESS]).await?;
    let urls: Vec<&str> = backend.first_line().split(' ').collect();
    let words: Vec<&str> = std::iter::once(agent_server::PROCESS).chain(urls).collect();
    let agent = ChildProcess::start(&words).await?;
    let client = BenchClient::new(agent.first_line().to_owned())?;
    // The answer is held, so the run keeps working during the measurement.
    let mut driven = client.open_stream().await?;
    driven.read_previews(backend::previews_before_gate()).await?;
    let run = driven.run_id()?.to_owned();
    lengthen_journal(backend.first_line(), &run).await?;
    let (idle, _) = agent.memory_mb()?;
    let joining = (0..VIEWERS).map(|_| client.join_run(&run));
    let unread = try_join_all(joining).await.context("a viewer did not join")?;
    tokio::time::sleep(UNREAD).await;
    let (_, most) = agent.memory_mb()?;
    drop(unread);
    Ok(Figure {
        name: "memory with 200 viewers that do not read a run of 36 MB",
        limit: FigureLimit::AtMost(200.0),
        unit: "MB",
        measured: most,
        about: format!(
            "resident, at most, within {} s; {idle:.0} MB before the first; the run is driven in the \
             same process",
            UNREAD.as_secs()
        ),
    })
}

/// Appends long messages to a run in place of the driver. The driver finds the records when appending its
/// next record.
async fn lengthen_journal(backend: &str, run: &str) -> Result<()> {
    let parts: Vec<String> = backend.split(' ').map(ToOwned::to_owned).collect();
    let parts = parts.try_into().ok().context("a backend has three URLs and a key")?;
    let store = Aws::new(BackendAddress::from_parts(parts).store).store();
    let key = RunKey::new(TenantId::new("local")?, RunId::new(run)?);
    let records = store.read_from(&key, 0).await?;
    let has_message =
        |record: &&Record| record.entries.iter().any(|entry| is_message(&entry.event));
    let sample = records.iter().find(has_message).context("no message is complete")?;
    let first = records.len() as u64;
    for number in first..first + RECORDS {
        let mut record = Record { number, inputs: Vec::new(), ..sample.clone() };
        record.write = WriteId::new(format!("bench.{number}"))?;
        record.entries.retain(|entry| is_message(&entry.event));
        for entry in &mut record.entries {
            if let Event::MessageCompleted { text, .. } = &mut entry.event {
                *text = "word ".repeat(RECORD_BYTES / 5);
            }
        }
        let result = store.append(&key, &record, EXPIRES).await?;
        ensure!(result.is_appended(), "record {number} was there");
    }
    Ok(())
}

fn is_message(event: &Event) -> bool {
    matches!(event, Event::MessageCompleted { .. })
}
