//! The requests of a long run, and the time to load the run's journal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use djinn_core::id::{RunId, TenantId};
use djinn_core::journal::Journal;
use djinn_core::tool::EffectClass;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::settings::{Settings, UserLimits};
use djinn_scripted::{Bench, Script};

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::Backend;
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};
use crate::note::{self, NoteTool};
use crate::sample::Sample;

/// Turns of the loaded run, with two records each; four more records surround the turns.
const TURNS: usize = 499;

/// Turns of the short run for comparison.
const FEW: usize = 8;

/// Number of loads.
const LOADS: usize = 30;

/// Longer than the benchmark, so no timer fires.
const NEVER: Duration = Duration::from_secs(60 * 60);

/// Limits above any use by the benchmark.
const BOUNDED: UserLimits = UserLimits {
    runs_per_minute: Some(100_000),
    runs_at_once: Some(1_000),
    streams: None,
    day_tokens: Some(1_000_000_000_000),
    day_micro_usd: None,
};

/// Measures the requests per turn, and the time to load a run of 1 000 records.
pub(crate) async fn measure_journal() -> Result<(Vec<Figure>, Figure)> {
    let free = UserLimits::default();
    let few = Costs::of(FEW, EffectClass::Idempotent, free).await?;
    let long = Costs::of(TURNS, EffectClass::Idempotent, free).await?;
    let once = Costs::of(4 * FEW, EffectClass::Once, free).await?;
    let few_once = Costs::of(FEW, EffectClass::Once, free).await?;
    let with_limits = Costs::of(TURNS, EffectClass::Idempotent, BOUNDED).await?;
    let few_with_limits = Costs::of(FEW, EffectClass::Idempotent, BOUNDED).await?;
    let turn = |name, most, measured, about| {
        let reach = FigureLimit::AtMost(most);
        Figure { name, limit: reach, unit: "", measured, about }
    };
    let how = format!("writes of any kind, counted as HTTP requests over {} turns", TURNS - FEW);
    let turns = vec![
        turn("journal puts a turn", 2.0, long.writes_a_turn(&few), how),
        turn(
            "journal puts a turn, `once` call",
            3.0,
            once.writes_a_turn(&few_once),
            "the call's start is one".to_owned(),
        ),
        turn(
            "journal reads a turn",
            0.0,
            long.reads_a_turn(&few),
            "reads of any kind, mailbox and lease set aside".to_owned(),
        ),
        turn(
            "store operations that budgets and throttles add to a ReAct turn",
            1.0,
            with_limits.operations_a_turn(&few_with_limits) - long.operations_a_turn(&few),
            "an update before each model call; starts and ends carry the rest".to_owned(),
        ),
    ];
    let Costs { records, loads, .. } = long;
    ensure!(records >= 1_000, "the long run has {records} records only");
    let loading = Figure {
        name: "loading a run of 1 000 records",
        limit: FigureLimit::AtMost(50.0),
        unit: "ms",
        measured: loads.median(),
        about: format!(
            "p95 {:.1} ms of {LOADS}; {records} records, read from the embedded table and folded",
            loads.p95()
        ),
    };
    Ok((turns, loading))
}

/// The cost of a run with this number of turns.
struct Costs {
    turns: usize,
    requests: BTreeMap<String, u64>,
    records: usize,
    loads: Sample,
}

impl Costs {
    async fn of(turns: usize, class: EffectClass, user: UserLimits) -> Result<Self> {
        let bench = Bench {
            model_calls: turns + 1,
            tool_calls: turns,
            deltas: 4 * (turns + 1),
            tool: note::NAME.to_owned(),
            arguments: note::nth_arguments,
            ..Bench::default()
        };
        let backend = Backend::start(Script::bench(bench)).await?;
        let tools = Toolbox::default().with_tool(NoteTool(class));
        let settings = Settings {
            lease: 2 * NEVER,
            renew_every: NEVER,
            mailbox_every: NEVER,
            user,
            ..Settings::default()
        };
        let changes = AgentOptions { tools, settings: Some(settings), ..AgentOptions::default() };
        let agent = AgentServer::start(&backend.address(), changes).await?;
        let stream = BenchClient::new(agent.url())?.open_stream().await?;
        let run = RunId::new(stream.run_id()?)?;
        stream.finish().await?;
        backend.check_expected()?;
        let requests = agent.aws().request_counter().take_counts();
        let key = RunKey::new(TenantId::new("local")?, run);
        let mut records = 0;
        let mut loads = Sample::default();
        for _ in 0..LOADS {
            let began = Instant::now();
            let list = agent.ports().store.read_from(&key, 0).await?;
            let journal = Journal::fold(&list)?;
            loads.add(began.elapsed());
            ensure!(journal.run().status().has_ended(), "the long run has not ended");
            records = list.len();
        }
        Ok(Self { turns, requests, records, loads })
    }

    fn writes_a_turn(&self, fewer: &Self) -> f64 {
        let writes = ["DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"];
        self.requests_a_turn(fewer, &writes)
    }

    fn reads_a_turn(&self, fewer: &Self) -> f64 {
        self.requests_a_turn(fewer, &["BatchGetItem", "GetItem", "Query", "Scan"])
    }

    fn operations_a_turn(&self, fewer: &Self) -> f64 {
        self.writes_a_turn(fewer) + self.reads_a_turn(fewer)
    }

    /// Returns the additional requests per turn, compared with a run of fewer turns.
    fn requests_a_turn(&self, fewer: &Self, operations: &[&str]) -> f64 {
        let count = |costs: &Self| -> u64 {
            operations.iter().filter_map(|operation| costs.requests.get(*operation)).sum()
        };
        (count(self) as f64 - count(fewer) as f64) / (self.turns - fewer.turns) as f64
    }
}
