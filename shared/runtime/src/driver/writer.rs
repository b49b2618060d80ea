//! Appending to the journal: decide, write, and when the race was lost, reload and decide again.

use std::sync::Arc;

use djinn_core::id::WriteId;
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};
use djinn_core::run::Run;

use crate::account::BudgetAccount;
use crate::ending::run_end;
use crate::port::clock::Clock;
use crate::port::journal::{AppendResult, Journals, Lease, RunEnd};
use crate::port::{Ports, RunKey, StoreError};
use crate::settings::journal_expiry_s;

/// The journal of a run that is being driven.
pub(super) struct JournalWriter<P: Ports> {
    ports: P,
    key: RunKey,
    journal: Journal,
    lease: Lease,
    writes: u64,
    account: Arc<BudgetAccount>,
}

/// What came of recording inputs.
pub(super) struct WriteReport {
    /// The records that joined the journal, in order: others' first, if the race was lost, then
    /// ours.
    pub(super) records: Vec<Record>,
    /// Why the driver has to stop, if it has to.
    pub(super) outcome: Result<(), WriteError>,
}

/// Why nothing more can be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteError {
    /// The journal holds a record of a later driver.
    Superseded,
    /// The store cannot be reached or read.
    StoreUnavailable,
    /// The store never takes what is to be recorded: whoever comes next would fail alike.
    TooLarge,
}

impl<P: Ports> JournalWriter<P> {
    pub(super) fn new(
        ports: P,
        key: RunKey,
        journal: Journal,
        lease: Lease,
        account: Arc<BudgetAccount>,
    ) -> Self {
        Self { ports, key, journal, lease, writes: 0, account }
    }

    /// The run as its journal has it.
    pub(super) fn run(&self) -> &Run {
        self.journal.run()
    }

    /// The journal as it was last written.
    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Goes on under another lease.
    pub(super) fn set_lease(&mut self, lease: Lease) {
        self.lease = lease;
    }

    /// Tells the run these inputs. Inputs that it does not wait for leave no record. `attached` is whether
    /// a client can be sent what comes of them.
    pub(super) async fn record_inputs(
        &mut self,
        inputs: Vec<Input>,
        attached: bool,
    ) -> WriteReport {
        let mut records = Vec::new();
        let outcome = self.decide_and_append(inputs, attached, &mut records).await;
        WriteReport { records, outcome }
    }

    /// Takes over what others wrote.
    pub(super) async fn catch_up(&mut self) -> WriteReport {
        let mut records = Vec::new();
        let outcome = self.reload_journal(&mut records).await;
        WriteReport { records, outcome }
    }

    async fn decide_and_append(
        &mut self,
        inputs: Vec<Input>,
        attached: bool,
        records: &mut Vec<Record>,
    ) -> Result<(), WriteError> {
        loop {
            let now_ms = self.ports.clock().now_ms();
            let write = self.next_write_id().ok_or(WriteError::StoreUnavailable)?;
            let decided =
                self.journal.decide_record(inputs.clone(), self.lease.epoch, write, now_ms);
            let Some((journal, record)) = decided else {
                return Ok(());
            };
            match self.append_record(&journal, &record, attached).await? {
                AppendResult::Appended => {
                    self.journal = journal;
                    records.push(record);
                    return Ok(());
                }
                AppendResult::Conflict => self.reload_journal(records).await?,
            }
        }
    }

    /// Appends a record, after which the journal is `after`; the one that ends the run frees its
    /// session with it.
    async fn append_record(
        &self,
        after: &Journal,
        record: &Record,
        attached: bool,
    ) -> Result<AppendResult, WriteError> {
        let run = after.run();
        let expires_at_s = journal_expiry_s(self.ports.settings(), run);
        let ends = run.status().has_ended() && !self.journal.run().status().has_ended();
        // A task's are many, and end together: what each held is settled when its driver leaves.
        let settles = self.key.task.is_none();
        let settled = || if settles { self.account.final_settlement() } else { Vec::new() };
        let counted = self.ports.settings().user.runs_at_once.is_some();
        let end = ends.then(|| RunEnd {
            day_changes: settled(),
            is_counted: counted,
            end_shown: attached,
            ..run_end(run, record)
        });
        let store = self.ports.store();
        let retries = self.ports.settings().store_retries;
        let mut failed = 0;
        loop {
            let appended = match &end {
                None => store.append(&self.key, record, expires_at_s).await,
                Some(end) => store.append_end(&self.key, record, end, expires_at_s).await,
            };
            let error = match appended {
                Ok(appended) => {
                    if settles && end.is_some() && appended == AppendResult::Appended {
                        self.account.clear_reservations();
                    }
                    return Ok(appended);
                }
                Err(error) => error,
            };
            failed += 1;
            let clock = self.ports.clock();
            let delay = retries.delay_after(failed, None, clock.jitter());
            tracing::warn!(%error, failed, n = record.number, "record not appended");
            match (error, delay) {
                // Writing the same record again is safe: its write id tells it from others'.
                (error, Some(delay)) if error.is_retryable() => clock.sleep(delay).await,
                (StoreError::TooLarge(_), _) => return Err(WriteError::TooLarge),
                _ => return Err(WriteError::StoreUnavailable),
            }
        }
    }

    /// Reads what others wrote and takes it over.
    async fn reload_journal(&mut self, records: &mut Vec<Record>) -> Result<(), WriteError> {
        let interrupted = |error: &dyn std::fmt::Display| {
            tracing::warn!(%error, "journal not reloaded");
            WriteError::StoreUnavailable
        };
        let read = self.ports.store().read_from(&self.key, self.journal.next_number()).await;
        for record in read.map_err(|error| interrupted(&error))? {
            self.journal.apply_record(&record).map_err(|error| interrupted(&error))?;
            records.push(record);
        }
        if self.journal.epoch() > self.lease.epoch {
            return Err(WriteError::Superseded);
        }
        Ok(())
    }

    fn next_write_id(&mut self) -> Option<WriteId> {
        self.writes += 1;
        WriteId::new(format!("{}.{}.{}", self.lease.holder, self.lease.epoch, self.writes)).ok()
    }
}
