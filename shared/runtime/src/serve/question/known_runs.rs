//! The runs that a question may belong to, each read once.

use djinn_core::error_code::{ErrorCode, Failure};

use crate::port::RunKey;
use crate::serve::LoadedRun;
use crate::world::Ports;

/// Runs as they were before the question began one.
#[derive(Debug, Default)]
pub(super) struct KnownRuns(Vec<(RunKey, Option<LoadedRun>)>);

impl KnownRuns {
    /// What the caller has read already.
    pub(super) fn new(known: Option<LoadedRun>) -> Self {
        Self(known.into_iter().map(|run| (run.key().clone(), Some(run))).collect())
    }

    /// A run, if it exists.
    ///
    /// # Errors
    /// `store_unavailable`.
    pub(super) async fn find<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
    ) -> Result<Option<&LoadedRun>, Failure> {
        let place = match self.0.iter().position(|(known, _)| known == key) {
            Some(place) => place,
            None => {
                self.0.push((key.clone(), LoadedRun::find(ports, key).await?));
                self.0.len() - 1
            }
        };
        Ok(self.0.get(place).and_then(|(_, run)| run.as_ref()))
    }

    /// A run that has ended, as others say: what was read before that is read again.
    ///
    /// # Errors
    /// `store_unavailable`.
    pub(super) async fn find_ended<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
    ) -> Result<Option<&LoadedRun>, Failure> {
        let has_ended = |run: &LoadedRun| run.meta().status.has_ended();
        self.0.retain(|(known, run)| known != key || run.as_ref().is_some_and(has_ended));
        self.find(ports, key).await
    }

    /// A run that exists, for whoever goes on with it.
    ///
    /// # Errors
    /// `run_not_found`, or `store_unavailable`.
    pub(super) async fn take<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
    ) -> Result<LoadedRun, Failure> {
        self.find(ports, key).await?;
        let place = self.0.iter().position(|(known, _)| known == key);
        let run = place.and_then(|place| self.0.swap_remove(place).1);
        run.ok_or_else(|| ErrorCode::RunNotFound.into())
    }
}
