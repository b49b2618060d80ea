//! Tools from outside: the tools of a turn, calls relative to the bare request, and the way of a changed file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use djinn_aws::Aws;
use djinn_core::language::Language;
use djinn_local::ServerLock;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::outside::{Outside, OutsideContext, ToolAnswer, ToolJob};
use djinn_runtime::port::secret::NoSecrets;
use djinn_runtime::port::tool::ToolAudience;
use djinn_runtime::world::Ports as _;
use djinn_scripted::Script;
use djinn_wiring::{ConfigurationFolder, Variables};
use gateway::{GatewaySettings, LocalGateway};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::Backend;
use crate::figure::{Figure, FigureLimit};
use crate::sample::Sample;
use crate::sandbox::bench_session;

/// Tools that are HTTP requests, MCP servers, and the tools of each.
const FILES: usize = 50;
const SERVERS: usize = 5;
const TOOLS: usize = 10;
/// Timed turns and calls, after a warm-up.
const TIMED: usize = 200;
const WARM_UP: usize = 10;
/// The age at which a gateway reads the folder again, as deployed.
const FRESH: Duration = Duration::from_secs(5);
/// Timed changes of a file.
const CHANGES: usize = 2;
/// Maximum wait for a changed file, and the time between two looks.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(crate) async fn measure_outside_tools() -> Result<Vec<Figure>> {
    let mut servers = Vec::new();
    for _ in 0..SERVERS {
        servers.push(ToolServer::start().await?);
    }
    let folder = tempfile::tempdir()?;
    write_folder(folder.path(), &servers).await?;
    let origins: Vec<_> = servers.iter().map(|server| server.origin.as_str()).collect();
    let variables = vec![
        ("DJINN_CONFIG", folder.path().to_str().context("no UTF-8")?.to_owned()),
        ("DJINN_EGRESS_ORIGINS", origins.join(",")),
    ];
    let gateway = Arc::new(open_gateway(variables.clone())?);
    let backend = Backend::start(Script::default()).await?;
    let web: Option<Arc<dyn Outside>> = Some(Arc::clone(&gateway) as Arc<dyn Outside>);
    let changes = AgentOptions { web, variables, ..AgentOptions::default() };
    let agent = AgentServer::start(&backend.address(), changes).await?;
    let [first, .., last] = &servers[..] else { bail!("no servers") };
    let mut figures = measure_calls(&agent, &gateway, first).await.context("calls")?;
    last.server.abort();
    figures.insert(0, measure_turn(&agent, &servers).await.context("the tools of a turn")?);
    figures.push(measure_changes(&agent, folder.path(), first).await.context("a changed file")?);
    Ok(figures)
}

/// A server with an API and an MCP server without sessions, which counts its requests.
struct ToolServer {
    origin: String,
    requests: Arc<AtomicU64>,
    server: JoinHandle<()>,
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl ToolServer {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let requests = Arc::<AtomicU64>::default();
        let app = Router::new().fallback(answer).with_state(Arc::clone(&requests));
        let server = tokio::spawn(async move {
            // Returns only if the listener fails; then the requests fail.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { origin, requests, server })
    }

    fn take_requests(&self) -> u64 {
        self.requests.swap(0, Ordering::Relaxed)
    }
}

async fn answer(State(requests): State<Arc<AtomicU64>>, uri: Uri, body: Bytes) -> Response {
    requests.fetch_add(1, Ordering::Relaxed);
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    if uri.path() != "/mcp" {
        return Json(json!({"echo": message})).into_response();
    }
    let result = match message.get("method").and_then(Value::as_str).unwrap_or_default() {
        "server/discover" => json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
        }),
        "tools/list" => {
            let tools = (0..TOOLS).map(|nth| {
                let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
                let words = "Keeps a text for later, and returns its number.";
                json!({"name": format!("keep_{nth}"), "description": words, "inputSchema": schema})
            });
            json!({"tools": tools.collect::<Vec<_>>()})
        }
        "tools/call" => json!({"content": [{"type": "text", "text": "kept"}]}),
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    Json(json!({"jsonrpc": "2.0", "id": message.get("id"), "result": result})).into_response()
}

/// Returns the file of a tool of this server.
fn http_tool(server: &ToolServer) -> String {
    format!(
        "description = \"Keeps a text for later, and returns its number.\"\n\
         trust = \"all\"\neffect = \"once\"\n\
         [parameters]\ntype = \"object\"\nproperties = {{ text = {{ type = \"string\" }} }}\n\
         [request]\nmethod = \"POST\"\nurl = \"{}/keep\"\nbody = {{ text = \"{{text}}\" }}\n",
        server.origin
    )
}

/// Writes the files of all tools, and locks the servers.
async fn write_folder(folder: &Path, servers: &[ToolServer]) -> Result<()> {
    fs::create_dir_all(folder.join("tools/servers"))?;
    for nth in 0..FILES {
        let server = servers.get(nth % servers.len()).context("no servers")?;
        fs::write(folder.join(format!("tools/api_{nth:02}.toml")), http_tool(server))?;
    }
    let mut origins = String::new();
    for (nth, server) in servers.iter().enumerate() {
        let text = format!("url = \"{}/mcp\"\ntrust = \"all\"\neffect = \"once\"\n", server.origin);
        fs::write(folder.join(format!("tools/servers/s{nth}.toml")), text)?;
        write!(origins, "{},", server.origin)?;
    }
    let origins = origins.trim_end_matches(',').to_owned();
    let var = move |name: &str| (name == "DJINN_EGRESS_ORIGINS").then(|| origins.clone());
    for new in ServerLock::new(folder.to_owned(), Box::new(var)).lock_new_servers().await {
        new.outcome.map_err(|reason| anyhow!("{}: {reason}", new.server.name))?;
    }
    Ok(())
}

fn open_gateway(variables: Vec<(&'static str, String)>) -> Result<LocalGateway<NoSecrets>> {
    let variables: Variables = Arc::new(move |name| {
        let own = variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.clone());
        own.or_else(|| (name == "DJINN_LOCAL").then(|| "1".to_owned()))
    });
    // The folder is on this disk, so no store is read.
    let store = Aws::new(djinn_aws::Settings::new("none", "none")).store();
    let folder = ConfigurationFolder::open(&variables, &store)?.context("no folder")?;
    let settings = GatewaySettings::from_vars(&*variables)?.with_folder(folder, FRESH);
    Ok(LocalGateway::new(settings, NoSecrets)?)
}

/// Returns the names of the offered tools that are files.
async fn list_tools(agent: &AgentServer) -> Result<Vec<String>> {
    let session = bench_session()?;
    let user = UserKey { tenant: session.tenant, user: session.owner };
    let audience = ToolAudience { user, mode: "react".to_owned(), output_style: None };
    let ports = agent.ports();
    let specs = ports.tools().list_tools(ports.clock(), &audience).await.specs(Language::En);
    let names = specs.into_iter().map(|spec| spec.name);
    Ok(names.filter(|name| name.starts_with("api_") || name.contains("__")).collect())
}

async fn measure_turn(agent: &AgentServer, servers: &[ToolServer]) -> Result<Figure> {
    let mut sample = Sample::default();
    list_tools(agent).await?;
    let count_requests = || servers.iter().map(ToolServer::take_requests).sum::<u64>();
    let _ = (agent.aws().request_counter().take_counts(), count_requests());
    for _ in 0..TIMED {
        let began = Instant::now();
        let names = list_tools(agent).await?;
        sample.add(began.elapsed());
        ensure!(names.len() == FILES + SERVERS * TOOLS, "{} tools are offered", names.len());
    }
    let reads = agent.aws().request_counter().take_counts();
    let requests = count_requests();
    ensure!(reads.is_empty() && requests == 0, "{reads:?} and {requests} requests to servers");
    Ok(Figure {
        name: "100 tools from outside before a turn, one of five servers dead",
        limit: FigureLimit::AtMost(0.5),
        unit: "ms",
        measured: sample.median(),
        about: format!(
            "p95 {:.2} ms of {TIMED}; no store read and no request to a server; {FILES} HTTP tools, and {TOOLS} \
             tools of each server",
            sample.p95()
        ),
    })
}

async fn measure_calls(
    agent: &AgentServer,
    gateway: &LocalGateway<NoSecrets>,
    server: &ToolServer,
) -> Result<Vec<Figure>> {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "keep_0", "arguments": {"text": "milk"}},
    });
    let http = ("call of an HTTP tool, beyond 1.3 × the bare request", "api_00");
    let mcp = ("call of a warm stateless MCP tool, beyond 1.3 × the bare request", "s0__keep_0");
    let mut figures = Vec::new();
    for ((name, tool), path, body) in [(http, "keep", json!({"text": "milk"})), (mcp, "mcp", call)]
    {
        let configured = agent.ports().configured_tools();
        let is_meant =
            |other: &&djinn_runtime::configuration::ConfiguredTool| other.definition.name() == tool;
        let configured = configured.callable.iter().find(is_meant).context("no such tool")?;
        let session = bench_session()?;
        let context = OutsideContext { user: session.owner.clone(), session };
        let client = reqwest::Client::builder().no_proxy().build()?;
        let mut bare = Sample::default();
        let mut called = Sample::default();
        for nth in 0..WARM_UP + TIMED {
            let began = Instant::now();
            let request = client.post(format!("{}/{path}", server.origin)).json(&body);
            request.send().await?.bytes().await?;
            let bare_took = began.elapsed();
            server.take_requests();
            let job = ToolJob {
                tool: tool.to_owned(),
                definition: configured.definition.sha256().to_owned(),
                arguments: json!({"text": "milk"}),
                idempotency_key: format!("run_1.t{nth}.c1"),
                user_key: None,
            };
            let began = Instant::now();
            let answer = gateway.call_tool(&context, job).await?;
            let called_took = began.elapsed();
            ensure!(matches!(answer, ToolAnswer::Done { .. }), "{answer:?}");
            if nth >= WARM_UP {
                let requests = server.take_requests();
                ensure!(requests == 1, "{requests} requests");
                bare.add(bare_took);
                called.add(called_took);
            }
        }
        figures.push(Figure {
            name,
            limit: FigureLimit::AtMost(1.0),
            unit: "ms",
            measured: (called.median() - 1.3 * bare.median()).max(0.0),
            about: format!(
                "{:.2} ms, the bare request {:.2} ms, medians of {TIMED}; one request each",
                called.median(),
                bare.median()
            ),
        });
    }
    Ok(figures)
}

/// Measures the time from a new file to the next turn that is offered its tool: this process writes the file, and the
/// agent reads the folder by itself.
async fn measure_changes(
    agent: &AgentServer,
    folder: &Path,
    server: &ToolServer,
) -> Result<Figure> {
    let mut slowest = Duration::ZERO;
    for nth in 0..CHANGES {
        let name = format!("api_new_{nth}");
        fs::write(folder.join(format!("tools/{name}.toml")), http_tool(server))?;
        let began = Instant::now();
        while !list_tools(agent).await?.contains(&name) {
            ensure!(began.elapsed() < PATIENCE, "the file was not read");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        slowest = slowest.max(began.elapsed());
    }
    Ok(Figure {
        name: "a new tool file, to the next turn that is offered its tool",
        limit: FigureLimit::AtMost(5.05),
        unit: "s",
        measured: slowest.as_secs_f64(),
        about: format!("the slowest of {CHANGES}; the folder is read every 5 s, on this disk"),
    })
}
