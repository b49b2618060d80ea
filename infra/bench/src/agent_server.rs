//! The agent function's handles behind axum, as `cargo dev` runs them, over a backend elsewhere.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use agent::{Agent, build_router};
use anyhow::Result;
use axum::serve::ListenerExt as _;
use djinn_aws::{Aws, RunInvocation};
use djinn_core::settings::PlanSettings;
use djinn_core::tool::EffectClass;
use djinn_local::{ALARM_EVERY, LocalDispatch, LocalWorld, run_executor};
use djinn_runtime::port::outside::Outside;
use djinn_runtime::port::sandbox::Sandbox;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::settings::Settings;
use djinn_wiring::Variables;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

use crate::backend::BackendAddress;
use crate::note::NoteTool;
use crate::terminal;

/// The word that makes this program a process of its own that holds an agent.
pub(crate) const PROCESS: &str = "agent";

/// A running agent. It stops when this is dropped.
pub(crate) struct AgentServer {
    address: SocketAddr,
    aws: Aws,
    ports: LocalWorld,
    server: JoinHandle<()>,
    executor: JoinHandle<()>,
}

/// What an agent does otherwise than the product.
pub(crate) struct AgentOptions {
    /// The agent's runs may call these tools; by default there is a [`NoteTool`] that only reads.
    pub(crate) tools: Toolbox,
    /// How long it waits for what.
    pub(crate) settings: Option<Settings>,
    /// What its plans may take.
    pub(crate) plan: PlanSettings,
    /// Whether tasks are worked on by another process, which reads their invocations.
    pub(crate) executors_elsewhere: bool,
    /// The `DJINN_HUMAN_FEEDBACK` it has.
    pub(crate) feedback: Option<&'static str>,
    /// Where code runs: then all of our own tools and agents are offered instead of `tools`.
    pub(crate) code: Option<Arc<dyn Sandbox>>,
    /// What reads the web: then they are offered, too.
    pub(crate) web: Option<Arc<dyn Outside>>,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            tools: Toolbox::default().with_tool(NoteTool(EffectClass::Read)),
            settings: None,
            plan: PlanSettings { max_steps: 1_000, ..PlanSettings::default() },
            executors_elsewhere: false,
            feedback: None,
            code: None,
            web: None,
        }
    }
}

impl AgentServer {
    /// Starts one over this backend.
    pub(crate) async fn start(backend: &BackendAddress, changes: AgentOptions) -> Result<Self> {
        let models = backend.models_json();
        let has_own_tools = changes.code.is_some() || changes.web.is_some();
        let offered = has_own_tools.then(|| "all".to_owned());
        let feedback = changes.feedback;
        let variables: Variables = Arc::new(move |name| match name {
            "DJINN_OFFERED_AGENTS" => offered.clone(),
            "DJINN_LOCAL" => Some("1".to_owned()),
            "DJINN_MAX_STEPS" => Some("1000".to_owned()),
            // Each agent that is called has a share of them.
            "DJINN_MAX_TOOL_CALLS" => Some("100000".to_owned()),
            "DJINN_MODELS" => Some(models.clone()),
            "DJINN_HUMAN_FEEDBACK" => feedback.map(str::to_owned),
            _ => None,
        });
        let aws = Aws::new(backend.store.clone());
        let (dispatch, invocations) = LocalDispatch::new(ALARM_EVERY);
        let djinn = djinn_wiring::Djinn::new();
        let djinn = match &changes.code {
            Some(sandbox) => djinn.with_sandbox(Arc::clone(sandbox)),
            None => djinn,
        };
        let djinn = match &changes.web {
            Some(outside) => djinn.with_outside(Arc::clone(outside)),
            None => djinn,
        };
        let mut ports =
            djinn_wiring::build_world(&djinn, &variables, &aws, dispatch.clone(), dispatch)?;
        if !has_own_tools {
            ports.tools = changes.tools;
        }
        if let Some(settings) = changes.settings {
            ports.settings = Arc::new(settings);
        }
        let mut settings = agent::Settings::from_vars(&*variables)?;
        settings.run.plan = changes.plan;
        let http = ports.model.http();
        let app = build_router(Agent { ports: ports.clone(), settings }, aws.secrets(), http);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let listener = listener.tap_io(|socket| {
            // Or each small frame waits for the last one's receipt.
            let _ = socket.set_nodelay(true);
        });
        let server = tokio::spawn(async move {
            // It returns only if the listener breaks; then the client's requests fail.
            let _ = axum::serve(listener, app).await;
        });
        let executor = match changes.executors_elsewhere {
            true => tokio::spawn(print_invocations(invocations)),
            false => tokio::spawn(run_executor(ports.clone(), invocations)),
        };
        Ok(Self { address, aws, ports, server, executor })
    }

    /// The base URL has the form `http://address:port`, without a slash at its end.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its clients, which count their requests.
    pub(crate) fn aws(&self) -> &Aws {
        &self.aws
    }

    /// The world it drives runs in.
    pub(crate) fn ports(&self) -> &LocalWorld {
        &self.ports
    }
}

impl Drop for AgentServer {
    fn drop(&mut self) {
        self.server.abort();
        self.executor.abort();
    }
}

/// Prints every invocation, for whoever runs the executor.
async fn print_invocations(mut invocations: UnboundedReceiver<RunInvocation>) {
    while let Some(invocation) = invocations.recv().await {
        terminal::print_line(&json!(invocation).to_string());
    }
}

/// An agent in a process of its own: prints its URL, then its invocations of the executor, and lives
/// until its input ends.
pub(crate) async fn run_agent_process(address: [String; 4]) -> Result<()> {
    let changes = AgentOptions { executors_elsewhere: true, ..AgentOptions::default() };
    let agent = AgentServer::start(&BackendAddress::from_parts(address), changes).await?;
    terminal::print_line(&agent.url());
    let waits = tokio::task::spawn_blocking(|| io::stdin().read_line(&mut String::new()));
    waits.await??;
    Ok(())
}
