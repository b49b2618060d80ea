//! What a driver needs of the world, one capability a trait.
//!
//! A trait's doc line names the AWS actions its implementation needs; `template.yaml` grants those
//! and no others.

pub mod admission;
pub mod alarm;
pub mod budget;
pub mod call_history;
pub mod catalog;
pub mod checker;
pub mod clock;
pub mod file;
pub mod journal;
pub mod lease;
pub mod live;
pub mod mailbox;
pub mod model;
pub mod page;
pub mod secret;
pub mod share;
pub mod tool;

use std::fmt;
use std::sync::Arc;

use djinn_core::id::{RunId, TaskId, TenantId};

use crate::content::Content;
use crate::prompt::Prompts;
use crate::settings::Settings;
use alarm::{Alarms, Invoker};
use budget::Budgets;
use call_history::CallHistory;
use catalog::Catalog;
use clock::Clock;
use file::Files;
use journal::Journals;
use lease::Leases;
use live::LiveLog;
use mailbox::Mailbox;
use model::Model;
use share::Shares;
use tool::Toolbox;

/// A run of a tenant, or one of its tasks: where everything of it is stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    /// Whose it is.
    pub tenant: TenantId,
    /// Which.
    pub run: RunId,
    /// Which task of it, if it is one.
    pub task: Option<TaskId>,
}

impl RunKey {
    /// A run.
    #[must_use]
    pub fn new(tenant: TenantId, run: RunId) -> Self {
        Self { tenant, run, task: None }
    }

    /// One of this run's tasks.
    #[must_use]
    pub fn with_task(&self, task: TaskId) -> Self {
        Self { task: Some(task), ..self.clone() }
    }

    /// The run that this is, or is a task of.
    #[must_use]
    pub fn without_task(&self) -> Self {
        Self { task: None, ..self.clone() }
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.task {
            None => write!(f, "{}/{}", self.tenant, self.run),
            Some(task) => write!(f, "{}/{}/{task}", self.tenant, self.run),
        }
    }
}

/// Why a store could not do what it was asked. Its text is for logs, never for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Not reached, throttled or refused, also after bounded retries; or the answer was lost, and
    /// whether it was done is unknown.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// It is larger than the store takes, today and tomorrow: nothing was written, and trying again is
    /// of no use.
    #[error("larger than the store takes: {0}")]
    TooLarge(String),
    /// A stored item cannot be read.
    #[error("a stored item cannot be read: {0}")]
    Unreadable(String),
    /// A stored record is newer than this code.
    #[error("record format {0} is newer than this code")]
    NewerFormat(u16),
}

impl StoreError {
    /// Whether the same request may succeed later. Nothing else is to be tried again.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::TooLarge(_) | Self::Unreadable(_) | Self::NewerFormat(_) => false,
        }
    }
}

/// Everything that is kept between invocations.
pub trait Store:
    Journals
    + Leases
    + Mailbox
    + LiveLog
    + Files
    + Catalog
    + Shares
    + Budgets
    + CallHistory
    + Send
    + Sync
{
}

impl<T> Store for T where
    T: Journals
        + Leases
        + Mailbox
        + LiveLog
        + Files
        + Catalog
        + Shares
        + Budgets
        + CallHistory
        + Send
        + Sync
{
}

/// A world put together of its parts: what a function's `main` wires, and what tests do.
pub struct World<S, M, A, I, C> {
    /// Where runs, mail and files are kept.
    pub store: Arc<S>,
    /// Language models.
    pub model: Arc<M>,
    /// Recurring alarms.
    pub alarms: Arc<A>,
    /// Asynchronous invocations.
    pub invoker: Arc<I>,
    /// Time and chance.
    pub clock: Arc<C>,
    /// The tools.
    pub tools: Toolbox,
    /// The prompts.
    pub prompts: Arc<Prompts>,
    /// What is let in and out.
    pub content: Arc<Content>,
    /// How long things may take.
    pub settings: Arc<Settings>,
}

impl<S, M, A, I, C> Clone for World<S, M, A, I, C> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            model: Arc::clone(&self.model),
            alarms: Arc::clone(&self.alarms),
            invoker: Arc::clone(&self.invoker),
            clock: Arc::clone(&self.clock),
            tools: self.tools.clone(),
            prompts: Arc::clone(&self.prompts),
            content: Arc::clone(&self.content),
            settings: Arc::clone(&self.settings),
        }
    }
}

impl<S, M, A, I, C> Ports for World<S, M, A, I, C>
where
    S: Store + 'static,
    M: Model + 'static,
    A: Alarms + 'static,
    I: Invoker + 'static,
    C: Clock + 'static,
{
    type Store = S;
    type Model = M;
    type Alarms = A;
    type Invoker = I;
    type Clock = C;

    fn store(&self) -> &S {
        &self.store
    }

    fn model(&self) -> &M {
        &self.model
    }

    fn alarms(&self) -> &A {
        &self.alarms
    }

    fn invoker(&self) -> &I {
        &self.invoker
    }

    fn clock(&self) -> &C {
        &self.clock
    }

    fn tools(&self) -> &Toolbox {
        &self.tools
    }

    fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    fn content(&self) -> &Content {
        &self.content
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// The world as a driver sees it.
pub trait Ports: Clone + Send + Sync + 'static {
    /// Where runs, mail and files are kept.
    type Store: Store;
    /// Language models.
    type Model: Model;
    /// Recurring alarms.
    type Alarms: Alarms;
    /// Asynchronous invocations.
    type Invoker: Invoker;
    /// Time and chance.
    type Clock: Clock;

    /// The store.
    fn store(&self) -> &Self::Store;
    /// The models.
    fn model(&self) -> &Self::Model;
    /// The alarms.
    fn alarms(&self) -> &Self::Alarms;
    /// The invoker.
    fn invoker(&self) -> &Self::Invoker;
    /// The clock.
    fn clock(&self) -> &Self::Clock;
    /// The tools.
    fn tools(&self) -> &Toolbox;
    /// The prompts.
    fn prompts(&self) -> &Prompts;
    /// What is let in and out.
    fn content(&self) -> &Content;
    /// How long things may take.
    fn settings(&self) -> &Settings;
}
