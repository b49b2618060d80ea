//! Estimated and measured costs of a driver's calls.

use std::sync::Arc;

use djinn_core::input::Input;

use super::background::{BackgroundWork, DriverEvent};
use super::driven_run::DrivenRun;
use crate::account::BudgetAccount;
use crate::estimates::Samples;
use crate::port::UserKey;
use crate::world::Ports;

/// The account for paying calls, and samples for later estimates.
pub(super) struct RunCosts {
    account: Arc<BudgetAccount>,
    samples: Samples,
}

impl RunCosts {
    /// Creates the costs of a driver under the lease of this epoch.
    pub(super) fn new<P: Ports>(run: &DrivenRun<P>, epoch: u64) -> Self {
        let limits = run.settings().user;
        let key = run.key().clone();
        let spec = run.state().spec();
        let account = Arc::new(BudgetAccount::new(limits, key, spec, epoch));
        Self { account, samples: Samples::default() }
    }

    pub(super) fn account(&self) -> &Arc<BudgetAccount> {
        &self.account
    }

    /// Adds the measured costs of performed calls.
    pub(super) fn add_samples<P: Ports>(&mut self, run: &DrivenRun<P>, inputs: &[Input]) {
        self.samples.add_samples(run.state(), inputs);
    }

    /// Settles the account beside the loop. The planner's next call may be far away, and its tasks may need
    /// the unused part of the hold.
    pub(super) fn settle_in_background<P: Ports>(
        &self,
        run: &DrivenRun<P>,
        background: &mut BackgroundWork,
    ) {
        if self.account.claim_settlement() {
            let ports = run.ports().clone();
            let account = Arc::clone(&self.account);
            background.spawn_background(async move {
                account.settle_all(&ports).await;
                DriverEvent::BackgroundDone
            });
        }
    }

    /// Settles all open reservations.
    pub(super) async fn settle_all<P: Ports>(&self, run: &DrivenRun<P>) {
        self.account.settle_all(run.ports()).await;
    }

    /// Settles all open reservations and stores the samples, when the driver stops.
    pub(super) async fn close<P: Ports>(&mut self, run: &DrivenRun<P>) {
        self.settle_all(run).await;
        let user = UserKey::of(run.state().spec());
        Box::pin(std::mem::take(&mut self.samples).store_samples(run.ports(), &user)).await;
    }
}
