//! Points at which a process may die or be suspended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

tokio::task_local! {
    /// The process of a running tool: tools are shared between processes and do not know theirs.
    static PROCESS: u64;
}

/// The fate of a process at a point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fate {
    /// The process continues without a fault.
    #[default]
    Passes,
    /// The process dies, with all of its tasks.
    Dies,
    /// The process is suspended for this time, and then continues.
    Freezes(Duration),
}

/// A point that was passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedPoint {
    /// The name of the point: `after s1.1 Append 3`.
    pub name: String,
    /// The process at the point; 0 outside of processes.
    pub process: u64,
}

/// The points passed by the processes of a scenario, with the decision about each. A handle belongs to one
/// process.
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
    /// Creates points without a decision.
    #[must_use]
    pub fn new() -> Self {
        Self { process: 0, state: Arc::default(), kill_notice: Arc::default() }
    }

    /// Creates points with a decision about each. `decide` receives the number of points passed before.
    #[must_use]
    pub fn with_decision(decide: impl FnMut(usize, &PassedPoint) -> Fate + Send + 'static) -> Self {
        let points = Self::new();
        points.lock_state().decide = Some(Box::new(decide));
        points
    }

    /// Creates points that kill the process at the `nth` point, from 0.
    #[must_use]
    pub fn killing_at(nth: usize) -> Self {
        Self::with_decision(move |at, _| if at == nth { Fate::Dies } else { Fate::Passes })
    }

    /// Returns the same points, for another process.
    #[must_use]
    pub fn of(&self, process: u64) -> Self {
        Self { process, ..self.clone() }
    }

    /// Passes a point. Never returns if the process is killed here.
    pub async fn pass(&self, name: impl Into<String>) {
        self.wait_until_alive().await;
        self.reach(name);
        self.wait_until_alive().await;
    }

    /// Reaches a point and returns the fate of the process. After a death no further work must be done.
    pub fn reach(&self, name: impl Into<String>) -> Fate {
        let point = PassedPoint { name: name.into(), process: self.current_process() };
        let mut state = self.lock_state();
        let nth = state.passed_points.len();
        let fate = match &mut state.decide {
            Some(decide) => decide(nth, &point),
            None => Fate::Passes,
        };
        let process = point.process;
        state.log_line(&match fate {
            Fate::Passes => format!("process {process} {}", point.name),
            Fate::Dies | Fate::Freezes(_) => {
                format!("process {process} {}: it {fate:?}", point.name)
            }
        });
        state.passed_points.push(point);
        match fate {
            Fate::Passes => {}
            Fate::Dies => {
                state.dead.insert(process);
                state.new_kills.push_back(process);
                self.kill_notice.notify_one();
            }
            Fate::Freezes(lasts) => {
                state.frozen.insert(process, Instant::now() + lasts);
            }
        }
        fate
    }

    /// Adds a line to the log, for debugging.
    pub fn add_note(&self, what: &str) {
        self.lock_state().log_line(what);
    }

    /// Returns the log with all events and times.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.lock_state().log.clone()
    }

    /// Returns while the process is alive and not suspended. Waits during a suspension, and forever after a
    /// death.
    pub async fn wait_until_alive(&self) {
        let process = self.current_process();
        loop {
            let thaws = {
                let mut state = self.lock_state();
                let is_dead = state.dead.contains(&process);
                let frozen = state.frozen.get(&process).copied();
                match frozen.filter(|thaws| *thaws > Instant::now()) {
                    _ if is_dead => None,
                    Some(thaws) => Some(thaws),
                    None => {
                        state.frozen.remove(&process);
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

    /// Waits for the next killed process.
    pub async fn next_killed(&self) -> u64 {
        loop {
            if let Some(process) = self.lock_state().new_kills.pop_front() {
                return process;
            }
            self.kill_notice.notified().await;
        }
    }

    /// Kills processes regardless of points.
    pub fn kill_processes(&self, processes: impl IntoIterator<Item = u64>) {
        self.lock_state().dead.extend(processes);
    }

    /// Returns the points passed so far, in order.
    #[must_use]
    pub fn passed_points(&self) -> Vec<PassedPoint> {
        self.lock_state().passed_points.clone()
    }

    /// Returns the names of passed points in order, repeats included.
    #[must_use]
    pub fn point_names(&self) -> Vec<String> {
        self.lock_state().passed_points.iter().map(|passed| passed.name.clone()).collect()
    }

    /// Runs a future that does not know its process within this process.
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
