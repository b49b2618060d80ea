//! Points at which a process may die or freeze.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

tokio::task_local! {
    /// The process that a tool runs in: tools are shared, and are not told.
    static PROCESS: u64;
}

/// What becomes of a process at a point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fate {
    /// The process goes on as if there were no point.
    #[default]
    Passes,
    /// It dies: nothing of it goes on.
    Dies,
    /// It stands still for so long and goes on as if nothing had happened.
    Freezes(Duration),
}

/// A point that was passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedPoint {
    /// What happened there: `after s1.1 Append 3`.
    pub name: String,
    /// The process; 0 for whoever is none.
    pub process: u64,
}

/// Counts the points that the processes of a scenario pass, and decides what becomes of them there.
/// A handle speaks for one process.
#[derive(Clone)]
pub struct Points {
    process: u64,
    state: Arc<Mutex<PointState>>,
    kill_notice: Arc<Notify>,
}

type Decide = Box<dyn FnMut(usize, &PassedPoint) -> Fate + Send>;

#[derive(Default)]
struct PointState {
    passed_points: Vec<PassedPoint>,
    log: Vec<String>,
    began: Option<Instant>,
    decide: Option<Decide>,
    dead: BTreeSet<u64>,
    new_kills: VecDeque<u64>,
    frozen: BTreeMap<u64, Instant>,
}

impl Points {
    /// Points that are only counted.
    #[must_use]
    pub fn new() -> Self {
        Self { process: 0, state: Arc::default(), kill_notice: Arc::default() }
    }

    /// Points at which `decide` is asked what becomes of a process; it is told how many points were
    /// passed before.
    #[must_use]
    pub fn with_decision(decide: impl FnMut(usize, &PassedPoint) -> Fate + Send + 'static) -> Self {
        let points = Self::new();
        points.lock_state().decide = Some(Box::new(decide));
        points
    }

    /// Points the `nth` of which (from 0) kills.
    #[must_use]
    pub fn killing_at(nth: usize) -> Self {
        Self::with_decision(move |at, _| if at == nth { Fate::Dies } else { Fate::Passes })
    }

    /// The same points, for another process.
    #[must_use]
    pub fn of(&self, process: u64) -> Self {
        Self { process, ..self.clone() }
    }

    /// Passes a point. Whoever is killed here never goes on.
    pub async fn pass(&self, name: impl Into<String>) {
        self.wait_until_alive().await;
        self.reach(name);
        self.wait_until_alive().await;
    }

    /// Reaches a point and says what becomes of the process; if it dies, nothing more must be done.
    pub fn reach(&self, name: impl Into<String>) -> Fate {
        let passed = PassedPoint { name: name.into(), process: self.current_process() };
        let mut shared = self.lock_state();
        let nth = shared.passed_points.len();
        let fate = match &mut shared.decide {
            Some(decide) => decide(nth, &passed),
            None => Fate::Passes,
        };
        let process = passed.process;
        shared.log_line(&match fate {
            Fate::Passes => format!("process {process} {}", passed.name),
            Fate::Dies | Fate::Freezes(_) => {
                format!("process {process} {}: it {fate:?}", passed.name)
            }
        });
        shared.passed_points.push(passed);
        match fate {
            Fate::Passes => {}
            Fate::Dies => {
                shared.dead.insert(process);
                shared.new_kills.push_back(process);
                self.kill_notice.notify_one();
            }
            Fate::Freezes(lasts) => {
                shared.frozen.insert(process, Instant::now() + lasts);
            }
        }
        fate
    }

    /// Notes something for whoever has to understand what happened.
    pub fn add_note(&self, what: &str) {
        self.lock_state().log_line(what);
    }

    /// Everything that happened, with its moment.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.lock_state().log.clone()
    }

    /// Returns while the process is alive and not frozen: later if it is frozen, never if it is
    /// dead.
    pub async fn wait_until_alive(&self) {
        let process = self.current_process();
        loop {
            let thaws = {
                let mut shared = self.lock_state();
                let is_dead = shared.dead.contains(&process);
                let frozen = shared.frozen.get(&process).copied();
                match frozen.filter(|thaws| *thaws > Instant::now()) {
                    _ if is_dead => None,
                    Some(thaws) => Some(thaws),
                    None => {
                        shared.frozen.remove(&process);
                        return;
                    }
                }
            };
            match thaws {
                Some(thaws) => tokio::time::sleep_until(thaws).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Returns when a process was killed, and which.
    pub async fn next_killed(&self) -> u64 {
        loop {
            if let Some(process) = self.lock_state().new_kills.pop_front() {
                return process;
            }
            self.kill_notice.notified().await;
        }
    }

    /// Kills processes that passed no point.
    pub fn kill_processes(&self, processes: impl IntoIterator<Item = u64>) {
        self.lock_state().dead.extend(processes);
    }

    /// The points that were passed, in order.
    #[must_use]
    pub fn passed_points(&self) -> Vec<PassedPoint> {
        self.lock_state().passed_points.clone()
    }

    /// The names come in the order in which the points were passed, repeats included.
    #[must_use]
    pub fn point_names(&self) -> Vec<String> {
        self.lock_state().passed_points.iter().map(|passed| passed.name.clone()).collect()
    }

    /// Runs something that does not know its process in this one.
    pub(crate) async fn run_within<T>(&self, work: impl Future<Output = T>) -> T {
        PROCESS.scope(self.process, work).await
    }

    fn current_process(&self) -> u64 {
        PROCESS.try_with(|process| *process).unwrap_or(self.process)
    }

    fn lock_state(&self) -> MutexGuard<'_, PointState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PointState {
    fn log_line(&mut self, what: &str) {
        let now = Instant::now();
        let since = now.duration_since(*self.began.get_or_insert(now));
        self.log.push(format!("{:9.3} s  {what}", since.as_secs_f64()));
    }
}

impl Default for Points {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Points").field("process", &self.process).finish_non_exhaustive()
    }
}
