//! What an agent talks to: the stores and the scripted model.

use std::io;

use anyhow::{Context as _, Result};
use djinn_aws::{Endpoints, Settings};
use djinn_local::{BUCKET, Stores, StoresOptions, TABLE};
use djinn_runtime::port::secret::Secret;
use djinn_scripted::{Bench, ChunkGate, Script, ScriptedModel};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{note, plan, streams, terminal};

/// The word that makes this program a process of its own that holds a backend.
pub(crate) const PROCESS: &str = "stores";

/// The word that makes this program such a process for a plan of so many steps.
pub(crate) const PLAN_PROCESS: &str = "plan-stores";

/// The word that makes this program such a process whose model writes slowly.
pub(crate) const SLOW_PROCESS: &str = "slow-stores";

/// The word that makes this program such a process whose runs have so many deltas, and whose model writes
/// replies at once (`true`) or each delta alone.
pub(crate) const FREE_PROCESS: &str = "free-stores";

/// A running backend. It keeps everything in memory, but for the objects of its bucket.
pub(crate) struct Backend {
    stores: Stores,
    model: ScriptedModel,
}

/// Where a backend is.
#[derive(Debug, Clone)]
pub(crate) struct BackendAddress {
    pub(crate) store: Settings,
    /// The model's base URL.
    pub(crate) model: String,
}

impl Backend {
    /// Starts one whose model answers by this script.
    pub(crate) async fn start(script: Script) -> Result<Self> {
        let stores = Stores::start(StoresOptions::default())?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        Ok(Self { stores, model: ScriptedModel::serve(listener, script)? })
    }

    /// The address holds the URLs of the stores and the model, and the key of the stores.
    pub(crate) fn address(&self) -> BackendAddress {
        BackendAddress { store: self.stores.settings().clone(), model: self.model.base_url() }
    }

    /// The newest requests to the model, so many or all.
    pub(crate) fn model_requests(&self, newest: usize) -> Vec<Value> {
        let requests = self.model.requests();
        let newest = requests.len().saturating_sub(newest)..;
        requests.get(newest).unwrap_or_default().iter().map(|asked| asked.json().clone()).collect()
    }

    /// Whether the model was asked for what it does not expect.
    pub(crate) fn check_expected(&self) -> Result<()> {
        let unexpected = self.model.take_unexpected();
        anyhow::ensure!(unexpected.is_empty(), "the model: {}", unexpected.join("\n"));
        Ok(())
    }
}

impl BackendAddress {
    /// The stores and the model behind these URLs, and the key of the stores.
    pub(crate) fn from_parts([dynamodb, s3, model, key]: [String; 4]) -> Self {
        let endpoints = Endpoints {
            dynamodb: Some(dynamodb),
            s3: Some(s3),
            key: Some(Secret::new(&key)),
            ..Endpoints::default()
        };
        Self { store: Settings { endpoints, ..Settings::new(TABLE, BUCKET) }, model }
    }

    /// The parts come in the order that [`Self::from_parts`] takes: DynamoDB, S3, model, key.
    fn to_parts(&self) -> Result<[String; 4]> {
        let Endpoints { dynamodb, s3, key, .. } = self.store.endpoints.clone();
        let key = key.context("no key")?.reveal().to_owned();
        Ok([dynamodb.context("no table")?, s3.context("no bucket")?, self.model.clone(), key])
    }

    /// What makes an agent use this model: no conversation is too long for it.
    pub(crate) fn models_json(&self) -> String {
        let model = json!({
            "provider": "openai", "model": "scripted", "base_url": self.model,
            "max_input_tokens": 10_000_000,
        });
        json!({"models": {"scripted": model}}).to_string()
    }
}

/// What a measured run does: 5 model calls, 5 tool calls, 200 deltas. Its tool touches no store, so
/// that what is measured is the run itself.
pub(crate) fn standard_bench() -> Bench {
    Bench { tool: note::NAME.to_owned(), arguments: note::nth_arguments, ..Bench::default() }
}

/// A backend in a process of its own: prints where it is, holds every answer in the middle until it
/// reads a line, and lives until its input ends.
pub(crate) async fn run_gated_backend() -> Result<()> {
    let gate = ChunkGate::default();
    let held = Some((HELD_AT, gate.clone()));
    let script = Script::bench(Bench { gate: held, at_once: false, ..standard_bench() });
    let backend = Backend::start(script).await?;
    terminal::print_line(&backend.address().to_parts()?.join(" "));
    let waits = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        gate.open();
        io::stdin().read_line(&mut line)
    });
    waits.await??;
    backend.check_expected()
}

/// A backend in a process of its own: prints where it is, and lives until its input ends.
async fn run_backend(script: Script) -> Result<()> {
    let backend = Backend::start(script).await?;
    terminal::print_line(&backend.address().to_parts()?.join(" "));
    let waits = tokio::task::spawn_blocking(|| io::stdin().read_line(&mut String::new()));
    waits.await??;
    backend.check_expected()
}

/// One for runs of so many deltas, whose replies are written at once or not.
pub(crate) async fn run_bench_backend(deltas: usize, at_once: bool) -> Result<()> {
    run_backend(Script::bench(Bench { deltas, at_once, ..standard_bench() })).await
}

/// One for plans of so many steps of 50 ms.
pub(crate) async fn run_plan_backend(steps: usize) -> Result<()> {
    run_backend(plan::plan_script(steps, 0, plan::WORK)).await
}

/// One whose model writes slowly and says when.
pub(crate) async fn run_slow_backend() -> Result<()> {
    run_backend(streams::stream_script()).await
}

/// The chunk of an answer that [`run_gated_backend`] holds back.
const HELD_AT: usize = 17;

/// The previews that a run shows before its answer is held.
pub(crate) fn previews_before_gate() -> usize {
    let bench = standard_bench();
    let before = bench.model_calls - 1;
    bench.deltas / bench.model_calls * before
        + (bench.deltas % bench.model_calls).min(before)
        + HELD_AT
        - 1
}
