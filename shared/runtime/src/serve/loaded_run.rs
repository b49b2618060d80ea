//! A run as read by one request: its metadata once, and each of its records once.

use std::time::Duration;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::RunSpec;
use djinn_core::journal::{Journal, Record};
use djinn_core::run::Run;
use djinn_core::status::RunStatus;

use super::store_failure;
use crate::pages::{JournalExtent, JournalReader};
use crate::port::clock::Clock;
use crate::port::journal::{Journals, RunMeta};
use crate::port::mailbox::Mail;
use crate::port::{RunKey, StoreError};
use crate::question::UserQuestion;
use crate::settings::to_millis;
use crate::sleep::wake_run;
use crate::world::Ports;

/// The maximum time a request waits for a run to take its mail. The run may still take the mail later.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The first pause between two polls, and the longest pause.
const POLL_PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));

/// A run as read by a request. The metadata is as old as the request, or its newest mail to the run; the
/// journal is as new as the last read. No write relies on either: the store checks each write, and the driver
/// decides about mail.
#[derive(Debug)]
pub struct LoadedRun {
    key: RunKey,
    meta: RunMeta,
    reader: JournalReader,
}

impl LoadedRun {
    /// Finds a run and its metadata, or returns `None` if the run does not exist.
    ///
    /// # Errors
    /// Returns `store_unavailable` if the store cannot be reached.
    pub async fn find<P: Ports>(ports: &P, key: &RunKey) -> Result<Option<Self>, Failure> {
        let meta = ports.store().find_meta(key).await.map_err(|error| store_failure(&error))?;
        Ok(meta.map(|meta| Self::new(key.clone(), meta)))
    }

    /// Loads an existing run and its metadata.
    ///
    /// # Errors
    /// Returns `run_not_found`, or `store_unavailable`.
    pub async fn load<P: Ports>(ports: &P, key: &RunKey) -> Result<Self, Failure> {
        Self::find(ports, key).await?.ok_or_else(|| ErrorCode::RunNotFound.into())
    }

    /// Creates a run from metadata read just now.
    pub(super) fn new(key: RunKey, meta: RunMeta) -> Self {
        Self { key, meta, reader: JournalReader::default() }
    }

    /// Returns the key of the stored run.
    #[must_use]
    pub fn key(&self) -> &RunKey {
        &self.key
    }

    /// Returns the metadata as last read.
    #[must_use]
    pub fn meta(&self) -> &RunMeta {
        &self.meta
    }

    /// Returns the metadata, and drops the rest.
    #[must_use]
    pub fn into_meta(self) -> RunMeta {
        self.meta
    }

    /// Returns the run if its request was the same.
    ///
    /// # Errors
    /// Returns `request_id_reused` if the request was another question, or of another user.
    pub(super) fn require_repeat(self, spec: &RunSpec) -> Result<Self, Failure> {
        if self.meta.body_hash == spec.body_hash && self.meta.user == spec.user {
            Ok(self)
        } else {
            Err(ErrorCode::RequestIdReused.into())
        }
    }

    /// Returns true if the question repeats the request of this run.
    #[must_use]
    pub fn is_repeated_by(&self, question: &UserQuestion) -> bool {
        self.meta.body_hash == question.body_hash() && self.meta.user == question.spec.user
    }

    /// Returns the final status of a run, if known to have ended.
    pub(super) fn ended_status(&self) -> Option<RunStatus> {
        let journal_status = self.reader.journal().ok().map(|journal| journal.run().status());
        [Some(self.meta.status), journal_status]
            .into_iter()
            .flatten()
            .find(|status| status.has_ended())
    }

    /// Reads the records added since the last read. Returns the updated journal.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the journal cannot be read or folded, or has expired.
    pub(super) async fn advance<P: Ports>(&mut self, ports: &P) -> Result<&Journal, StoreError> {
        self.reader.advance(ports, &self.key, |_| {}).await?;
        self.reader.journal()
    }

    /// Reads new records, and returns the number of the next record.
    ///
    /// # Errors
    /// Returns `store_unavailable`, or `internal` for an unreadable journal.
    pub async fn read_next_number<P: Ports>(&mut self, ports: &P) -> Result<u64, Failure> {
        let journal = self.advance(ports).await.map_err(|error| store_failure(&error))?;
        Ok(journal.next_number())
    }

    /// Returns the journal as of the last read.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the last read found no journal, or a gap.
    pub(super) fn journal(&self) -> Result<&Journal, StoreError> {
        self.reader.journal()
    }

    /// Reads the journal from the beginning, and passes every record to `see`.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the journal cannot be read or folded.
    pub(super) async fn read_all<P: Ports>(
        &mut self,
        ports: &P,
        see: impl FnMut(&Record) + Send,
    ) -> Result<JournalExtent, StoreError> {
        self.reader = JournalReader::default();
        self.reader.advance(ports, &self.key, see).await?;
        Ok(self.reader.extent())
    }

    /// Returns the journal as of the last read, if complete.
    ///
    /// # Errors
    /// Returns `run_expired` if records are missing.
    pub(super) fn complete_journal(&self) -> Result<&Journal, Failure> {
        let is_complete = self.reader.extent().is_complete(self.meta.status.has_ended());
        let journal = self.reader.journal().ok().filter(|_| is_complete);
        journal.ok_or_else(|| ErrorCode::RunExpired.into())
    }

    /// Sends mail to the run, and ensures that a driver reads it: see [`wake_run`]. Updates the metadata.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the mail may be missing.
    pub(super) async fn wake<P: Ports>(
        &mut self,
        ports: &P,
        mail: &Mail,
    ) -> Result<(), StoreError> {
        if let Some(meta) = wake_run(ports, &self.key, mail).await? {
            self.meta = meta;
        }
        Ok(())
    }

    /// Reads new records until `tell` returns a value, for a few seconds at most.
    pub(super) async fn poll_until<P: Ports, T>(
        &mut self,
        ports: &P,
        tell: impl Fn(&Run) -> Option<T>,
    ) -> Option<T> {
        let gives_up_ms = ports.clock().now_ms().saturating_add(to_millis(ACCEPT_TIMEOUT));
        let (mut pause, longest) = POLL_PAUSES;
        while ports.clock().now_ms() < gives_up_ms {
            ports.clock().sleep(pause).await;
            pause = (pause * 2).min(longest);
            if let Ok(journal) = self.advance(ports).await
                && let Some(outcome) = tell(journal.run())
            {
                return Some(outcome);
            }
        }
        None
    }
}
