//! The whole system in one process: stores, agent, executor, alarms, and a model.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, LocalOrigins, build_router};
use axum::Router;
use djinn_aws::{Aws, RunInvocation};
use djinn_core::settings::Role;
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::settings::Settings;
use djinn_scripted::ScriptedModel;
use djinn_settings::table::runtime::LOCAL;
use djinn_settings::table::web::{EGRESS_ORIGINS, SEARCH};
use djinn_settings::{InvalidSetting, VarLookup};
use djinn_wiring::{AwsWorld, ConfigurationFolder, Djinn, Variables, WiringError, build_world};
use executor::Executor;
use gateway::GatewaySettings;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::demo_search::DemoSite;
use crate::dispatch::{ALARM_EVERY, LocalDispatch};
use crate::laptop_gateway::LaptopGateway;
use crate::resume::take_over_dead_runs;
use crate::serve::{ServeTimeouts, serve, with_body_timeout};
use crate::store::{Stores, StoresError, StoresOptions};
use crate::{demo, ui};

/// The world of the local system.
pub type LocalWorld = AwsWorld<LocalDispatch, LocalDispatch>;

/// Looks an environment variable up.
pub type Var = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Options of the local system.
pub struct SystemOptions {
    /// The deployment, with its tools.
    pub djinn: Djinn,
    /// The data directory; `None` keeps nothing.
    pub dir: Option<PathBuf>,
    /// The listening address; port 0 chooses a free port.
    pub listen: SocketAddr,
    /// A built web UI to be served from the same origin.
    pub ui: Option<PathBuf>,
    /// The pages of a demo site, searched if no engine is configured.
    pub site: Option<PathBuf>,
    /// Looks up a variable, such as models, language and limits.
    pub var: Var,
    /// Timeouts and limits for tests; `None` reads the variables.
    pub settings: Option<Settings>,
    /// Timeouts for slow clients.
    pub patience: ServeTimeouts,
    /// Interval of a run's alarm.
    pub alarm_every: Duration,
    /// True if unfinished runs of an earlier process continue at once; false if such runs continue on
    /// request.
    pub continue_runs: bool,
}

impl Default for SystemOptions {
    fn default() -> Self {
        Self {
            djinn: Djinn::new(),
            dir: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            ui: None,
            site: None,
            var: Box::new(|_| None),
            settings: None,
            patience: ServeTimeouts::default(),
            alarm_every: ALARM_EVERY,
            continue_runs: true,
        }
    }
}

/// The reason the system cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// The local stores cannot start; their own error says why.
    #[error(transparent)]
    Stores(#[from] StoresError),
    /// A variable of the runs' world is invalid.
    #[error(transparent)]
    Wiring(#[from] WiringError),
    /// A variable of the agent is invalid.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    /// The demo site, searched if no engine is configured, cannot start.
    #[error("the demo's site cannot start: {0}")]
    Site(std::io::Error),
    /// The demo model, used if no model is configured, cannot start.
    #[error("the scripted demo model cannot start: {0}")]
    Demo(std::io::Error),
    /// The listening address cannot be opened.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The listening address of the options.
        address: SocketAddr,
        /// The error of the operating system.
        error: std::io::Error,
    },
}

/// The time for which the gateway's read of the configuration folder is current.
const FRESH: Duration = Duration::from_secs(5);

/// Maximum wait for drivers when the system stops.
const MAX_STOP: Duration = Duration::from_secs(10);

/// A running system. Dropping the value stops everything.
pub struct System {
    address: SocketAddr,
    ports: LocalWorld,
    aws: Aws,
    demo_model: Option<ScriptedModel>,
    demo_site: Option<DemoSite>,
    tasks: Vec<JoinHandle<()>>,
    _stores: Stores,
}

impl System {
    /// Starts all parts and listens.
    ///
    /// # Errors
    /// Returns [`SystemError`], whose text says what to do.
    pub async fn start(options: SystemOptions) -> Result<Self, SystemError> {
        let origins = LocalOrigins::from_vars(&options.var)?;
        let stores =
            Stores::start(StoresOptions { dir: options.dir, origins, ..StoresOptions::default() })?;
        let demo_model = demo::start_if_needed(&options.var).await?;
        let demo_site = demo::start_site_if_needed(&options.var, options.site.as_deref()).await?;
        let theirs = options.var;
        let model = demo_model.as_ref().map(|model| demo::model_variables(&model.base_url()));
        let origins = EGRESS_ORIGINS.find_text(&theirs);
        let site = demo_site.as_ref().map(|site| demo::site_variable(&site.base_url(), origins));
        let demo = model.into_iter().flatten().chain(site);
        let ours: BTreeMap<&'static str, String> = demo.chain([LOCAL.pair("1")]).collect();
        let variables: Variables =
            Arc::new(move |name| ours.get(name).cloned().or_else(|| theirs(name)));
        let aws = Aws::new(stores.settings().clone());
        let (dispatch, invocations) = LocalDispatch::new(options.alarm_every);
        let fresh = options.settings.as_ref().map_or(FRESH, |settings| settings.tool_sources_fresh);
        let gateway = gateway_settings(&variables, demo_site.as_ref(), &aws, fresh)?;
        let djinn =
            options.djinn.with_outside(Arc::new(LaptopGateway::new(gateway, aws.secrets())));
        let djinn = djinn.with_settings_check(check_settings);
        let mut ports = build_world(&djinn, &variables, &aws, dispatch.clone(), dispatch)?;
        if let Some(settings) = options.settings {
            ports.tools = ports.tools.with_sources_fresh(settings.tool_sources_fresh);
            ports.settings = Arc::new(settings);
        }
        let settings = agent::Settings::from_vars(&*ports.variables)?;
        let app = build_app(&ports, settings, &aws, options.ui.as_deref());
        let listen_error = |error| SystemError::Listen { address: options.listen, error };
        let listener = TcpListener::bind(options.listen).await.map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;
        let tasks = vec![
            spawn_executor(ports.clone(), invocations),
            tokio::spawn(serve(
                listener,
                with_body_timeout(app, options.patience),
                options.patience,
            )),
        ];
        let system = Self { address, ports, aws, demo_model, demo_site, tasks, _stores: stores };
        system.resume_runs(options.continue_runs).await;
        Ok(system)
    }

    /// The address of the listener, with the actual port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The scripted demo model, if no model is configured, neither in the environment nor in `djinn.toml`.
    #[must_use]
    pub fn demo_model(&self) -> Option<&ScriptedModel> {
        self.demo_model.as_ref().filter(|demo| {
            let model = self.ports.model.settings().model(Role::React);
            let base_url = model.and_then(|(_, model)| model.base_url.as_deref());
            base_url.is_some_and(|url| url.starts_with(demo.base_url().trim_end_matches('/')))
        })
    }

    /// The demo site, if no engine is configured, neither in the environment nor in `djinn.toml`.
    #[must_use]
    pub fn demo_site(&self) -> Option<&DemoSite> {
        self.demo_site.as_ref().filter(|_| SEARCH.find_text(&*self.ports.variables).is_none())
    }

    /// The world of the system's runs.
    #[must_use]
    pub fn ports(&self) -> &LocalWorld {
        &self.ports
    }

    /// The system's AWS clients, which count requests.
    #[must_use]
    pub fn aws(&self) -> &Aws {
        &self.aws
    }

    /// Stops gracefully: drivers hand over their runs, within 10 s. Runs handed over do not count as crashed
    /// in the next process.
    pub async fn stop(self) {
        self.ports.shutdown.request();
        let idle = self.ports.shutdown.wait_until_idle();
        if tokio::time::timeout(MAX_STOP, idle).await.is_err() {
            tracing::warn!("a run was not handed over in time");
        }
    }

    async fn resume_runs(&self, continue_runs: bool) {
        let runs = take_over_dead_runs(&self.ports.store).await.unwrap_or_else(|error| {
            tracing::error!(%error, "unfinished runs were not looked for");
            Vec::new()
        });
        for key in runs {
            let set = self.ports.alarms.set_alarm(&key).await;
            let kick =
                if continue_runs { self.ports.invoker.kick_run(&key, 0).await } else { Ok(()) };
            if let Err(error) = set.and(kick) {
                tracing::error!(%error, run_id = %key.run, "run not taken up");
            }
        }
    }
}

impl Drop for System {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Checks the settings of the agent and the gateway, for `Djinn::with_settings_check`.
///
/// # Errors
/// Returns [`InvalidSetting`] with the name of the invalid variable.
pub fn check_settings(var: VarLookup<'_>) -> Result<(), InvalidSetting> {
    agent::check_settings(var)?;
    gateway::check_engines(var)
}

/// Returns the settings of the gateway. The engine of the demo site counts if neither a variable nor the
/// configuration folder names engines.
fn gateway_settings(
    variables: &Variables,
    demo_site: Option<&DemoSite>,
    aws: &Aws,
    fresh: Duration,
) -> Result<GatewaySettings, InvalidSetting> {
    let engines = demo_site.map(|site| demo::site_engines(&site.base_url()));
    let settings = GatewaySettings::from_vars(&|name| {
        let demo_engines = engines.clone().filter(|_| name == SEARCH.name);
        demo_engines.or_else(|| variables(name))
    })?;
    Ok(match ConfigurationFolder::open(variables, &aws.store())? {
        Some(folder) => settings.with_folder(folder, fresh),
        None => settings,
    })
}

/// Returns the agent's routes, with a folder of another page if there is one.
///
/// Like [`spawn_executor`], no `async` function: its code would be compiled in each crate that awaits it.
fn build_app(
    ports: &LocalWorld,
    settings: agent::Settings,
    aws: &Aws,
    ui: Option<&Path>,
) -> Router {
    let http = ports.model.http();
    let app = build_router(Agent { ports: ports.clone(), settings }, aws.secrets(), http);
    match ui {
        Some(dir) => ui::mount_ui(app, dir),
        None => app,
    }
}

/// Runs [`run_executor`] in a task.
fn spawn_executor(
    ports: LocalWorld,
    invocations: mpsc::UnboundedReceiver<RunInvocation>,
) -> JoinHandle<()> {
    tokio::spawn(run_executor(ports, invocations))
}

/// Runs the executor for every invocation, each in a separate task, until the queue closes.
pub async fn run_executor(
    ports: LocalWorld,
    mut invocations: mpsc::UnboundedReceiver<RunInvocation>,
) {
    let executor = Arc::new(Executor { ports });
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            invocation = invocations.recv() => {
                let Some(invocation) = invocation else { return };
                // The next process continues every run that was handed over.
                if executor.ports.shutdown.is_requested() {
                    continue;
                }
                let executor = Arc::clone(&executor);
                running.spawn(async move {
                    let payload = serde_json::json!(invocation);
                    if let Err(error) = executor.handle(payload, None).await {
                        tracing::error!(%error, "run not continued");
                    }
                });
            }
            Some(_) = running.join_next() => {}
        }
    }
}
