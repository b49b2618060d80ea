//! Lambda and its surroundings in memory: invocations that may die, kicks, alarms, and a client that
//! asks again. Time is paused and jumps.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use djinn_core::code::Failure;
use djinn_core::entry::Entry;
use djinn_core::id::{RequestId, SessionId, TenantId, UserId};
use djinn_core::journal::Journal;
use djinn_core::settings::RunSettings;
use djinn_core::wire::Connection;
use djinn_core::wire::link::Links;
use djinn_core::wire::native::Native;
use djinn_runtime::client::ClientStream;
use djinn_runtime::deadline::Deadline;
use djinn_runtime::history::task_entries;
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::port::{Ports, RunKey, StoreError, World};
use djinn_runtime::prompt::Prompts;
use djinn_runtime::serve::{Opened, Question, Serving, continue_run, open, replay, serve};
use djinn_runtime::settings::Settings;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::clock::PausedClock;
use crate::memory::{Fault, MemoryStore};
use crate::point::Points;
use crate::story::StoryModel;

/// The world of a simulation.
pub type SimWorld = World<MemoryStore, StoryModel, SimHost, SimHost, PausedClock>;

/// How often an alarm fires, as on AWS.
const ALARM_EVERY: Duration = Duration::from_secs(120);

/// Kicks and alarms, as the simulation's host gets them.
#[derive(Debug, Clone)]
pub struct SimHost {
    kicks: mpsc::UnboundedSender<(RunKey, u32)>,
    alarms: Arc<Mutex<BTreeSet<RunKey>>>,
    removal_takes: Arc<OnceLock<Duration>>,
    points: Points,
}

impl SimHost {
    fn alarms(&self) -> std::sync::MutexGuard<'_, BTreeSet<RunKey>> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Invoker for SimHost {
    async fn kick(&self, key: &RunKey, hops: u32) -> Result<(), StoreError> {
        self.points.pass("before kick").await;
        let sent = self.kicks.send((key.clone(), hops));
        self.points.pass("after kick").await;
        sent.map_err(|_| StoreError::Unavailable("the host is gone".to_owned()))
    }
}

impl Alarms for SimHost {
    async fn set_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        self.points.pass("before alarm is set").await;
        self.alarms().insert(key.clone());
        self.points.pass("after alarm is set").await;
        Ok(())
    }

    async fn remove_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        self.points.pass("before alarm is removed").await;
        tokio::time::sleep(self.removal_takes.get().copied().unwrap_or_default()).await;
        self.alarms().remove(key);
        self.points.pass("after alarm is removed").await;
        Ok(())
    }
}

/// A simulation.
pub struct Sim {
    /// The world its runs are driven in.
    pub ports: SimWorld,
    /// The points at which it may die.
    pub points: Points,
    /// How long one invocation lasts; `None` for ever.
    pub invocation: Option<Duration>,
    /// How often each kick is delivered.
    pub kick_copies: usize,
    /// When somebody stops the run, Unix milliseconds, and how often at that moment.
    pub stop_at: Option<(i64, usize)>,
    /// What clients were sent, each frame with its moment; one list a client, in the order they
    /// asked.
    pub clients: Vec<Frames>,
    host: SimHost,
    kicks: mpsc::UnboundedReceiver<(RunKey, u32)>,
    invocations: JoinSet<()>,
    nth: u64,
}

/// The frames one client was sent, each with the Unix milliseconds at which it came.
pub type Frames = Arc<Mutex<Vec<(i64, String)>>>;

impl Sim {
    /// A simulation of `model` and `tools`. Every store write, effect, kick and alarm is a point.
    #[must_use]
    pub fn new(model: StoryModel, tools: Toolbox, points: Points) -> Self {
        let (sender, kicks) = mpsc::unbounded_channel();
        let (alarms, removal_takes) = (Arc::default(), Arc::default());
        let host = SimHost { kicks: sender, alarms, removal_takes, points: points.clone() };
        let store = MemoryStore::new();
        let ports = World {
            store: Arc::new(store.clone()),
            model: Arc::new(model),
            alarms: Arc::new(host.clone()),
            invoker: Arc::new(host.clone()),
            clock: Arc::new(PausedClock::new()),
            tools,
            prompts: Arc::new(Prompts::default()),
            settings: Arc::new(Settings::default()),
        };
        let sim = Self {
            ports,
            points,
            invocation: None,
            kick_copies: 1,
            stop_at: None,
            clients: Vec::new(),
            host,
            kicks,
            invocations: JoinSet::new(),
            nth: 0,
        };
        sim.kill_at_store_writes(&store);
        sim
    }

    /// Kills before a write, or after it: then its reply is never acted upon.
    fn kill_at_store_writes(&self, store: &MemoryStore) {
        let points = self.points.clone();
        store.before_each(move |op| {
            let points = points.clone();
            async move {
                if !op.kind.is_write() {
                    return Fault::None;
                }
                let name = format!(
                    "{:?} {}",
                    op.kind,
                    op.record.map_or_else(String::new, |n| n.to_string())
                );
                points.pass(format!("before {name}")).await;
                if points.reach(format!("after {name}")) { Fault::ReplyLost } else { Fault::None }
            }
        });
    }

    /// The question of most simulations.
    #[must_use]
    pub fn question(&self, settings: RunSettings) -> Question {
        let id = |text: &str| text.to_owned();
        #[allow(clippy::unwrap_used, reason = "constants, in a test tool")]
        Question {
            tenant: TenantId::new(id("t")).unwrap(),
            user: UserId::new(id("u")).unwrap(),
            session: SessionId::new(id("s")).unwrap(),
            request: RequestId::new(id("r")).unwrap(),
            text: "What is to be done?".to_owned(),
            output_style: None,
            base_prompt: String::new(),
            settings,
        }
    }

    /// Asks, and lets everything happen until the run has ended and delivered what it owed; a client
    /// whose invocation died asks again after 20 s. Returns what every viewer sees.
    ///
    /// # Errors
    /// What a client is told, or a sentence when the run does not end within six hours.
    pub async fn run_to_end(&mut self, question: &Question) -> Result<Vec<Entry>, String> {
        let key = question.run_key();
        self.ask(question.clone());
        let clock = Arc::clone(&self.ports.clock);
        let deadline_ms = clock.now_ms() + 6 * 60 * 60 * 1000;
        let points = self.points.clone();
        let mut alarm = tokio::time::interval(ALARM_EVERY);
        alarm.tick().await;
        let mut again = tokio::time::interval(Duration::from_secs(20));
        again.tick().await;
        while clock.now_ms() < deadline_ms {
            if let Some((at_ms, stop)) = &self.stop_at
                && *at_ms <= clock.now_ms()
            {
                for _ in 0..*stop {
                    let user = question.user.clone();
                    // A stop that is refused is not tried again.
                    let _ = djinn_runtime::serve::stop(&self.ports, &key, user).await;
                }
                self.stop_at = None;
            }
            let stop_at_ms = self.stop_at.map_or(i64::MAX, |(at_ms, _)| at_ms);
            tokio::select! {
                () = clock.sleep_until(stop_at_ms) => {}
                () = points.killed() => self.invocations.abort_all(),
                Some((key, hops)) = self.kicks.recv() => {
                    (0..self.kick_copies).for_each(|_| self.invoke(key.clone(), hops));
                }
                _ = alarm.tick() => {
                    let set: Vec<RunKey> = self.host.alarms().iter().cloned().collect();
                    set.into_iter().for_each(|key| self.invoke(key, 0));
                }
                _ = again.tick() => {
                    if self.has_delivered(&key).await {
                        return self.history(&key).await;
                    }
                    self.ask(question.clone());
                }
                Some(_) = self.invocations.join_next() => {}
            }
        }
        Err(format!("not ended after six hours; points: {:?}", self.points.names()))
    }

    /// Everything that a viewer of a run sees, in order.
    ///
    /// # Errors
    /// Why the journal cannot be read.
    pub async fn history(&self, key: &RunKey) -> Result<Vec<Entry>, String> {
        let store = MemoryStore::clone(&self.ports.store);
        store.without_faults();
        let records = store.read(key, 0).await.map_err(|error| error.to_string())?;
        let mut entries = Vec::new();
        for record in records {
            let tasks = task_entries(&self.ports, key, &record).await;
            entries.extend(tasks.map_err(|error| error.to_string())?);
            entries.extend(record.entries);
        }
        Ok(entries)
    }

    /// Whether nothing brings the run back any more.
    #[must_use]
    pub fn has_alarm(&self) -> bool {
        !self.host.alarms().is_empty()
    }

    /// Lets the removal of an alarm take this long.
    pub fn remove_alarms_within(&self, takes: Duration) {
        // Said twice, the first counts.
        let _ = self.host.removal_takes.set(takes);
    }

    /// A client asks, in an invocation of its own.
    pub fn ask(&mut self, question: Question) {
        let (ports, serving) = (self.ports.clone(), self.serving(question.run_key(), 0));
        let frames = Frames::default();
        self.clients.push(Arc::clone(&frames));
        self.invocations.spawn(async move {
            // A client that is refused says so by asking again.
            let _ = answer(&ports, serving, question, frames).await;
        });
    }

    /// Waits for somebody to be killed, and every invocation with him.
    pub async fn killed(&mut self) {
        self.points.killed().await;
        self.invocations.shutdown().await;
    }

    fn invoke(&mut self, key: RunKey, hops: u32) {
        let (ports, serving) = (self.ports.clone(), self.serving(key, hops));
        self.invocations.spawn(async move {
            let _ = continue_run(&ports, serving).await;
        });
    }

    fn serving(&mut self, key: RunKey, hops: u32) -> Serving {
        self.nth += 1;
        let now_ms = self.ports.clock.now_ms();
        let margin = self.ports.settings.hand_over_margin;
        let deadline = self.invocation.map_or_else(Deadline::none, |lasts| {
            let lasts_ms = i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX);
            Deadline::announced(now_ms + lasts_ms, now_ms, margin)
        });
        Serving { key, holder: format!("sim.{}", self.nth), deadline, hops }
    }

    /// Whether a run has ended and nothing brings it back. A process that died between removing the
    /// alarm and recording that leaves it owed for ever; it has happened nevertheless.
    async fn has_delivered(&self, key: &RunKey) -> bool {
        let Ok(records) = self.ports.store.read(key, 0).await else { return false };
        let journal = Journal::fold(&records);
        journal.is_ok_and(|j| j.run().status().has_ended()) && !self.has_alarm()
    }
}

async fn answer(
    ports: &SimWorld,
    serving: Serving,
    question: Question,
    frames: Frames,
) -> Result<(), Failure> {
    let session = question.session.clone();
    let opened = open(ports, question, &serving.holder).await?;
    let projection = Box::new(Native::new(Links::new("http://sim", session)));
    let connection = Connection::new(serving.key.run.clone(), projection, true);
    let now_ms = ports.clock().now_ms();
    let (mut client, mut body) = ClientStream::open(connection, usize::MAX, now_ms);
    let driving = match opened {
        Opened::New { driving, first, .. } => {
            client.record(&first, &[], now_ms);
            Some(driving)
        }
        Opened::Existing { key, .. } => {
            replay(ports, &key, &mut client, None).await?;
            None
        }
    };
    let read = async {
        while let Some(frame) = body.next_frame().await {
            let at_ms = ports.clock().now_ms();
            frames.lock().unwrap_or_else(PoisonError::into_inner).push((at_ms, frame));
        }
    };
    tokio::join!(serve(ports, serving, client, driving), read);
    Ok(())
}
