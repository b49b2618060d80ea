//! The backend of an agent: the stores and the scripted model.

use std::io;

use anyhow::{Context as _, Result};
use djinn_aws::{Endpoints, Settings};
use djinn_local::{BUCKET, Stores, StoresOptions, TABLE};
use djinn_runtime::port::secret::Secret;
use djinn_scripted::{Bench, ChunkGate, Script, ScriptedModel};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{note, plan, streams, terminal};

/// The argument that runs this program as a backend process.
pub(crate) const PROCESS: &str = "stores";

/// The argument for a backend process with plans of a given number of steps.
pub(crate) const PLAN_PROCESS: &str = "plan-stores";

/// The argument for a backend process with a slow model.
pub(crate) const SLOW_PROCESS: &str = "slow-stores";

/// The argument for a backend process with a given number of deltas per run. The model writes replies at once
/// (`true`) or delta by delta.
pub(crate) const FREE_PROCESS: &str = "free-stores";

/// A running backend, in memory except for the objects of the bucket.
pub(crate) struct Backend {
    stores: Stores,
    model: ScriptedModel,
}

/// The address of a backend.
#[derive(Debug, Clone)]
pub(crate) struct BackendAddress {
    pub(crate) store: Settings,
    /// The model's base URL.
    pub(crate) model: String,
}

impl Backend {
    /// Starts a backend with this script as the model.
    pub(crate) async fn start(script: Script) -> Result<Self> {
        let stores = Stores::start(StoresOptions::default())?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        Ok(Self { stores, model: ScriptedModel::serve(listener, script)? })
    }

    /// Returns the URLs of the stores and the model, and the key of the stores.
    pub(crate) fn address(&self) -> BackendAddress {
        BackendAddress { store: self.stores.settings().clone(), model: self.model.base_url() }
    }

    /// Returns up to `newest` of the latest requests to the model.
    pub(crate) fn model_requests(&self, newest: usize) -> Vec<Value> {
        let requests = self.model.requests();
        let newest = requests.len().saturating_sub(newest)..;
        requests
            .get(newest)
            .unwrap_or_default()
            .iter()
            .map(|request| request.json().clone())
            .collect()
    }

    /// Returns an error if the model received unexpected requests.
    pub(crate) fn check_expected(&self) -> Result<()> {
        let unexpected = self.model.take_unexpected();
        anyhow::ensure!(unexpected.is_empty(), "the model: {}", unexpected.join("\n"));
        Ok(())
    }
}

impl BackendAddress {
    /// Creates an address from the URLs of the stores and the model, and the key of the stores.
    pub(crate) fn from_parts([dynamodb, s3, model, key]: [String; 4]) -> Self {
        let endpoints = Endpoints {
            dynamodb: Some(dynamodb),
            s3: Some(s3),
            key: Some(Secret::new(&key)),
            ..Endpoints::default()
        };
        Self { store: Settings { endpoints, ..Settings::new(TABLE, BUCKET) }, model }
    }

    /// Returns the parts in the order of [`Self::from_parts`]: DynamoDB, S3, model, key.
    fn to_parts(&self) -> Result<[String; 4]> {
        let Endpoints { dynamodb, s3, key, .. } = self.store.endpoints.clone();
        let key = key.context("no key")?.reveal().to_owned();
        Ok([dynamodb.context("no table")?, s3.context("no bucket")?, self.model.clone(), key])
    }

    /// Returns the agent's `DJINN_MODELS` for this model, without a practical limit on input.
    pub(crate) fn models_json(&self) -> String {
        let model = json!({
            "provider": "openai", "model": "scripted", "base_url": self.model,
            "max_input_tokens": 10_000_000,
        });
        json!({"models": {"scripted": model}, "roles": {"second": "scripted"}}).to_string()
    }
}

/// The work of a measured run: 5 model calls, 5 tool calls, 200 deltas. The tool uses no store, so only the
/// run itself is measured.
pub(crate) fn standard_bench() -> Bench {
    Bench { tool: note::NAME.to_owned(), arguments: note::nth_arguments, ..Bench::default() }
}

/// Runs a backend as a process: prints the address, holds every answer in the middle until a line arrives,
/// and ends with the input.
pub(crate) async fn run_gated_backend() -> Result<()> {
    let gate = ChunkGate::default();
    let gate_place = Some((HELD_AT, gate.clone()));
    let script = Script::bench(Bench { gate: gate_place, at_once: false, ..standard_bench() });
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

/// Runs a backend as a process: prints the address, and ends with the input.
async fn run_backend(script: Script) -> Result<()> {
    let backend = Backend::start(script).await?;
    terminal::print_line(&backend.address().to_parts()?.join(" "));
    let waits = tokio::task::spawn_blocking(|| io::stdin().read_line(&mut String::new()));
    waits.await??;
    backend.check_expected()
}

/// Runs a backend for runs with this number of deltas, written at once or one by one.
pub(crate) async fn run_bench_backend(deltas: usize, at_once: bool) -> Result<()> {
    run_backend(Script::bench(Bench { deltas, at_once, ..standard_bench() })).await
}

/// Runs a backend for plans with this number of steps of 50 ms.
pub(crate) async fn run_plan_backend(steps: usize) -> Result<()> {
    run_backend(plan::plan_script(steps, 0, plan::WORK)).await
}

/// Runs a backend with a slow model that adds timestamps.
pub(crate) async fn run_slow_backend() -> Result<()> {
    run_backend(streams::stream_script()).await
}

/// The first chunk of an answer held by [`run_gated_backend`].
const HELD_AT: usize = 17;

/// Returns the number of a run's previews before the held chunk.
pub(crate) fn previews_before_gate() -> usize {
    let bench = standard_bench();
    let before = bench.model_calls - 1;
    bench.deltas / bench.model_calls * before
        + (bench.deltas % bench.model_calls).min(before)
        + HELD_AT
        - 1
}
