//! Points at which a process may die.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Counts the points that a scenario passes, and kills it at one of them.
#[derive(Debug, Clone, Default)]
pub struct Points {
    state: Arc<Mutex<Passed>>,
    killed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Passed {
    names: Vec<String>,
    kill_at: Option<usize>,
}

impl Points {
    /// Points that are only counted.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Points the `nth` of which (from 0) kills.
    #[must_use]
    pub fn killing_at(nth: usize) -> Self {
        let points = Self::default();
        points.passed().kill_at = Some(nth);
        points
    }

    /// Passes a point. Whoever is killed here never goes on.
    pub async fn pass(&self, name: impl Into<String>) {
        if self.reach(name) {
            std::future::pending::<()>().await;
        }
    }

    /// Reaches a point and says whether it kills; the caller must do nothing more then.
    pub fn reach(&self, name: impl Into<String>) -> bool {
        let mut passed = self.passed();
        let kills = passed.kill_at == Some(passed.names.len());
        passed.names.push(name.into());
        drop(passed);
        if kills {
            self.killed.notify_one();
        }
        kills
    }

    /// Returns when somebody was killed.
    pub async fn killed(&self) {
        self.killed.notified().await;
    }

    /// The names of the points that were passed, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.passed().names.clone()
    }

    fn passed(&self) -> MutexGuard<'_, Passed> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
