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

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{RunId, TaskId, TenantId};

use crate::content::ContentPolicy;
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
    /// The tenant whose data it is.
    pub tenant: TenantId,
    /// The run, or the run of the task.
    pub run: RunId,
    /// Which task of it, if it is one.
    pub task: Option<TaskId>,
}

impl RunKey {
    /// The key of a run itself, of no task.
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
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::TooLarge(_) | Self::Unreadable(_) | Self::NewerFormat(_) => false,
        }
    }
}

/// What a store takes in one piece of what is not long by nature: what is long lies beside it.
const MAX_ITEM_SIZE: &str = "400 KB";

/// The failure of what a store never takes.
pub(crate) fn too_large_failure() -> Failure {
    Failure::new(ErrorCode::TooLarge, MAX_ITEM_SIZE)
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
    /// The language models that runs ask.
    pub model: Arc<M>,
    /// The recurring alarms that bring runs back.
    pub alarms: Arc<A>,
    /// The way to invoke the executor without waiting for it.
    pub invoker: Arc<I>,
    /// Time and chance, which tests replace.
    pub clock: Arc<C>,
    /// The tools that models may be offered.
    pub tools: Toolbox,
    /// The prompts in every language.
    pub prompts: Arc<Prompts>,
    /// What is let in and out.
    pub content: Arc<ContentPolicy>,
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

    fn content(&self) -> &ContentPolicy {
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
    /// The language models that runs ask.
    type Model: Model;
    /// The recurring alarms that bring runs back.
    type Alarms: Alarms;
    /// The way to invoke the executor without waiting for it.
    type Invoker: Invoker;
    /// Time and chance, which tests replace.
    type Clock: Clock;

    /// The store that keeps runs, mail and files.
    fn store(&self) -> &Self::Store;
    /// The client of all models, by role.
    fn model(&self) -> &Self::Model;
    /// The alarms of runs that nobody drives.
    fn alarms(&self) -> &Self::Alarms;
    /// The invoker that runs are handed over with.
    fn invoker(&self) -> &Self::Invoker;
    /// The clock that tells the time and draws the chance.
    fn clock(&self) -> &Self::Clock;
    /// The tools of this deployment, by name.
    fn tools(&self) -> &Toolbox;
    /// The prompts that requests are rendered from.
    fn prompts(&self) -> &Prompts;
    /// What is let in and out.
    fn content(&self) -> &ContentPolicy;
    /// How long things may take.
    fn settings(&self) -> &Settings;
}
