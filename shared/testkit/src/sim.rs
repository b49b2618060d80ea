//! Lambda in memory: invocations with faults, kicks, alarms, and a client that retries. Time jumps.

mod alarms;
mod client;
mod crowd;
mod endure;
mod host;
mod person;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use client::Visit;
pub use client::{FrameLog, ProjectionFactory, joyagent_ui, native};
pub use crowd::{Crowd, CrowdResponse};
use djinn_core::entry::Entry;
use djinn_core::human::{HumanRequest, HumanResponse};
use djinn_core::id::{RequestId, SessionId, TenantId, UserId};
use djinn_core::input::RunSpec;
use djinn_core::journal::Journal;
use djinn_core::settings::RunSettings;
use djinn_runtime::deadline::Deadline;
use djinn_runtime::history::read_child_entries;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::alarm::Invoker as _;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::outside::DisabledOutside;
use djinn_runtime::port::sandbox::DisabledSandbox;
use djinn_runtime::port::table::NoTables;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::prompt::Prompts;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::rate_limits::RateLimits;
use djinn_runtime::serve::{LoadedRun, ServeContext, continue_run, request_stop, start_background};
use djinn_runtime::settings::Settings;
use djinn_runtime::shutdown::Shutdown;
use djinn_runtime::world::World;
pub use host::{HostService, ServiceFault, SimHost};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use crate::clock::PausedClock;
use crate::ledger::tools_of_process;
use crate::memory::{MemoryStore, StoreFault};
use crate::point::{Fate, Points};
use crate::story::StoryModel;

/// The world of a simulation.
pub type SimWorld = World<MemoryStore, StoryModel, SimHost, SimHost, PausedClock>;

/// A function that answers a request; called on each visit while the request is pending.
pub type Person = fn(&HumanRequest) -> HumanResponse;

/// The interval of alarms, as on AWS.
pub const ALARM_EVERY: Duration = Duration::from_secs(120);

/// A simulation that runs invocations in memory, and kills or suspends them at points.
pub struct Sim {
    /// The world for driving runs.
    pub ports: SimWorld,
    /// The points at which processes may die.
    pub points: Points,
    /// The duration of one invocation; `None` without a limit.
    pub invocation: Option<Duration>,
    /// The number of deliveries of each kick.
    pub kick_copies: usize,
    /// The time of a stop in Unix milliseconds, and the number of stop requests.
    pub stop_at: Option<(i64, usize)>,
    /// The responses of a person; `None` for no responses.
    pub person: Option<Person>,
    /// The people of [`Self::endure_chaos`]; `None` for no people.
    pub crowd: Option<Crowd>,
    /// True if all processes are on one machine: killing one kills all.
    pub one_machine: bool,
    /// True if clients do not wait for the answer: no invocation has a client.
    pub posts_only: bool,
    /// The protocol of clients; by default our own.
    pub projection: ProjectionFactory,
    /// The maximum bytes waiting for a client; by default unlimited.
    pub buffer_size: usize,
    /// The frames sent to each client, with their times, in the order of the clients' requests.
    pub clients: Vec<FrameLog>,
    host: SimHost,
    kicks: mpsc::UnboundedReceiver<(RunKey, u32)>,
    invocations: JoinSet<()>,
    processes: BTreeMap<u64, AbortHandle>,
    nth: u64,
}

impl Sim {
    /// Creates a simulation of `model` and `tools`. Every store write, effect, kick and alarm is a point.
    #[must_use]
    pub fn new(model: StoryModel, tools: Toolbox, points: Points) -> Self {
        let (sender, kicks) = mpsc::unbounded_channel();
        let host = SimHost::new(sender, points.clone());
        let store = MemoryStore::new();
        let ports = World {
            store: Arc::new(store.clone()),
            model: Arc::new(model),
            alarms: Arc::new(host.clone()),
            invoker: Arc::new(host.clone()),
            clock: Arc::new(PausedClock::new()),
            tools,
            prompts: Arc::new(Prompts::default()),
            content: Arc::default(),
            sandbox: Arc::new(DisabledSandbox("the simulation has no sandbox".to_owned())),
            outside: Arc::new(DisabledOutside(String::new())),
            tables: Arc::new(NoTables),
            settings: Arc::new(Settings::default()),
            variables: Arc::new(|_| None),
            shutdown: Shutdown::default(),
            rate_limits: RateLimits::default(),
            configuration: None,
        };
        let sim = Self {
            ports,
            points,
            invocation: None,
            kick_copies: 1,
            stop_at: None,
            person: None,
            crowd: None,
            one_machine: false,
            posts_only: false,
            projection: native,
            buffer_size: usize::MAX,
            clients: Vec::new(),
            host,
            kicks,
            invocations: JoinSet::new(),
            processes: BTreeMap::new(),
            nth: 0,
        };
        sim.kill_at_store_writes(&store);
        sim
    }

    /// Kills before a write, or after it: the reply is then never used.
    fn kill_at_store_writes(&self, store: &MemoryStore) {
        let points = self.points.clone();
        store.before_each(move |op| {
            let points = points.of(op.process);
            async move {
                points.wait_until_alive().await;
                if !op.kind.is_write() {
                    return StoreFault::None;
                }
                points.pass(format!("before {op}")).await;
                match points.reach(format!("after {op}")) {
                    Fate::Passes => StoreFault::None,
                    Fate::Dies => StoreFault::Silent,
                    Fate::Freezes(lasts) => StoreFault::Late(lasts),
                }
            }
        });
    }

    /// Creates the question of most simulations.
    #[must_use]
    pub fn make_question(&self, settings: RunSettings) -> UserQuestion {
        #[allow(clippy::unwrap_used, reason = "constants, in a test tool")]
        let spec = RunSpec::new(
            TenantId::new("t").unwrap(),
            UserId::new("u").unwrap(),
            SessionId::new("s").unwrap(),
            RequestId::new("r").unwrap(),
            "What is to be done?".to_owned(),
            settings,
        );
        UserQuestion {
            spec,
            client_prompt: String::new(),
            history: None,
            choice: serde_json::Value::Null,
            attachments: Vec::new(),
            parsed_response: None,
            capability: djinn_runtime::serve::ResponseCapability::Everything,
        }
    }

    /// Sends a question, and runs until the run has ended and made its deliveries. A client whose invocation
    /// died retries after 20 s. A client that does not wait for the answer retries after more than one alarm.
    /// Returns the entries seen by a viewer.
    ///
    /// # Errors
    /// Returns the failure sent to a client, or a message if the run does not end within six hours.
    pub async fn run_to_end(&mut self, question: &UserQuestion) -> Result<Vec<Entry>, String> {
        let key = question.run_key();
        self.send_question(question.clone());
        let clock = Arc::clone(&self.ports.clock);
        let deadline_ms = clock.now_ms() + 6 * 60 * 60 * 1000;
        let points = self.points.clone();
        let mut alarm = tokio::time::interval(ALARM_EVERY);
        alarm.tick().await;
        let again = Duration::from_secs(if self.posts_only { 150 } else { 20 });
        let mut again = tokio::time::interval(again);
        again.tick().await;
        let mut looks = tokio::time::interval(Duration::from_secs(7));
        looks.tick().await;
        while clock.now_ms() < deadline_ms {
            if let Some((_, copies)) = self.stop_at.take_if(|(at_ms, _)| *at_ms <= clock.now_ms()) {
                for _ in 0..copies {
                    // A rejected stop is not retried.
                    let Ok(mut run) = LoadedRun::load(&self.ports, &key).await else { continue };
                    let _ = request_stop(&self.ports, &mut run, question.spec.user.clone()).await;
                }
            }
            let stop_at_ms = self.stop_at.map_or(i64::MAX, |(at_ms, _)| at_ms);
            tokio::select! {
                biased;
                process = points.next_killed() => self.kill_process(process),
                () = clock.sleep_until(stop_at_ms) => {}
                Some((key, hops)) = self.kicks.recv() => {
                    for _ in 0..self.kick_copies {
                        self.invoke_run(key.clone(), hops, Duration::ZERO);
                    }
                }
                _ = alarm.tick() => self.ring_alarms(),
                _ = looks.tick(), if self.person.is_some() => self.answer_all(&key).await,
                _ = again.tick() => {
                    if self.has_delivered(&key).await {
                        return self.read_history(&key).await;
                    }
                    self.send_question(question.clone());
                }
                Some(_) = self.invocations.join_next() => {}
            }
        }
        Err(format!("not ended after six hours; points: {:?}", self.points.point_names()))
    }

    /// Posts a question, and lets only kicks continue the run: without alarms and retries. Returns after the
    /// end of the run and of all invocations.
    ///
    /// # Errors
    /// Returns a message if this takes longer than `within`.
    pub async fn run_alone(
        &mut self,
        question: &UserQuestion,
        within: Duration,
    ) -> Result<Vec<Entry>, String> {
        let key = question.run_key();
        let gives_up = tokio::time::Instant::now() + within;
        self.post_question(question.clone());
        loop {
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(gives_up) => {
                    return Err(format!("not ended; points: {:?}", self.points.point_names()));
                }
                Some((key, hops)) = self.kicks.recv() => self.invoke_run(key, hops, Duration::ZERO),
                Some(_) = self.invocations.join_next() => {}
            }
            if self.invocations.is_empty()
                && self.kicks.is_empty()
                && self.has_delivered(&key).await
            {
                return self.read_history(&key).await;
            }
        }
    }

    /// Lets time pass, with kicks but without alarms.
    pub async fn pass_time(&mut self, lasts: Duration) {
        let until = tokio::time::Instant::now() + lasts;
        loop {
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(until) => return,
                Some((key, hops)) = self.kicks.recv() => self.invoke_run(key, hops, Duration::ZERO),
                Some(_) = self.invocations.join_next() => {}
            }
        }
    }

    /// Returns all entries seen by a viewer of the run, in order.
    ///
    /// # Errors
    /// Returns a message if the journal cannot be read.
    pub async fn read_history(&self, key: &RunKey) -> Result<Vec<Entry>, String> {
        let store = MemoryStore::clone(&self.ports.store);
        store.without_faults();
        let records = store.read_from(key, 0).await.map_err(|error| error.to_string())?;
        let mut entries = Vec::new();
        for record in records {
            let tasks = read_child_entries(&self.ports, key, &record).await;
            entries.extend(tasks.map_err(|error| error.to_string())?);
            entries.extend(record.entries);
        }
        Ok(entries)
    }

    /// Returns the number of running invocations.
    #[must_use]
    pub fn alive_count(&self) -> usize {
        self.invocations.len()
    }

    fn send_question(&mut self, question: UserQuestion) {
        if self.posts_only { self.post_question(question) } else { self.ask_question(question) }
    }

    /// Sends a question from a client, in a new invocation.
    pub fn ask_question(&mut self, question: UserQuestion) {
        let frames = FrameLog::default();
        self.clients.push(Arc::clone(&frames));
        self.spawn_visit(Visit { question, cursor: None, stay: None, frames, presence: None });
    }

    /// Posts a question from a client that does not wait for the answer: the executor drives the run.
    pub fn post_question(&mut self, question: UserQuestion) {
        self.post_from(question, None);
    }

    fn post_from(&mut self, question: UserQuestion, there: Option<oneshot::Sender<()>>) {
        let (process, ports, serving) = self.new_invocation(question.run_key(), 0);
        self.spawn_process(process, async move {
            let _there = there;
            if start_background(&ports, question).await.is_ok() {
                // If the kick fails, the client's next request repeats it.
                let _ = ports.invoker.kick_run(&serving.key, 0).await;
            }
        });
    }

    /// Waits until a process is killed, and kills all others with it.
    pub async fn wait_until_killed(&mut self) {
        self.points.next_killed().await;
        self.points.kill_processes(self.processes.keys().copied());
        self.invocations.shutdown().await;
    }

    fn invoke_run(&mut self, key: RunKey, hops: u32, after: Duration) {
        let (process, ports, serving) = self.new_invocation(key, hops);
        self.spawn_process(process, async move {
            tokio::time::sleep(after).await;
            let _ = continue_run(&ports, serving).await;
        });
    }

    /// Returns the number of invocations so far.
    #[must_use]
    pub fn invocation_count(&self) -> u64 {
        self.nth
    }

    fn spawn_process(&mut self, process: u64, work: impl Future<Output = ()> + Send + 'static) {
        let abort = self.invocations.spawn(work);
        self.processes.insert(process, abort);
    }

    fn kill_process(&mut self, process: u64) {
        if self.one_machine {
            self.points.kill_processes(self.processes.keys().copied());
            self.invocations.abort_all();
        } else if let Some(invocation) = self.processes.get(&process) {
            invocation.abort();
        }
    }

    /// Creates a process with its view of the world, and the context of its invocation.
    fn new_invocation(&mut self, key: RunKey, hops: u32) -> (u64, SimWorld, ServeContext) {
        self.nth += 1;
        let process = self.nth;
        let points = self.points.of(self.nth);
        let world = self.ports.clone();
        let host = Arc::new(self.host.of(process));
        let tools = tools_of_process(&world.tools, &points);
        let ports = World {
            store: Arc::new(world.store.of(process)),
            model: Arc::new(world.model.of(process)),
            alarms: Arc::clone(&host),
            invoker: host,
            clock: Arc::new(world.clock.of(points)),
            tools,
            ..world
        };
        let now_ms = ports.clock.now_ms();
        let margin = ports.settings.hand_over_margin;
        let deadline = self.invocation.map_or_else(Deadline::none, |lasts| {
            let lasts_ms = i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX);
            Deadline::from_invocation(now_ms + lasts_ms, now_ms, margin)
        });
        let holder = format!("sim.{process}");
        (process, ports, ServeContext { key, holder, deadline, hops })
    }

    /// Returns true if a run has ended and has no alarm. A process that dies after removing the alarm may
    /// leave the removal unrecorded; the removal still counts.
    async fn has_delivered(&self, key: &RunKey) -> bool {
        let Ok(records) = self.ports.store.read_from(key, 0).await else { return false };
        let journal = Journal::fold(&records);
        journal.is_ok_and(|j| j.run().status().has_ended()) && !self.has_alarm()
    }
}
