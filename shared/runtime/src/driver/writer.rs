//! Appending to the journal: decide, write, and after a conflict, reload and decide again.

use std::sync::OnceLock;

use djinn_core::effect::Effect;
use djinn_core::id::WriteId;
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};

use crate::account::BudgetAccount;
use crate::ending::run_end;
use crate::port::clock::Clock;
use crate::port::journal::{AppendResult, Journals, Lease, RunEnd};
use crate::port::{RunKey, StoreError};
use crate::settings::journal_expiry_s;
use crate::world::Ports;

/// The journal of a driven run.
pub(super) struct JournalWriter {
    journal: Journal,
    /// The due effects of the journal, listed when first needed.
    due: OnceLock<Vec<Effect>>,
    writes: u64,
}

/// The context for writing a record.
pub(super) struct WriteContext<'a, P: Ports> {
    pub(super) ports: &'a P,
    pub(super) key: &'a RunKey,
    pub(super) lease: &'a Lease,
    pub(super) account: &'a BudgetAccount,
    /// True if a client receives the entries.
    pub(super) attached: bool,
}

/// The result of recording inputs.
pub(super) struct WriteReport {
    /// The records added to the journal, in order: after a conflict, other drivers' records first.
    pub(super) records: Vec<Record>,
    /// The reason why the driver must stop, if any.
    pub(super) outcome: Result<(), WriteError>,
}

/// The reason why no further record can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteError {
    /// The journal holds a record of a later driver.
    Superseded,
    /// The store cannot be reached or read.
    StoreUnavailable,
    /// The record is too large for the store, for any driver.
    TooLarge,
}

impl JournalWriter {
    pub(super) fn new(journal: Journal) -> Self {
        Self { journal, due: OnceLock::new(), writes: 0 }
    }

    /// Returns the journal as last written.
    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Returns the due effects of the journal.
    pub(super) fn due(&self) -> &[Effect] {
        self.due.get_or_init(|| self.journal.run().due())
    }

    /// Applies inputs and appends the resulting record. Inputs the run does not wait for leave no record.
    pub(super) async fn record_inputs<P: Ports>(
        &mut self,
        context: &WriteContext<'_, P>,
        inputs: Vec<Input>,
    ) -> WriteReport {
        let mut records = Vec::new();
        let outcome = self.decide_and_append(context, inputs, &mut records).await;
        WriteReport { records, outcome }
    }

    /// Reads records written by other drivers.
    pub(super) async fn catch_up<P: Ports>(
        &mut self,
        context: &WriteContext<'_, P>,
    ) -> WriteReport {
        let mut records = Vec::new();
        let outcome = self.reload_journal(context, &mut records).await;
        WriteReport { records, outcome }
    }

    async fn decide_and_append<P: Ports>(
        &mut self,
        context: &WriteContext<'_, P>,
        inputs: Vec<Input>,
        records: &mut Vec<Record>,
    ) -> Result<(), WriteError> {
        let WriteContext { ports, lease, .. } = context;
        loop {
            let now_ms = ports.clock().now_ms();
            let write = self.next_write_id(lease).ok_or(WriteError::StoreUnavailable)?;
            let decision = self.journal.decide_record(inputs.clone(), lease.epoch, write, now_ms);
            let Some((mut journal, record)) = decision else {
                return Ok(());
            };
            match self.append_record(context, &journal, &record).await? {
                AppendResult::Appended(hash) => {
                    journal.set_head(hash);
                    self.journal = journal;
                    self.due.take();
                    records.push(record);
                    return Ok(());
                }
                AppendResult::Conflict => self.reload_journal(context, records).await?,
            }
        }
    }

    /// Appends a record and, for the last one, frees the session in the same write. `after` is the journal
    /// with the record.
    async fn append_record<P: Ports>(
        &self,
        context: &WriteContext<'_, P>,
        after: &Journal,
        record: &Record,
    ) -> Result<AppendResult, WriteError> {
        let WriteContext { ports, key, account, .. } = context;
        let run = after.run();
        let expires_at_s = journal_expiry_s(ports.settings(), run);
        let ends = run.status().has_ended() && !self.journal.run().status().has_ended();
        // A run's children are many and end together: their holds are settled when each driver stops.
        let settles = key.is_root();
        let settlement = || if settles { account.final_settlement() } else { Vec::new() };
        let is_counted = ports.settings().user.runs_at_once.is_some();
        let end = ends.then(|| RunEnd {
            day_changes: settlement(),
            is_counted,
            end_shown: context.attached,
            ..run_end(run, record)
        });
        let store = ports.store();
        let retries = ports.settings().store_retries;
        let mut failures = 0;
        loop {
            let outcome = match &end {
                None => store.append(key, record, expires_at_s).await,
                Some(end) => store.append_end(key, record, end, expires_at_s).await,
            };
            let error = match outcome {
                Ok(outcome) => {
                    if settles && end.is_some() && outcome.is_appended() {
                        account.clear_reservations();
                    }
                    return Ok(outcome);
                }
                Err(error) => error,
            };
            failures += 1;
            let clock = ports.clock();
            let delay = retries.delay_after(failures, clock.jitter());
            tracing::warn!(%error, failed = failures, n = record.number, "record not appended");
            match (error, delay) {
                // Appending the same record again is safe: the write id identifies it.
                (error, Some(delay)) if error.is_retryable() => clock.sleep(delay).await,
                (StoreError::TooLarge(_), _) => return Err(WriteError::TooLarge),
                _ => return Err(WriteError::StoreUnavailable),
            }
        }
    }

    /// Reads and applies records written by other drivers.
    async fn reload_journal<P: Ports>(
        &mut self,
        context: &WriteContext<'_, P>,
        records: &mut Vec<Record>,
    ) -> Result<(), WriteError> {
        let WriteContext { ports, key, lease, .. } = context;
        let to_write_error = |error: &dyn std::fmt::Display| {
            tracing::warn!(%error, "journal not reloaded");
            WriteError::StoreUnavailable
        };
        self.due.take();
        let new_records = ports.store().read_from(key, self.journal.next_number()).await;
        for record in new_records.map_err(|error| to_write_error(&error))? {
            self.journal.apply_record(&record).map_err(|error| to_write_error(&error))?;
            records.push(record);
        }
        if self.journal.epoch() > lease.epoch {
            return Err(WriteError::Superseded);
        }
        Ok(())
    }

    fn next_write_id(&mut self, lease: &Lease) -> Option<WriteId> {
        self.writes += 1;
        WriteId::new(format!("{}.{}.{}", lease.holder, lease.epoch, self.writes)).ok()
    }
}
