//! One process of a function: start, invocations, freezing and killing.

use std::fs::OpenOptions;
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use djinn_runtime::port::clock::{Clock as _, SystemClock};
use djinn_runtime::settings::to_millis;
use rustix::process::{Pid, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};

pub(crate) use rustix::process::Signal;

use super::function::Function;
use super::{LambdaRegion, lock};

/// The maximum time between the start of a process and its first request for an event.
const INIT_LIMIT: Duration = Duration::from_secs(10);

/// An invocation that reached an environment.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
    /// The name of the invoked function.
    pub function: String,
    /// The environment's process id, for killing, freezing and thawing.
    pub pid: u32,
    /// The payload of the invocation, or null if invalid JSON.
    pub payload: Value,
    /// The time at which the event was handed over, in Unix milliseconds.
    pub started_ms: i64,
    /// The result of the invocation; `None` while in progress.
    pub outcome: Option<InvocationOutcome>,
}

/// The result of an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvocationOutcome {
    /// The function responded and asked for its next event, without reporting an error.
    Responded,
    /// The function reported an error.
    Failed,
    /// The process was killed at its deadline.
    TimedOut,
    /// The process exited, or was killed by a test.
    Died,
}

/// The channel for the bytes of a response. Nothing is sent if the invocation does not respond.
pub(crate) type ReplySender = mpsc::UnboundedSender<io::Result<Bytes>>;

/// The work for an environment.
pub(crate) struct InvocationWork {
    pub(crate) payload: Bytes,
    /// The tenant, whose environments no other tenant shares.
    pub(crate) tenant: Option<String>,
    pub(crate) reply: Option<ReplySender>,
}

/// An event, as sent to a process by the Runtime API.
pub(crate) struct InvocationEvent {
    pub(crate) request: String,
    pub(crate) deadline_ms: i64,
    pub(crate) function: String,
    pub(crate) payload: Bytes,
    pub(crate) tenant: Option<String>,
}

/// An environment, as used by the Runtime API.
pub(crate) struct Environment {
    pid: u32,
    /// The channel on which a process waits for its next event.
    pub(crate) polls: mpsc::UnboundedSender<oneshot::Sender<InvocationEvent>>,
    pub(crate) current: Mutex<Option<CurrentInvocation>>,
}

/// The invocation in progress of an environment.
pub(crate) struct CurrentInvocation {
    pub(crate) request: String,
    pub(crate) reply: Option<ReplySender>,
    pub(crate) has_failed: bool,
}

impl Environment {
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // A process that has just ended cannot be signalled, and need not be.
            let _ = kill_process(pid, signal);
        }
    }
}

/// An environment with its process, which is killed on drop.
pub(crate) struct Process {
    pub(crate) environment: Arc<Environment>,
    child: Child,
    polls: mpsc::UnboundedReceiver<oneshot::Sender<InvocationEvent>>,
    /// The channel for the process's next event, once requested.
    waiting: Option<oneshot::Sender<InvocationEvent>>,
}

static ENVIRONMENTS: AtomicU64 = AtomicU64::new(1);
static REQUESTS: AtomicU64 = AtomicU64::new(1);

impl Process {
    pub(crate) fn start(region: &LambdaRegion, function: &Function) -> io::Result<Self> {
        let id = ENVIRONMENTS.fetch_add(1, Ordering::Relaxed);
        let (sender, polls) = mpsc::unbounded_channel();
        let mut command = Command::new(&function.binary);
        command
            .env_clear()
            .env("AWS_LAMBDA_RUNTIME_API", format!("{}/environments/{id}", region.url))
            .env("AWS_LAMBDA_FUNCTION_NAME", &function.name)
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
            .env("AWS_REGION", "us-east-1")
            .envs(function.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        match &function.log {
            None => command.stdout(Stdio::null()).stderr(Stdio::null()),
            Some(path) => {
                let log = OpenOptions::new().create(true).append(true).open(path)?;
                command.stdout(log.try_clone()?).stderr(log)
            }
        };
        // Registered before the process can send a request.
        let mut environments = lock(&region.environments);
        let child = command.spawn()?;
        let pid = child.id().unwrap_or_default();
        let current = Mutex::default();
        let environment = Arc::new(Environment { pid, polls: sender, current });
        environments.retain(|_, other| other.strong_count() > 0);
        environments.insert(id, Arc::downgrade(&environment));
        drop(environments);
        Ok(Self { environment, child, polls, waiting: None })
    }

    /// Returns true if the process can take another invocation.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Runs one invocation, from thaw to freeze.
    pub(crate) async fn run(
        &mut self,
        region: &LambdaRegion,
        function: &Function,
        work: InvocationWork,
    ) -> InvocationOutcome {
        self.environment.signal(Signal::CONT);
        let Some(waiting) = self.wait_for_poll().await else {
            self.environment.signal(Signal::KILL);
            return InvocationOutcome::Died;
        };
        let started_ms = SystemClock.now_ms();
        let event = InvocationEvent {
            request: format!("request-{}", REQUESTS.fetch_add(1, Ordering::Relaxed)),
            deadline_ms: started_ms.saturating_add(to_millis(function.timeout)),
            function: function.name.clone(),
            payload: work.payload.clone(),
            tenant: work.tenant,
        };
        let current = CurrentInvocation {
            request: event.request.clone(),
            reply: work.reply,
            has_failed: false,
        };
        *lock(&self.environment.current) = Some(current);
        let number = region.record_start(Invocation {
            function: function.name.clone(),
            pid: self.environment.pid,
            payload: serde_json::from_slice(&work.payload).unwrap_or_default(),
            started_ms,
            outcome: None,
        });
        // If sending fails, the process has ended, which is detected below.
        let _ = waiting.send(event);
        let outcome = self.wait_for_outcome(function.timeout).await;
        *lock(&self.environment.current) = None;
        region.record_end(number, outcome);
        if outcome == InvocationOutcome::TimedOut {
            self.environment.signal(Signal::KILL);
        } else {
            self.environment.signal(Signal::STOP);
        }
        outcome
    }

    /// Waits for the process's next request for an event; `None` if the process ends or exceeds the limit.
    async fn wait_for_poll(&mut self) -> Option<oneshot::Sender<InvocationEvent>> {
        if let Some(waiting) = self.waiting.take() {
            return Some(waiting);
        }
        tokio::select! {
            poll = self.polls.recv() => poll,
            _ = self.child.wait() => None,
            () = SystemClock.sleep(INIT_LIMIT) => None,
        }
    }

    /// Waits for the end of an invocation: the process's request for the next event.
    async fn wait_for_outcome(&mut self, timeout: Duration) -> InvocationOutcome {
        tokio::select! {
            poll = self.polls.recv() => {
                self.waiting = poll;
                match lock(&self.environment.current).as_ref() {
                    Some(current) if current.has_failed => InvocationOutcome::Failed,
                    // The process asked again without a response.
                    Some(current) if current.reply.is_some() => InvocationOutcome::Failed,
                    Some(_) | None => InvocationOutcome::Responded,
                }
            }
            _ = self.child.wait() => InvocationOutcome::Died,
            () = SystemClock.sleep(timeout) => InvocationOutcome::TimedOut,
        }
    }
}
