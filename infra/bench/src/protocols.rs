//! The protocols of other clients against Djinn's own: first byte, processor time of a delta, joining a long run.
//! Protocols take turns, so that all see the same machine.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use djinn_scripted::{Bench, Script};
use reqwest::Method;
use serde_json::{Value, json};

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::{Backend, standard_bench};
use crate::client::{BenchClient, next_request};
use crate::cpu::AgentProcess;
use crate::figure::{Figure, FigureLimit};
use crate::join::long_bench;
use crate::sample::Sample;

/// Runs by each protocol whose first byte is measured.
const RUNS: usize = 60;

/// Deltas of a run whose processor time is measured, the turns of the protocols, and the runs of each turn.
const DELTAS: usize = 4_000;
const TURNS: usize = 12;
const RUNS_A_TURN: usize = 2;

/// Viewers by each protocol of a run of 1 000 entries.
const VIEWERS: usize = 20;

/// A client's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientProtocol {
    Native,
    ChatCompletions,
    AiSdk,
    Mcp,
    AgUi,
    Responses,
}

/// A request of a client.
struct ClientRequest {
    method: Method,
    path: String,
    body: Value,
    is_repeat: bool,
}

impl ClientProtocol {
    const ALL: [Self; 6] =
        [Self::Native, Self::ChatCompletions, Self::AiSdk, Self::Mcp, Self::AgUi, Self::Responses];

    /// The protocols that stream text. A call of an MCP tool has one result.
    const STREAMED: [Self; 5] =
        [Self::Native, Self::ChatCompletions, Self::AiSdk, Self::AgUi, Self::Responses];

    fn name(self) -> &'static str {
        match self {
            Self::Native => "`/runs`",
            Self::ChatCompletions => "Chat Completions",
            Self::AiSdk => "AI SDK",
            Self::Mcp => "MCP",
            Self::AgUi => "AG-UI",
            Self::Responses => "Responses",
        }
    }

    /// Returns a question in a session of this name.
    fn question(self, session: &str) -> ClientRequest {
        let text = "Write the report.";
        let parts = json!([{"type": "text", "text": text}]);
        let messages = json!([{"id": "m1", "role": "user", "content": text, "parts": parts}]);
        let (path, body) = match self {
            Self::Native => {
                ("/runs", json!({"question": text, "request_id": session, "mode": "react"}))
            }
            Self::ChatCompletions => {
                let metadata = json!({"session_id": session});
                let body = json!({
                    "model": "react", "messages": messages, "metadata": metadata, "stream": true,
                });
                ("/v1/chat/completions", body)
            }
            Self::AiSdk => {
                ("/ai/chat", json!({"id": session, "messages": messages, "mode": "react"}))
            }
            Self::Mcp => (
                "/mcp",
                tool_call("ask", &json!({"question": text, "session": session, "mode": "react"})),
            ),
            Self::AgUi => {
                let djinn = json!({"djinn": {"mode": "react"}});
                let body = json!({
                    "threadId": session, "runId": session, "messages": messages,
                    "forwardedProps": djinn,
                });
                ("/agui", body)
            }
            Self::Responses => {
                let body = json!({
                    "model": "react", "input": text, "conversation": session, "stream": true,
                });
                ("/v1/responses", body)
            }
        };
        ClientRequest { method: Method::POST, path: path.to_owned(), body, is_repeat: false }
    }

    /// Returns the request that shows the session's run once more.
    fn join(self, session: &str, run: &str) -> ClientRequest {
        let question = self.question(session);
        let get = |path: String| ClientRequest {
            method: Method::GET,
            path,
            body: Value::Null,
            is_repeat: false,
        };
        match self {
            Self::Native => get(format!("/runs/{run}/events")),
            Self::AiSdk => get(format!("/ai/chat/{run}:0/stream")),
            Self::Responses => get(format!("/v1/responses/{run}?stream=true")),
            Self::Mcp => {
                ClientRequest { body: tool_call("look", &json!({"run": run})), ..question }
            }
            Self::AgUi => question,
            Self::ChatCompletions => ClientRequest { is_repeat: true, ..question },
        }
    }

    /// Returns true if the response has the end of a finished run.
    fn has_end(self, response: &str) -> bool {
        let end = match self {
            Self::Native => "event: run.ended\n",
            Self::ChatCompletions => r#""finish_reason":"stop""#,
            Self::AiSdk | Self::Mcp | Self::AgUi => r#""status":"finished""#,
            Self::Responses => "event: response.completed\n",
        };
        response.contains(end)
    }
}

fn tool_call(tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

/// The times of a response.
struct ResponseTimes {
    first_byte: Duration,
    whole: Duration,
    run: String,
}

/// Sends a request, and reads the response to its end.
async fn read_response(
    client: &BenchClient,
    protocol: ClientProtocol,
    request: ClientRequest,
) -> Result<ResponseTimes> {
    let ClientRequest { method, path, body, is_repeat } = request;
    let asking =
        client.request(method, &path).header("accept", "application/json, text/event-stream");
    let asking = if is_repeat { asking.header("x-stainless-retry-count", "1") } else { asking };
    let asking = if body.is_null() { asking } else { asking.json(&body) };
    let start = Instant::now();
    let mut response = asking.send().await?;
    let header = response.headers().get("djinn-run-id").context("no run is named")?;
    let run = header.to_str()?.to_owned();
    let mut first_byte = None;
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await? {
        first_byte.get_or_insert_with(|| start.elapsed());
        bytes.extend_from_slice(&piece);
    }
    let whole = start.elapsed();
    let text = String::from_utf8_lossy(&bytes);
    ensure!(protocol.has_end(&text), "{path} has no end: {text}");
    Ok(ResponseTimes { first_byte: first_byte.context("nothing was sent")?, whole, run })
}

/// The values of protocols, the native one first.
struct Comparison(Vec<(ClientProtocol, f64)>);

impl Comparison {
    /// Returns the figure of the protocol that costs most, as a multiple of the native one's.
    fn to_figure(&self, name: &'static str, most: f64, unit: &str) -> Figure {
        let native = self.0.first().map_or(f64::NAN, |(_, value)| *value);
        let ratios = self.0.iter().skip(1).map(|(_, value)| value / native);
        let values = self.0.iter().map(|(protocol, value)| {
            format!("{} {value:.2} {unit} ({:.2} ×)", protocol.name(), value / native)
        });
        Figure {
            name,
            limit: FigureLimit::AtMost(most),
            unit: "×",
            measured: ratios.fold(0.0, f64::max),
            about: values.collect::<Vec<_>>().join(", "),
        }
    }
}

pub(crate) async fn measure_protocols() -> Result<Vec<Figure>> {
    let first_byte = measure_first_byte().await.context("first byte")?;
    let delta = measure_deltas().await.context("deltas")?;
    let join = measure_joins().await.context("joins")?;
    Ok(vec![
        first_byte.to_figure("first byte of a client's protocol, against `/runs`", 1.2, "ms"),
        delta.to_figure("CPU of a delta of a client's protocol, against `/runs`", 1.3, "µs"),
        join.to_figure(
            "joining a finished run of 1 000 entries by a client's protocol, against `/runs`",
            2.0,
            "ms",
        ),
    ])
}

async fn measure_first_byte() -> Result<Comparison> {
    let backend = Backend::start(Script::bench(standard_bench())).await?;
    let agent = AgentServer::start(&backend.address(), AgentOptions::default()).await?;
    let client = BenchClient::new(agent.url())?;
    let mut samples = ClientProtocol::STREAMED.map(|protocol| (protocol, Sample::default()));
    for _ in 0..RUNS {
        for (protocol, sample) in &mut samples {
            let request = protocol.question(&next_request());
            sample.add(read_response(&client, *protocol, request).await?.first_byte);
        }
    }
    Ok(Comparison(samples.map(|(protocol, sample)| (protocol, sample.median())).to_vec()))
}

/// Returns the microseconds of a delta, which include a share of the run around the deltas.
async fn measure_deltas() -> Result<Comparison> {
    let agent = AgentProcess::start(DELTAS, false).await?;
    let mut costs_ms = ClientProtocol::STREAMED.map(|protocol| (protocol, 0.0));
    for turn in 0..=TURNS {
        for (protocol, cost_ms) in &mut costs_ms {
            let runs = async {
                for _ in 0..RUNS_A_TURN {
                    let request = protocol.question(&next_request());
                    read_response(agent.client(), *protocol, request).await?;
                }
                Ok(())
            };
            let took_ms = agent.cost_ms(RUNS_A_TURN, runs).await?;
            // The first turn warms up.
            if turn > 0 {
                *cost_ms += took_ms;
            }
        }
    }
    agent.end().await?;
    let per_delta = |cost_ms: f64| cost_ms * 1_000.0 / (TURNS * DELTAS) as f64;
    Ok(Comparison(costs_ms.map(|(protocol, cost_ms)| (protocol, per_delta(cost_ms))).to_vec()))
}

async fn measure_joins() -> Result<Comparison> {
    let long: Bench = long_bench();
    let backend = Backend::start(Script::bench(long)).await?;
    let agent = AgentServer::start(&backend.address(), AgentOptions::default()).await?;
    let client = BenchClient::new(agent.url())?;
    let mut sessions = Vec::new();
    for protocol in ClientProtocol::ALL {
        let session = next_request();
        let response = read_response(&client, protocol, protocol.question(&session)).await?;
        sessions.push((protocol, session, response.run, Sample::default()));
    }
    for _ in 0..VIEWERS {
        for (protocol, session, run, sample) in &mut sessions {
            let joined = read_response(&client, *protocol, protocol.join(session, run)).await?;
            ensure!(joined.run == *run, "another run: {}", joined.run);
            sample.add(joined.whole);
        }
    }
    let medians = sessions.into_iter().map(|(protocol, .., sample)| (protocol, sample.median()));
    Ok(Comparison(medians.collect()))
}
