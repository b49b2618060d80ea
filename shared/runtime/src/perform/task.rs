//! A task: created, and driven here or by an invocation of its own.

use std::pin::Pin;

use djinn_core::budget::Spent;
use djinn_core::id::WriteId;
use djinn_core::input::{Asked, Input, TaskAsked, TaskEnded, TaskReport};
use djinn_core::journal::Journal;
use djinn_core::preview::Live;
use djinn_core::status::RunStatus;
use tokio::sync::mpsc;

use crate::deadline::Deadline;
use crate::pages::read_journal;
use crate::port::admission::Admission;
use crate::port::alarm::Invoker;
use crate::port::clock::Clock;
use crate::port::journal::{Created, Journals, NewRun, RunMeta};
use crate::port::{Ports, RunKey, StoreError};
use crate::serve::{Serving, continue_task, too_large};
use crate::settings::{journal_expiry_s, milliseconds};

/// A task to be worked on.
pub struct Task<P: Ports> {
    /// The world.
    pub ports: P,
    /// The task.
    pub key: RunKey,
    /// What it starts with.
    pub asked: Asked,
    /// Whether it is the run's only one: then it is driven here.
    pub alone: bool,
    /// Whether somebody may have created it before.
    pub known: bool,
    /// Whether an invocation that was asked for only just now may be left to come. The driver that
    /// asked for it lived on to see that done.
    pub waits: bool,
    /// Until when.
    pub deadline: Deadline,
    /// Where its entries and pieces of its text go while it is driven here.
    pub live: mpsc::UnboundedSender<Live>,
}

impl<P: Ports> Task<P> {
    /// Makes sure that somebody works on the task, and says how it ended, if it has. Without inputs
    /// it is at work elsewhere: its outcome comes by mail, and it is looked after again later.
    pub async fn perform(self) -> Vec<Input> {
        match self.work().await {
            Ok(ended) => ended.map(Input::TaskEnded).into_iter().collect(),
            // It cannot be begun, whoever tries.
            Err(StoreError::TooLarge(what)) => {
                tracing::error!(what, task = %self.key, "task not dispatched: it is too large");
                self.failed().map(Input::TaskEnded).into_iter().collect()
            }
            Err(error) => {
                tracing::warn!(%error, task = %self.key, "task not dispatched");
                Vec::new()
            }
        }
    }

    async fn work(&self) -> Result<Option<Box<TaskEnded>>, StoreError> {
        if let Some(meta) = self.existing().await? {
            if meta.status.has_ended() {
                return self.outcome().await;
            }
            let now_ms = self.ports.clock().now_ms();
            let just_now =
                now_ms.saturating_sub(milliseconds(self.ports.settings().dispatch_every));
            let is_queued = meta.status == RunStatus::Queued && meta.started_at_ms > just_now;
            let is_coming = self.waits && !self.alone && is_queued;
            if is_coming || meta.is_driven(now_ms) {
                return Ok(None);
            }
        }
        if !self.alone {
            self.ports.invoker().kick(&self.key, 0).await?;
            return Ok(None);
        }
        self.drive().await?;
        self.outcome().await
    }

    /// The task as it was, or nothing: then it is there now. One that is known is looked up first, since
    /// that costs a read, and creating what is there a refused transaction.
    async fn existing(&self) -> Result<Option<RunMeta>, StoreError> {
        let known = match self.known {
            true => self.ports.store().meta(&self.key).await?,
            false => None,
        };
        match known {
            Some(meta) => Ok(Some(meta)),
            None => match self.create().await? {
                Created::Exists(meta) => Ok(Some(*meta)),
                Created::New | Created::SessionBusy(_) | Created::TooMany(_) => Ok(None),
            },
        }
    }

    async fn create(&self) -> Result<Created, StoreError> {
        let now_ms = self.ports.clock().now_ms();
        // A name of its own: a task that is there must not look as if it had just been created.
        let chance = self.ports.clock().jitter().to_bits();
        let write = WriteId::new(format!("task.{now_ms:x}.{chance:x}"))
            .map_err(|error| StoreError::Unreadable(error.to_string()))?;
        let (journal, record) = Journal::open(self.asked.clone(), 0, write, now_ms);
        let expires_at_s = journal_expiry_s(self.ports.settings(), journal.run());
        let new = NewRun { record, lease: None, expires_at_s, admission: Admission::default() };
        self.ports.store().create(&self.key, &new).await
    }

    /// Drives the task until it has ended or its time here is up.
    fn drive(&self) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + '_>> {
        let now_ms = self.ports.clock().now_ms();
        let serving = Serving {
            key: self.key.clone(),
            holder: format!("inline.{now_ms:x}.{:x}", self.ports.clock().jitter().to_bits()),
            deadline: self.deadline,
            hops: 0,
        };
        Box::pin(continue_task(&self.ports, serving, self.live.clone()))
    }

    async fn outcome(&self) -> Result<Option<Box<TaskEnded>>, StoreError> {
        let journal = read_journal(&self.ports, &self.key).await?;
        if let Some(outcome) = journal.run().task_outcome() {
            return Ok(Some(Box::new(outcome.clone())));
        }
        let meta = self.ports.store().meta(&self.key).await?;
        // One that was given up has no last words.
        Ok(meta.filter(|meta| meta.status.has_ended()).and_then(|_| self.failed()))
    }

    /// The end of a task that the store does not take, or whose next record it did not.
    fn failed(&self) -> Option<Box<TaskEnded>> {
        let TaskAsked { task, words, .. } = self.asked.task.as_ref()?;
        let failure = too_large();
        let report = TaskReport {
            task: task.clone(),
            words: words.clone(),
            text: failure.sentence(self.asked.settings.language),
            files: Vec::new(),
            done: false,
            left_out: false,
            cut: false,
        };
        Some(Box::new(TaskEnded {
            report,
            status: RunStatus::Failed,
            failure: Some(failure),
            files: Vec::new(),
            spent: Spent::default(),
            turns: Vec::new(),
            tainted: false,
        }))
    }
}
