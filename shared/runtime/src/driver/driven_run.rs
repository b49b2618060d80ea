//! The driven run, as passed to each unit of the driver.

use djinn_core::effect::{Effect, EffectId};
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};
use djinn_core::run::Run;

use super::drive::DriveEnd;
use super::writer::{JournalWriter, WriteContext, WriteError, WriteReport};
use crate::account::BudgetAccount;
use crate::client::ClientStream;
use crate::ending::abandon_run;
use crate::port::alarm::Invoker;
use crate::port::clock::Clock;
use crate::port::journal::Lease;
use crate::port::{RunKey, SessionKey};
use crate::settings::{Settings, to_millis};
use crate::world::Ports;

/// A run, its journal, and the ports for driving it.
pub(super) struct DrivenRun<P: Ports> {
    ports: P,
    key: RunKey,
    writer: JournalWriter,
}

impl<P: Ports> DrivenRun<P> {
    pub(super) fn new(ports: &P, key: RunKey, journal: Journal) -> Self {
        Self { ports: ports.clone(), key, writer: JournalWriter::new(journal) }
    }

    pub(super) fn ports(&self) -> &P {
        &self.ports
    }

    pub(super) fn settings(&self) -> &Settings {
        self.ports.settings()
    }

    pub(super) fn key(&self) -> &RunKey {
        &self.key
    }

    /// Returns true if the run is a child of another run.
    pub(super) fn is_task(&self) -> bool {
        !self.key.is_root()
    }

    /// Returns the run as of its newest record.
    pub(super) fn state(&self) -> &Run {
        self.writer.journal().run()
    }

    /// Returns the effects due as of the newest record.
    pub(super) fn due(&self) -> &[Effect] {
        self.writer.due()
    }

    /// Returns the time of the first repeated call that waits for a provider, Unix milliseconds.
    pub(super) fn next_retry_ms(&self) -> Option<i64> {
        Effect::next_retry_ms(self.due())
    }

    /// Returns the journal as last written.
    pub(super) fn journal(&self) -> &Journal {
        self.writer.journal()
    }

    /// Returns the key of the run's session.
    pub(super) fn session_key(&self) -> SessionKey {
        SessionKey::of(self.state().spec())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().status().has_ended()
    }

    /// Returns true if the run still owes this effect.
    pub(super) fn is_owed(&self, id: &EffectId) -> bool {
        self.due().iter().any(|effect| effect.id() == *id)
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.ports.clock().now_ms()
    }

    /// Returns the time `after` from now, in Unix milliseconds.
    pub(super) fn after_ms(&self, after: std::time::Duration) -> i64 {
        self.now_ms().saturating_add(to_millis(after))
    }

    /// Returns the index of the first entry of `records`, which were the last to join the journal.
    pub(super) fn first_entry_of(&self, records: &[Record]) -> u64 {
        let entry_count: u64 = records.iter().map(|record| record.entries.len() as u64).sum();
        self.journal().entry_count().saturating_sub(entry_count)
    }

    /// Applies inputs to the run and records the result. `attached`: true if a client receives the entries.
    pub(super) async fn record_inputs(
        &mut self,
        inputs: Vec<Input>,
        lease: &Lease,
        account: &BudgetAccount,
        attached: bool,
    ) -> WriteReport {
        let Self { ports, key, writer } = self;
        let context = WriteContext { ports, key, lease, account, attached };
        writer.record_inputs(&context, inputs).await
    }

    /// Reads records written by other drivers.
    pub(super) async fn catch_up(&mut self, lease: &Lease, account: &BudgetAccount) -> WriteReport {
        let Self { ports, key, writer } = self;
        let context = WriteContext { ports, key, lease, account, attached: false };
        writer.catch_up(&context).await
    }

    /// Returns the end of a drive after a failed write.
    pub(super) async fn end_after(
        &self,
        error: WriteError,
        client: Option<ClientStream>,
    ) -> DriveEnd {
        match error {
            WriteError::Superseded => DriveEnd::Superseded(client),
            WriteError::StoreUnavailable => DriveEnd::StoreUnavailable(client),
            WriteError::TooLarge => {
                self.give_up().await;
                DriveEnd::StoreUnavailable(client)
            }
        }
    }

    /// Abandons the run: the next record is too large for any driver.
    async fn give_up(&self) {
        tracing::error!(run_id = %self.key.run, "abandoned: its next record is too large");
        if let Err(error) = abandon_run(&self.ports, &self.key).await {
            tracing::warn!(%error, "the run is abandoned by its next driver");
        }
    }

    /// Kicks a fresh invocation to continue the run.
    pub(super) async fn kick_successor(&self, hops: u32) {
        if let Err(error) = self.ports.invoker().kick_run(&self.key, hops).await {
            // The alarm brings the run back, only later.
            tracing::warn!(%error, "no successor invoked");
        }
    }
}
