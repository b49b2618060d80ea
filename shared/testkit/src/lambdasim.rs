//! A simulator of AWS Lambda: runs built functions in processes of their own, behind a real Runtime API.
//!
//! An *environment* is one process of a function, and handles one invocation at a time. The simulator freezes
//! it (SIGSTOP) between invocations and reuses it for later ones. It kills the environment (SIGKILL) if an
//! invocation exceeds its deadline. Asynchronous invocations return 202, may be delivered more than once, and
//! wait while all environments are busy. Synchronous invocations then return 429. A disconnected client is
//! not noticed. Tests can also kill, freeze and thaw environments by pid.
//!
//! Differences from Lambda: no retries of failed asynchronous invocations (disabled in `template.yaml`), no
//! limits of sizes and bandwidth, and only text bodies.

mod environment;
mod front_door;
mod function;
mod invoke_api;
mod runtime_api;

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get, post};
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub use environment::{Invocation, InvocationOutcome};
pub use function::Function;

use environment::{Environment, Signal};
use function::DeployedFunction;

/// A running simulator. Dropping it kills every environment.
pub struct Lambda {
    region: Arc<LambdaRegion>,
    server: JoinHandle<()>,
}

/// The state shared by servers and environments.
pub(crate) struct LambdaRegion {
    url: String,
    functions: Mutex<BTreeMap<String, Arc<DeployedFunction>>>,
    environments: Mutex<BTreeMap<u64, Weak<Environment>>>,
    invocations: watch::Sender<Vec<Invocation>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Lambda {
    /// Starts a simulator without functions on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// Returns an error if no port can be bound.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let region = Arc::new(LambdaRegion {
            url: format!("http://{}", listener.local_addr()?),
            functions: Mutex::default(),
            environments: Mutex::default(),
            invocations: watch::Sender::default(),
            tasks: Mutex::default(),
        });
        let app = build_router(Arc::clone(&region));
        let listener = listener.tap_io(|socket| {
            // Without this option, each small frame waits for the acknowledgement of the last.
            let _ = socket.set_nodelay(true);
        });
        let server = tokio::spawn(async move {
            // Serving ends only if the listener breaks; then every request of the test fails.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { region, server })
    }

    /// Returns the URL of the Invoke API; below `/lambda-url/<function>` is each function's front door.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.region.url
    }

    /// Deploys a function. A function of the same name is replaced for later invocations.
    pub fn deploy(&self, function: Function) {
        let name = function.name.clone();
        lock(&self.region.functions).insert(name, Arc::new(DeployedFunction::new(function)));
    }

    /// Returns all invocations that reached an environment, in order of start.
    #[must_use]
    pub fn invocations(&self) -> Vec<Invocation> {
        self.region.invocations.borrow().clone()
    }

    /// Returns the invocations in progress.
    #[must_use]
    pub fn running_invocations(&self) -> Vec<Invocation> {
        self.invocations().into_iter().filter(|invocation| invocation.outcome.is_none()).collect()
    }

    /// Waits until `is_so` returns true for the invocations; see [`Self::invocations`].
    pub async fn wait_until(&self, is_so: impl Fn(&[Invocation]) -> bool) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.region.invocations.subscribe().wait_for(|all| is_so(all)).await;
    }

    /// Kills an environment, like a crash. Does nothing if the process is gone.
    pub fn kill(&self, pid: u32) {
        self.signal_process(pid, Signal::KILL);
    }

    /// Freezes an environment at any point of its work.
    pub fn freeze(&self, pid: u32) {
        self.signal_process(pid, Signal::STOP);
    }

    /// Resumes a frozen environment.
    pub fn thaw(&self, pid: u32) {
        self.signal_process(pid, Signal::CONT);
    }

    fn signal_process(&self, pid: u32, signal: Signal) {
        let environments = self.region.list_environments();
        if let Some(environment) = environments.iter().find(|candidate| candidate.pid() == pid) {
            environment.signal(signal);
        }
    }
}

impl Drop for Lambda {
    fn drop(&mut self) {
        self.server.abort();
        lock(&self.region.tasks).abort_all();
        lock(&self.region.functions).clear();
        let environments = self.region.list_environments();
        environments.iter().for_each(|environment| environment.signal(Signal::KILL));
    }
}

impl LambdaRegion {
    fn find_function(&self, name: &str) -> Option<Arc<DeployedFunction>> {
        lock(&self.functions).get(name).cloned()
    }

    fn find_environment(&self, id: u64) -> Option<Arc<Environment>> {
        lock(&self.environments).get(&id)?.upgrade()
    }

    fn list_environments(&self) -> Vec<Arc<Environment>> {
        lock(&self.environments).values().filter_map(Weak::upgrade).collect()
    }

    /// Records the start of an invocation; returns its index.
    fn record_start(&self, invocation: Invocation) -> usize {
        let mut number = 0;
        self.invocations.send_modify(|all| {
            number = all.len();
            all.push(invocation);
        });
        number
    }

    fn record_end(&self, number: usize, outcome: InvocationOutcome) {
        self.invocations.send_modify(|all| {
            if let Some(invocation) = all.get_mut(number) {
                invocation.outcome = Some(outcome);
            }
        });
    }

    /// Runs a task until the end, or until the simulator is dropped.
    fn spawn_task(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}

fn build_router(region: Arc<LambdaRegion>) -> Router {
    const INVOCATION: &str = "/environments/{environment}/2018-06-01/runtime/invocation";
    Router::new()
        .route(&format!("{INVOCATION}/next"), get(runtime_api::next_invocation))
        .route(&format!("{INVOCATION}/{{request}}/response"), post(runtime_api::post_response))
        .route(&format!("{INVOCATION}/{{request}}/error"), post(runtime_api::post_error))
        .route(
            "/environments/{environment}/2018-06-01/runtime/init/error",
            post(runtime_api::post_init_error),
        )
        .route("/2015-03-31/functions/{function}/invocations", post(invoke_api::handle_invoke))
        .route("/lambda-url/{function}/", any(front_door::handle_request))
        .route("/lambda-url/{function}/{*path}", any(front_door::handle_request))
        .layer(DefaultBodyLimit::disable())
        .with_state(region)
}

/// Locks a mutex whose content stays valid after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
