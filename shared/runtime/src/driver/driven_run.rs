//! The run that is driven: what each unit of its driver is given to work with.

use djinn_core::effect::EffectId;
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

/// A run, its journal, and the world it is driven in.
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

    /// Whether it is a child of another run.
    pub(super) fn is_task(&self) -> bool {
        !self.key.is_root()
    }

    /// The run as its journal has it.
    pub(super) fn state(&self) -> &Run {
        self.writer.journal().run()
    }

    /// The journal as it was last written.
    pub(super) fn journal(&self) -> &Journal {
        self.writer.journal()
    }

    /// The session that the run belongs to.
    pub(super) fn session_key(&self) -> SessionKey {
        SessionKey::of(self.state().spec())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().status().has_ended()
    }

    /// Whether an effect is owed still.
    pub(super) fn is_owed(&self, id: &EffectId) -> bool {
        self.state().due().iter().any(|effect| effect.id() == *id)
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.ports.clock().now_ms()
    }

    /// The moment that is so long from now, Unix milliseconds.
    pub(super) fn after_ms(&self, after: std::time::Duration) -> i64 {
        self.now_ms().saturating_add(to_millis(after))
    }

    /// The place of the first entry of the records that joined the journal last.
    pub(super) fn first_entry_of(&self, records: &[Record]) -> u64 {
        let joined: u64 = records.iter().map(|record| record.entries.len() as u64).sum();
        self.journal().entry_count().saturating_sub(joined)
    }

    /// Tells the run these inputs. `attached` is whether a client can be sent what comes of it.
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

    /// Takes over what others wrote.
    pub(super) async fn catch_up(&mut self, lease: &Lease, account: &BudgetAccount) -> WriteReport {
        let Self { ports, key, writer } = self;
        let context = WriteContext { ports, key, lease, account, attached: false };
        writer.catch_up(&context).await
    }

    /// How a driver ends that can record no more.
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

    /// The run has failed: what it has to be told next cannot be kept, whoever drives it.
    async fn give_up(&self) {
        tracing::error!(run_id = %self.key.run, "abandoned: its next record is too large");
        if let Err(error) = abandon_run(&self.ports, &self.key).await {
            tracing::warn!(%error, "the run is abandoned by its next driver");
        }
    }

    /// Has a fresh invocation go on with the run.
    pub(super) async fn kick_successor(&self, hops: u32) {
        if let Err(error) = self.ports.invoker().kick_run(&self.key, hops).await {
            // The alarm brings the run back, only later.
            tracing::warn!(%error, "no successor invoked");
        }
    }
}
