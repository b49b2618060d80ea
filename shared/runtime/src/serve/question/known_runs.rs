//! The runs a question may belong to, each read once.

use djinn_core::error_code::{ErrorCode, Failure};

use super::message_class::{ActiveRun, SessionRuns};
use crate::port::RunKey;
use crate::port::journal::SessionView;
use crate::question::UserQuestion;
use crate::serve::LoadedRun;
use crate::world::Ports;

/// Runs as read before the question created one.
#[derive(Debug, Default)]
pub(super) struct KnownRuns(Vec<(RunKey, Option<LoadedRun>)>);

impl KnownRuns {
    /// Creates the set with a run already read by the caller.
    pub(super) fn new(first_run: Option<LoadedRun>) -> Self {
        Self(first_run.into_iter().map(|run| (run.key().clone(), Some(run))).collect())
    }

    /// Reads the runs that decide about a message. A new question in an idle session needs none: creating its
    /// run finds a repeat.
    ///
    /// # Errors
    /// Returns `store_unavailable` if the store cannot be reached.
    pub(super) async fn describe<P: Ports>(
        &mut self,
        ports: &P,
        question: &UserQuestion,
        view: &SessionView,
    ) -> Result<SessionRuns, Failure> {
        if view.active.is_none() && !question.is_continue() {
            return Ok(SessionRuns::default());
        }
        let own = question.run_key();
        if self.find(ports, &own).await?.is_some() {
            return Ok(SessionRuns { is_repeat: true, active: None });
        }
        let Some(active) = &view.active else { return Ok(SessionRuns::default()) };
        let key = RunKey::new(own.tenant, active.clone());
        let active = self.find(ports, &key).await?.map(|run| ActiveRun {
            is_own: run.meta().user == question.spec.user,
            has_ended: run.meta().status.has_ended(),
        });
        Ok(SessionRuns { is_repeat: false, active })
    }

    /// Returns a run, if existing.
    ///
    /// # Errors
    /// Returns `store_unavailable` if the store cannot be reached.
    pub(super) async fn find<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
    ) -> Result<Option<&LoadedRun>, Failure> {
        let place = match self.0.iter().position(|(run_key, _)| run_key == key) {
            Some(place) => place,
            None => {
                self.0.push((key.clone(), LoadedRun::find(ports, key).await?));
                self.0.len() - 1
            }
        };
        Ok(self.0.get(place).and_then(|(_, run)| run.as_ref()))
    }

    /// Returns a run that is known to have ended. Reads again if the earlier read was before the end.
    ///
    /// # Errors
    /// Returns `store_unavailable` if the store cannot be reached.
    pub(super) async fn find_ended<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
    ) -> Result<Option<&LoadedRun>, Failure> {
        let has_ended = |run: &LoadedRun| run.meta().status.has_ended();
        self.0.retain(|(run_key, run)| run_key != key || run.as_ref().is_some_and(has_ended));
        self.find(ports, key).await
    }

    /// Takes an existing run out of the set.
    ///
    /// # Errors
    /// Returns `run_not_found`, or `store_unavailable`.
    pub(super) async fn take<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
    ) -> Result<LoadedRun, Failure> {
        self.find(ports, key).await?;
        let place = self.0.iter().position(|(run_key, _)| run_key == key);
        let run = place.and_then(|place| self.0.swap_remove(place).1);
        run.ok_or_else(|| ErrorCode::RunNotFound.into())
    }
}
