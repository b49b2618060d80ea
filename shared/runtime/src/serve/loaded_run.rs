//! A run as one request reads it: its metadata once, and each of its records once.

use std::time::Duration;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::journal::{Journal, Record};
use djinn_core::run::Run;
use djinn_core::status::RunStatus;

use super::store_failure;
use crate::pages::{JournalExtent, JournalReader};
use crate::port::clock::Clock;
use crate::port::journal::{Journals, RunMeta};
use crate::port::mailbox::Mail;
use crate::port::{RunKey, StoreError};
use crate::settings::to_millis;
use crate::sleep::wake_run;
use crate::world::Ports;

/// How long a run is waited for to take up what it was sent. It does so later all the same.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The first pause between two looks, and the longest.
const POLL_PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));

/// A run as a request has read it. Its metadata is as old as the request, or as its newest message to the
/// run; its journal is as new as the last look at it. Nothing that is written rests on either: the store
/// checks each write, and whoever drives the run decides on what it is sent.
#[derive(Debug)]
pub struct LoadedRun {
    key: RunKey,
    meta: RunMeta,
    reader: JournalReader,
}

impl LoadedRun {
    /// A run, with what is known of it; `None` if it does not exist.
    ///
    /// # Errors
    /// `store_unavailable`.
    pub async fn find<P: Ports>(ports: &P, key: &RunKey) -> Result<Option<Self>, Failure> {
        let meta = ports.store().find_meta(key).await.map_err(|error| store_failure(&error))?;
        Ok(meta.map(|meta| Self::new(key.clone(), meta)))
    }

    /// A run that exists, with what is known of it.
    ///
    /// # Errors
    /// `run_not_found`, or `store_unavailable`.
    pub async fn load<P: Ports>(ports: &P, key: &RunKey) -> Result<Self, Failure> {
        Self::find(ports, key).await?.ok_or_else(|| ErrorCode::RunNotFound.into())
    }

    /// A run of which this was just read.
    pub(super) fn new(key: RunKey, meta: RunMeta) -> Self {
        Self { key, meta, reader: JournalReader::default() }
    }

    /// The key that the run is stored under.
    #[must_use]
    pub fn key(&self) -> &RunKey {
        &self.key
    }

    /// What is known of it, as it was read last.
    #[must_use]
    pub fn meta(&self) -> &RunMeta {
        &self.meta
    }

    /// What is known of it, for whoever needs nothing else.
    #[must_use]
    pub fn into_meta(self) -> RunMeta {
        self.meta
    }

    /// The status in which it has ended, if it has as far as was read.
    pub(super) fn ended_status(&self) -> Option<RunStatus> {
        let folded = self.reader.journal().ok().map(|journal| journal.run().status());
        [Some(self.meta.status), folded].into_iter().flatten().find(|status| status.has_ended())
    }

    /// Reads the records that were added since the last look. Returns the journal with them.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read or folded, or has expired.
    pub(super) async fn advance<P: Ports>(&mut self, ports: &P) -> Result<&Journal, StoreError> {
        self.reader.advance(ports, &self.key, |_| {}).await?;
        self.reader.journal()
    }

    /// The journal as it was at the last look.
    ///
    /// # Errors
    /// [`StoreError`] when that found none, or one with a gap.
    pub(super) fn journal(&self) -> Result<&Journal, StoreError> {
        self.reader.journal()
    }

    /// Reads the journal from its beginning, for whoever has to `see` every record of it.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read or folded.
    pub(super) async fn read_all<P: Ports>(
        &mut self,
        ports: &P,
        see: impl FnMut(&Record) + Send,
    ) -> Result<JournalExtent, StoreError> {
        self.reader = JournalReader::default();
        self.reader.advance(ports, &self.key, see).await?;
        Ok(self.reader.extent())
    }

    /// The journal as it was at the last look, if that has all of its records.
    ///
    /// # Errors
    /// `run_expired` if some are missing.
    pub(super) fn complete_journal(&self) -> Result<&Journal, Failure> {
        let is_complete = self.reader.extent().is_complete(self.meta.status.has_ended());
        let journal = self.reader.journal().ok().filter(|_| is_complete);
        journal.ok_or_else(|| ErrorCode::RunExpired.into())
    }

    /// Sends it a message, and makes sure that somebody reads it: see [`wake_run`]. What is known of the run
    /// is as it was after that.
    ///
    /// # Errors
    /// [`StoreError`] when the message may not be there.
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

    /// Looks at the run until `tell` tells something of it, or for some seconds. Reads what is new.
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
                && let Some(told) = tell(journal.run())
            {
                return Some(told);
            }
        }
        None
    }
}
