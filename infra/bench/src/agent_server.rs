//! Serves the agent function's handlers as `cargo dev` does, over a separate backend.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use agent::{Agent, build_router};
use anyhow::Result;
use djinn_aws::Aws;
use djinn_core::settings::PlanSettings;
use djinn_core::tool::EffectClass;
use djinn_local::{ALARM_EVERY, LocalDispatch, LocalWorld, ServeTimeouts, run_executor, serve};
use djinn_runtime::port::database::Database;
use djinn_runtime::port::outside::Outside;
use djinn_runtime::port::sandbox::Sandbox;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::settings::Settings;
use djinn_wiring::Variables;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::backend::BackendAddress;
use crate::note::NoteTool;
use crate::terminal;

/// The argument that runs this program as an agent process.
pub(crate) const PROCESS: &str = "agent";

/// A running agent. Dropping the value stops the agent.
pub(crate) struct AgentServer {
    address: SocketAddr,
    aws: Aws,
    ports: LocalWorld,
    server: JoinHandle<()>,
    executor: JoinHandle<()>,
}

/// The agent's differences from the product.
pub(crate) struct AgentOptions {
    /// The tools of the agent's runs; by default a read-only [`NoteTool`].
    pub(crate) tools: Toolbox,
    /// Timeouts and limits of the agent's runs.
    pub(crate) settings: Option<Settings>,
    /// The limits of plans.
    pub(crate) plan: PlanSettings,
    /// True if another process executes tasks and reads their invocations.
    pub(crate) executors_elsewhere: bool,
    /// The value of `DJINN_PEOPLE__REQUESTS`.
    pub(crate) human_requests: Option<&'static str>,
    /// The sandbox for code. If set, Djinn's own tools and agents are offered instead of `tools`.
    pub(crate) code: Option<Arc<dyn Sandbox>>,
    /// The reader of the web. If set, Djinn's own tools and agents are offered as well.
    pub(crate) web: Option<Arc<dyn Outside>>,
    /// The databases of connections.
    pub(crate) database: Option<Arc<dyn Database>>,
    /// Further variables.
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            tools: Toolbox::default().with_tool(NoteTool(EffectClass::Read)),
            settings: None,
            plan: PlanSettings { max_steps: 1_000, ..PlanSettings::default() },
            executors_elsewhere: false,
            human_requests: None,
            code: None,
            web: None,
            database: None,
            variables: Vec::new(),
        }
    }
}

impl AgentServer {
    /// Starts an agent over this backend.
    pub(crate) async fn start(backend: &BackendAddress, changes: AgentOptions) -> Result<Self> {
        let models = backend.models_json();
        let has_own_tools = changes.code.is_some() || changes.web.is_some();
        let agents = has_own_tools.then(|| "all".to_owned());
        let human_requests = changes.human_requests;
        let others = changes.variables;
        let variables: Variables = Arc::new(move |name| match name {
            "DJINN_AGENTS__OFFERED" => agents.clone(),
            "DJINN_LOCAL" => Some("1".to_owned()),
            "DJINN_LIMITS__MAX_STEPS" => Some("1000".to_owned()),
            // Each called agent receives a share.
            "DJINN_LIMITS__MAX_TOOL_CALLS" => Some("100000".to_owned()),
            "DJINN_MODELS" => Some(models.clone()),
            "DJINN_PEOPLE__REQUESTS" => human_requests.map(str::to_owned),
            _ => others.iter().find(|(other, _)| *other == name).map(|(_, value)| value.clone()),
        });
        let aws = Aws::new(backend.store.clone());
        let (dispatch, mut invocations) = LocalDispatch::new(ALARM_EVERY);
        let djinn = djinn_wiring::Djinn::new();
        let djinn = match &changes.code {
            Some(sandbox) => djinn.with_sandbox(Arc::clone(sandbox)),
            None => djinn,
        };
        let djinn = match &changes.web {
            Some(outside) => djinn.with_outside(Arc::clone(outside)),
            None => djinn,
        };
        let djinn = match changes.database {
            Some(database) => djinn.with_database(database),
            None => djinn,
        };
        let mut ports =
            djinn_wiring::build_world(&djinn, &variables, &aws, dispatch.clone(), dispatch)?;
        if !has_own_tools {
            // The modes of questions are agents too.
            ports.tools = changes.tools.with_agents(Arc::clone(ports.tools.agents()));
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
        let server = tokio::spawn(serve(listener, app, ServeTimeouts::default()));
        let executor = if changes.executors_elsewhere {
            // Another process has the executor, and reads the invocations.
            tokio::spawn(async move {
                while let Some(invocation) = invocations.recv().await {
                    terminal::print_line(&json!(invocation).to_string());
                }
            })
        } else {
            tokio::spawn(run_executor(ports.clone(), invocations))
        };
        Ok(Self { address, aws, ports, server, executor })
    }

    /// Returns the base URL, `http://address:port`, without a trailing slash.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The agent's AWS clients, which count requests.
    pub(crate) fn aws(&self) -> &Aws {
        &self.aws
    }

    /// The world of the agent's runs.
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

/// Runs an agent as a process: prints the URL, then invocations of the executor, and ends with the input.
pub(crate) async fn run_agent_process(address: [String; 4]) -> Result<()> {
    let changes = AgentOptions { executors_elsewhere: true, ..AgentOptions::default() };
    let agent = AgentServer::start(&BackendAddress::from_parts(address), changes).await?;
    terminal::print_line(&agent.url());
    let waits = tokio::task::spawn_blocking(|| io::stdin().read_line(&mut String::new()));
    waits.await??;
    Ok(())
}
