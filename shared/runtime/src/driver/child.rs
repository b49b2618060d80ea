//! A child: created, and driven here or by an invocation of its own.

use std::mem;
use std::pin::Pin;

use djinn_agents::fill_arguments;
use djinn_core::budget::Spending;
use djinn_core::conversation::ChildReport;
use djinn_core::id::{CallId, WriteId};
use djinn_core::input::{ChildEnded, ChildSpec, Input, RunSpec};
use djinn_core::journal::Journal;
use djinn_core::status::RunStatus;
use djinn_core::tool::{ToolFailure, ToolResult};
use djinn_protocol::preview::Live;
use tokio::sync::mpsc;

use super::continuation::continue_child;
use crate::deadline::Deadline;
use crate::ending::stop_below;
use crate::leased_run::ServeContext;
use crate::pages::read_journal;
use crate::port::admission::Admission;
use crate::port::alarm::Invoker;
use crate::port::clock::Clock;
use crate::port::journal::{CreateResult, Journals, NewRun, RunMeta};
use crate::port::tool::ToolAudience;
use crate::port::{RunKey, StoreError, too_large_failure};
use crate::settings::{journal_expiry_s, to_millis};
use crate::world::Ports;

/// Why there is no child.
enum ChildError {
    /// The call that it was to answer cannot be made.
    NotCallable(ToolResult),
    /// The store failed: it is dispatched again.
    Store(StoreError),
}

impl From<StoreError> for ChildError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A child to be worked on.
pub(super) struct ChildExecution<P: Ports> {
    /// The store and the services that it works with.
    pub(super) ports: P,
    /// The key of the task, under which its journal is stored.
    pub(super) key: RunKey,
    /// What it starts with.
    pub(super) spec: RunSpec,
    /// The agent that it is worked on by, if one is named.
    pub(super) agent: Option<String>,
    /// Whether it is the run's only one: then it is driven here.
    pub(super) is_only_child: bool,
    /// Whether somebody may have created it before.
    pub(super) may_exist: bool,
    /// Whether an invocation that was asked for only just now may be left to come. The driver that
    /// asked for it lived on to see that done.
    pub(super) trusts_recent_kick: bool,
    /// The end of the invocation, before which the driver hands over.
    pub(super) deadline: Deadline,
    /// Where its entries and pieces of its text go while it is driven here.
    pub(super) live_sender: mpsc::UnboundedSender<Live>,
}

impl<P: Ports> ChildExecution<P> {
    /// Makes sure that somebody works on the task, and says how it ended, if it has. Without inputs
    /// it is at work elsewhere: its outcome comes by mail, and it is looked after again later.
    pub(super) async fn perform(self) -> Vec<Input> {
        match self.ensure_driven().await {
            Ok(ended) => ended.map(Input::ChildEnded).into_iter().collect(),
            Err(ChildError::NotCallable(result)) => self.refuse_call(result),
            Err(ChildError::Store(error)) => self.on_store_error(error),
        }
    }

    /// The call is answered without a run.
    fn refuse_call(&self, result: ToolResult) -> Vec<Input> {
        let call = self.key.path.last().and_then(CallId::of_child);
        call.map(|call| Input::ToolReturned { call, result, took_ms: 0 }).into_iter().collect()
    }

    fn on_store_error(&self, error: StoreError) -> Vec<Input> {
        match error {
            // It cannot be begun, whoever tries.
            StoreError::TooLarge(what) => {
                tracing::error!(what, child = %self.key, "child not dispatched: it is too large");
                self.too_large_result().map(Input::ChildEnded).into_iter().collect()
            }
            error @ (StoreError::Unavailable(_)
            | StoreError::Unreadable(_)
            | StoreError::NewerFormat(_)) => {
                tracing::warn!(%error, child = %self.key, "child not dispatched");
                Vec::new()
            }
        }
    }

    async fn ensure_driven(&self) -> Result<Option<Box<ChildEnded>>, ChildError> {
        if let Some(meta) = self.find_or_create().await? {
            if meta.status.has_ended() {
                return Ok(self.read_result().await?);
            }
            let now_ms = self.ports.clock().now_ms();
            let just_now = now_ms.saturating_sub(to_millis(self.ports.settings().dispatch_every));
            let is_queued = meta.status == RunStatus::Queued && meta.started_at_ms > just_now;
            let is_coming = self.trusts_recent_kick && !self.is_only_child && is_queued;
            if is_coming || meta.is_driven(now_ms) {
                return Ok(None);
            }
        }
        if !self.is_only_child {
            self.ports.invoker().kick_run(&self.key, 0).await?;
            return Ok(None);
        }
        self.drive_inline().await?;
        Ok(self.read_result().await?)
    }

    /// The task as it was, or nothing: then it is there now. One that is known is looked up first, since
    /// that costs a read, and creating what is there a refused transaction.
    async fn find_or_create(&self) -> Result<Option<RunMeta>, ChildError> {
        let known = match self.may_exist {
            true => self.ports.store().find_meta(&self.key).await?,
            false => None,
        };
        match known {
            Some(meta) => Ok(Some(meta)),
            None => match self.create_child().await? {
                CreateResult::Exists(meta) => Ok(Some(*meta)),
                CreateResult::Created
                | CreateResult::SessionBusy(_)
                | CreateResult::NotAdmitted(_) => Ok(None),
            },
        }
    }

    async fn create_child(&self) -> Result<CreateResult, ChildError> {
        let spec = self.complete_spec().await?;
        let now_ms = self.ports.clock().now_ms();
        // A name of its own: a task that is there must not look as if it had just been created.
        let chance = self.ports.clock().jitter().to_bits();
        let write = WriteId::new(format!("child.{now_ms:x}.{chance:x}"))
            .map_err(|error| StoreError::Unreadable(error.to_string()))?;
        let (journal, record) = Journal::open(spec, 0, write, now_ms);
        let expires_at_s = journal_expiry_s(self.ports.settings(), journal.run());
        let new = NewRun { record, lease: None, expires_at_s, admission: Admission::default() };
        Ok(self.ports.store().create(&self.key, &new).await?)
    }

    /// What it starts with, its agent's file included, as that is now.
    async fn complete_spec(&self) -> Result<RunSpec, ChildError> {
        let spec = self.spec.clone();
        let Some(name) = &self.agent else { return Ok(spec) };
        let audience = ToolAudience::of(&spec);
        let (toolbox, language) = (self.ports.tools(), spec.settings.language);
        let tools = Box::pin(toolbox.list_tools(self.ports.clock(), &audience)).await;
        let is_step = self.key.path.last().is_some_and(|child| child.task().is_some());
        // A call was offered to who made it; a step names whatever its planner or a person wrote.
        let is_offered =
            !is_step || tools.specs_for(&spec).iter().any(|offered| offered.name == *name);
        let found = tools.find_tool(name).filter(|_| is_offered);
        let found = found.ok_or((ToolFailure::UnknownTool, String::new()));
        let called = found.and_then(|tool| {
            let agent = tool.agent(language).ok_or((ToolFailure::Changed, String::new()))?;
            let parameters = agent.parameters.clone();
            let mut called = spec.clone().with_agent(agent);
            if let Some(child) = &mut called.child {
                tool.check_arguments(&child.arguments)
                    .map_err(|problem| (ToolFailure::BadArguments, problem))?;
                child.arguments = fill_arguments(&parameters, mem::take(&mut child.arguments));
            }
            Ok(called)
        });
        match called {
            Ok(called) => Ok(called),
            // A step is worked on all the same, as one that names no agent.
            Err((reason, problem)) if is_step => {
                let reason = reason.as_str();
                tracing::warn!(agent = name, reason, problem, "the agent of a step is not called");
                Ok(spec)
            }
            Err((reason, detail)) => {
                Err(ChildError::NotCallable(ToolResult::Failed { reason, detail }))
            }
        }
    }

    /// Drives the task until it has ended or its time here is up.
    fn drive_inline(&self) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + '_>> {
        let now_ms = self.ports.clock().now_ms();
        let serving = ServeContext {
            key: self.key.clone(),
            holder: format!("inline.{now_ms:x}.{:x}", self.ports.clock().jitter().to_bits()),
            deadline: self.deadline,
            hops: 0,
        };
        Box::pin(continue_child(&self.ports, serving, self.live_sender.clone()))
    }

    async fn read_result(&self) -> Result<Option<Box<ChildEnded>>, StoreError> {
        let journal = read_journal(&self.ports, &self.key).await?;
        if let Some(result) = journal.run().child_result() {
            // Nobody comes for what it owes below once its end was taken.
            stop_below(&self.ports, &self.key, journal.run()).await?;
            return Ok(Some(Box::new(result.clone())));
        }
        let meta = self.ports.store().find_meta(&self.key).await?;
        // One that was given up has no last words.
        Ok(meta.filter(|meta| meta.status.has_ended()).and_then(|_| self.too_large_result()))
    }

    /// The end of a task that the store does not take, or whose next record it did not.
    fn too_large_result(&self) -> Option<Box<ChildEnded>> {
        let ChildSpec { child, description: words, .. } = self.spec.child.as_ref()?;
        let report = ChildReport {
            child: child.clone(),
            description: words.clone(),
            text: String::new(),
            failure: Some(too_large_failure()),
            files: Vec::new(),
            done: false,
            skipped: false,
            edit_comment: None,
            truncated: false,
        };
        Some(Box::new(ChildEnded {
            report,
            status: RunStatus::Failed,
            files: Vec::new(),
            spent: Spending::default(),
            turns: Vec::new(),
            tainted: false,
            full_output: None,
        }))
    }
}
