//! Latency after users' responses, and the cost of runs waiting for users.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError, Toolbox};
use djinn_scripted::{Bench, Script};
use serde_json::{Map, Value};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::{Backend, standard_bench};
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};
use crate::note::NoteTool;
use crate::sample::Sample;

/// Runs with responses, in sequence.
const ANSWERED: usize = 100;

/// Waiting runs, and the time of observation.
const WAITING: usize = 20;
const WATCHED: Duration = Duration::from_secs(20);

/// Time for a run to fall asleep.
const SETTLING: Duration = Duration::from_secs(2);

/// Settings with a human request for every call, without a timeout.
const HUMAN_REQUESTS: &str =
    r#"{"enabled": true, "timeout": 0, "require_confirmation_tools": ["note"]}"#;

pub(crate) async fn measure_people() -> Result<Vec<Figure>> {
    let bench = Bench { model_calls: 2, tool_calls: 1, deltas: 20, ..standard_bench() };
    let backend = Backend::start(Script::bench(bench)).await?;
    let (started, mut starts) = unbounded_channel();
    let tools = Toolbox::default()
        .with_tool(TimedNote { note: NoteTool(EffectClass::Once), starts: started });
    let changes =
        AgentOptions { tools, human_requests: Some(HUMAN_REQUESTS), ..AgentOptions::default() };
    let agent = AgentServer::start(&backend.address(), changes).await?;
    let client = BenchClient::new(agent.url())?;
    let mut starting = Sample::default();
    for _ in 0..ANSWERED {
        let run = start_waiting_run(&client).await?;
        let answered_at = Instant::now();
        let (posted, started) =
            tokio::join!(client.respond_to_request(&run, "t1.c1", "confirm"), starts.recv());
        posted?;
        starting.add(started.context("the call did not start")? - answered_at);
        while client.join_run(&run).await?.finish().await.is_err() {}
    }
    for _ in 0..WAITING {
        start_waiting_run(&client).await?;
    }
    tokio::time::sleep(SETTLING).await;
    let settling = agent.aws().request_counter().take_counts().values().sum::<u64>();
    tokio::time::sleep(WATCHED).await;
    let requests = agent.aws().request_counter().take_counts().values().sum::<u64>();
    backend.check_expected()?;
    let days = WAITING as f64 * WATCHED.as_secs_f64() / (24.0 * 60.0 * 60.0);
    Ok(vec![
        Figure {
            name: "answer posted to the paused call starting, median",
            limit: FigureLimit::AtMost(50.0),
            unit: "ms",
            measured: starting.median(),
            about: format!(
                "p95 {:.1} ms of {ANSWERED}; the run was in nobody's memory",
                starting.p95()
            ),
        },
        Figure {
            name: "requests of a paused run in a day",
            limit: FigureLimit::AtMost(0.0),
            unit: "",
            measured: requests as f64 / days,
            about: format!(
                "{requests} in {} s of {WAITING} runs that wait, {settling} before; storage is all \
                 they cost",
                WATCHED.as_secs()
            ),
        },
    ])
}

/// Starts a run and returns its id once the run waits for a response.
async fn start_waiting_run(client: &BenchClient) -> Result<String> {
    let mut stream = client.open_stream().await?;
    let run = stream.run_id()?.to_owned();
    stream.read_until_closed().await?;
    Ok(run)
}

/// A note tool that reports the start of each call.
struct TimedNote {
    note: NoteTool,
    starts: UnboundedSender<Instant>,
}

impl Tool for TimedNote {
    fn spec(&self, language: Language) -> ToolSpec {
        self.note.spec(language)
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        // The receiver is gone after the benchmark's end.
        let _ = self.starts.send(Instant::now());
        self.note.run(context, arguments)
    }

    fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        self.note.check_arguments(arguments)
    }
}
