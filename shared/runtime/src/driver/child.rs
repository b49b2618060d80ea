//! A child: created, then driven here or in its own invocation.

use std::mem;
use std::pin::Pin;

use djinn_agents::{check_arguments, fill_arguments};
use djinn_core::agent::TASK_ARGUMENT;
use djinn_core::budget::Spending;
use djinn_core::conversation::ChildReport;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{CallId, WriteId};
use djinn_core::input::{ChildEnded, ChildSpec, Input, RunSpec};
use djinn_core::journal::Journal;
use djinn_core::status::RunStatus;
use djinn_core::tool::{EffectClass, ToolFailure, ToolPolicy, ToolResult, ToolSpec};

use super::caller::CallerLink;
use super::continuation::{continue_child, drive_new_child};
use crate::deadline::Deadline;
use crate::ending::stop_below;
use crate::leased_run::{LeasedRun, ServeContext};
use crate::pages::read_journal;
use crate::port::admission::Admission;
use crate::port::alarm::Invoker;
use crate::port::clock::Clock;
use crate::port::journal::{CreateResult, Journals, Lease, NewRun, RunMeta};
use crate::port::tool::{Tool, ToolAudience};
use crate::port::{RunKey, StoreError, too_large_failure};
use crate::settings::{journal_expiry_s, to_millis};
use crate::world::Ports;

/// The reason for having no child.
enum ChildError {
    /// The call for the child cannot be made; the result for the caller.
    NotCallable(Box<ToolResult>),
    /// The agent of a step that needs it cannot be called; the end for the caller.
    NoAgent(Box<ChildEnded>),
    /// The store failed; the child is dispatched again.
    Store(StoreError),
}

impl From<StoreError> for ChildError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The child as found in the store.
enum FoundChild {
    /// The child existed before.
    Existing(Box<RunMeta>),
    /// The child was just created. Some if driven here, under this invocation's lease.
    New(Option<Box<LeasedRun>>),
}

/// The reason why an agent cannot be called, and a description of the problem.
type CallProblem = (ToolFailure, String);

/// The agent named for a child.
pub(super) struct NamedAgent {
    name: String,
    /// The offer to the caller: SHA-256 of the parameters, and the policy. `None` for a step's agent.
    as_offered: Option<(String, ToolPolicy)>,
}

impl NamedAgent {
    /// Creates the agent of this name, offered with the hash of its parameters and its policy.
    pub(super) fn of((name, contract): (&str, Option<(&str, &ToolPolicy)>)) -> Self {
        let contract = contract.map(|(schema, policy)| (schema.to_owned(), policy.clone()));
        Self { name: name.to_owned(), as_offered: contract }
    }

    /// Returns the run spec for the agent, from the current agent file of `tool`.
    fn begin(&self, tool: &dyn Tool, spec: &RunSpec) -> Result<RunSpec, CallProblem> {
        let language = spec.settings.language;
        let agent = tool.agent(language).filter(|_| self.is_callable_as(&tool.spec(language)));
        let agent = agent.ok_or((ToolFailure::Changed, String::new()))?;
        let parameters = agent.parameters.clone();
        let mut child_spec = spec.clone().with_agent(agent);
        // A step has its task in any case.
        let properties = parameters.get("properties");
        let is_taken = properties.is_some_and(|all| all.get(TASK_ARGUMENT).is_some());
        if self.as_offered.is_none() && !is_taken {
            child_spec.arguments.remove(TASK_ARGUMENT);
        }
        check_arguments(&parameters, &child_spec.arguments)
            .map_err(|problem| (ToolFailure::BadArguments, problem))?;
        let arguments = mem::take(&mut child_spec.arguments);
        child_spec.arguments = fill_arguments(&parameters, arguments);
        Ok(child_spec)
    }

    /// Returns true if parameters, risk and policy match the offer.
    fn is_callable_as(&self, now: &ToolSpec) -> bool {
        self.as_offered.as_ref().is_none_or(|(schema, policy)| {
            now.to_offered().is_callable_as(schema, EffectClass::Agent, policy)
        })
    }
}

/// A child to create or continue.
pub(super) struct ChildExecution<P: Ports> {
    /// The store and the services for the child.
    pub(super) ports: P,
    /// The key of the child's journal.
    pub(super) key: RunKey,
    /// The run spec of the child.
    pub(super) spec: RunSpec,
    /// The agent that works on the child, if one is named.
    pub(super) agent: Option<NamedAgent>,
    /// True if the run has only this child: the child is then driven here.
    pub(super) is_only_child: bool,
    /// True if an earlier dispatch may have created the child.
    pub(super) may_exist: bool,
    /// True if a recently kicked invocation may still be on the way. The driver that kicked it is known to
    /// have survived the kick.
    pub(super) trusts_recent_kick: bool,
    /// The end of the invocation; the driver hands over before.
    pub(super) deadline: Deadline,
    /// The link to the caller's driver, for a child driven here.
    pub(super) caller: CallerLink,
}

impl<P: Ports> ChildExecution<P> {
    /// Ensures that a driver works on the child. Returns the child's end if the child has ended. Without
    /// inputs the child is at work elsewhere: the outcome comes by mail, and the child is dispatched again
    /// later.
    pub(super) async fn perform(self) -> Vec<Input> {
        match self.ensure_driven().await {
            Ok(ended) => ended.map(Input::ChildEnded).into_iter().collect(),
            Err(ChildError::NotCallable(result)) => self.refuse_call(*result),
            Err(ChildError::NoAgent(ended)) => vec![Input::ChildEnded(ended)],
            Err(ChildError::Store(error)) => self.on_store_error(error),
        }
    }

    /// Answers the call without a run.
    fn refuse_call(&self, result: ToolResult) -> Vec<Input> {
        let call = self.key.path.last().and_then(CallId::of_child);
        call.map(|call| Input::ToolReturned { call, result, took_ms: 0 }).into_iter().collect()
    }

    fn on_store_error(&self, error: StoreError) -> Vec<Input> {
        match error {
            // No driver could ever create this child.
            StoreError::TooLarge(what) => {
                tracing::error!(what, child = %self.key, "child not dispatched: it is too large");
                self.too_large_result().map(Input::ChildEnded).into_iter().collect()
            }
            error @ (StoreError::Unavailable(_)
            | StoreError::Denied(_)
            | StoreError::Unreadable(_)
            | StoreError::NewerFormat(_)) => {
                tracing::warn!(%error, child = %self.key, "child not dispatched");
                Vec::new()
            }
        }
    }

    async fn ensure_driven(&self) -> Result<Option<Box<ChildEnded>>, ChildError> {
        match self.find_or_create().await? {
            FoundChild::Existing(meta) if meta.status.has_ended() => {
                return Ok(self.read_result().await?);
            }
            FoundChild::Existing(meta) if self.is_worked_on(&meta) => return Ok(None),
            FoundChild::New(Some(leased_run)) => self.drive_new_inline(*leased_run).await,
            FoundChild::Existing(_) | FoundChild::New(None) if self.is_only_child => {
                self.drive_inline().await?;
            }
            FoundChild::Existing(_) | FoundChild::New(None) => {
                self.ports.invoker().kick_run(&self.key, 0).await?;
                return Ok(None);
            }
        }
        Ok(self.read_result().await?)
    }

    /// Returns true if the child has a driver, or a driver was kicked just now.
    fn is_worked_on(&self, meta: &RunMeta) -> bool {
        let now_ms = self.ports.clock().now_ms();
        let just_now = now_ms.saturating_sub(to_millis(self.ports.settings().dispatch_every));
        let is_queued = meta.status == RunStatus::Queued && meta.started_at_ms > just_now;
        let is_coming = self.trusts_recent_kick && !self.is_only_child && is_queued;
        is_coming || meta.is_driven(now_ms)
    }

    /// Finds or creates the child. A child that may exist is looked up first: a read costs less than a
    /// rejected transaction.
    async fn find_or_create(&self) -> Result<FoundChild, ChildError> {
        let existing_meta =
            if self.may_exist { self.ports.store().find_meta(&self.key).await? } else { None };
        match existing_meta {
            Some(meta) => Ok(FoundChild::Existing(Box::new(meta))),
            None => self.create_child().await,
        }
    }

    /// Creates the child, under a lease if the child is driven here.
    async fn create_child(&self) -> Result<FoundChild, ChildError> {
        let driver = self.ports.shutdown().register_driver();
        let spec = self.complete_spec().await?;
        let now_ms = self.ports.clock().now_ms();
        let until_ms = now_ms.saturating_add(to_millis(self.ports.settings().lease));
        let lease =
            self.is_only_child.then(|| Lease { holder: self.driver_name(), until_ms, epoch: 1 });
        // A unique name, so that an existing child never looks newly created.
        let chance = self.ports.clock().jitter().to_bits();
        let write = WriteId::new(format!("child.{now_ms:x}.{chance:x}"))
            .map_err(|error| StoreError::Unreadable(error.to_string()))?;
        let (mut journal, record) = Journal::open(spec, u64::from(lease.is_some()), write, now_ms);
        let expires_at_s = journal_expiry_s(self.ports.settings(), journal.run());
        let admission = Admission::default();
        let new = NewRun { record, lease: lease.clone(), expires_at_s, admission };
        Ok(match self.ports.store().create(&self.key, &new).await? {
            CreateResult::Exists(meta) => FoundChild::Existing(meta),
            CreateResult::Created(hash) => {
                journal.set_head(hash);
                FoundChild::New(lease.map(|lease| {
                    Box::new(LeasedRun { lease, lapsed: false, is_new: true, journal, driver })
                }))
            }
            // Only root runs are limited.
            CreateResult::SessionBusy(_) | CreateResult::NotAdmitted(_) => FoundChild::New(None),
        })
    }

    /// Returns the run spec of the child, including the current version of the agent's file.
    async fn complete_spec(&self) -> Result<RunSpec, ChildError> {
        let spec = self.spec.clone();
        let Some(callee) = &self.agent else { return Ok(spec) };
        let audience = ToolAudience::of(&spec);
        let tools = Box::pin(self.ports.tools().list_tools(self.ports.clock(), &audience)).await;
        let is_step = callee.as_offered.is_none();
        // A call names an agent offered to the caller; a step names any agent its planner or a user wrote.
        let is_offered =
            !is_step || tools.specs_for(&spec).iter().any(|offered| offered.name == callee.name);
        let agent_tool = tools.find_tool(&callee.name).filter(|_| is_offered);
        let agent_tool = agent_tool.ok_or((ToolFailure::UnknownTool, String::new()));
        let child_spec = agent_tool.and_then(|tool| callee.begin(&*tool, &spec));
        match child_spec {
            Ok(child_spec) => Ok(child_spec),
            Err((reason, problem)) if spec.child.as_ref().is_some_and(|step| step.needs_agent) => {
                let problem = if problem.is_empty() { reason.as_str() } else { &problem };
                let detail = format!("`{}`: {problem}", callee.name);
                let failure = Failure::new(ErrorCode::AgentUnusable, detail);
                let ended = self
                    .failed_result(failure)
                    .ok_or_else(|| StoreError::Unreadable("a step without its child".to_owned()))?;
                Err(ChildError::NoAgent(ended))
            }
            // The step is worked on without the agent.
            Err((reason, problem)) if is_step => {
                let reason = reason.as_str();
                tracing::warn!(
                    agent = callee.name,
                    reason,
                    problem,
                    "the agent of a step is not called"
                );
                Ok(spec)
            }
            Err((reason, detail)) => {
                Err(ChildError::NotCallable(Box::new(ToolResult::Failed { reason, detail })))
            }
        }
    }

    /// Drives the child until the end, or until this invocation's time is up.
    fn drive_inline(&self) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + '_>> {
        let serving = self.serve_context(self.driver_name());
        Box::pin(continue_child(&self.ports, serving, self.caller.clone()))
    }

    /// Drives a child that was created here.
    fn drive_new_inline(
        &self,
        leased_run: LeasedRun,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let serving = self.serve_context(leased_run.lease.holder.clone());
        Box::pin(drive_new_child(&self.ports, serving, leased_run, self.caller.clone()))
    }

    /// Names the driver of a child driven here.
    fn driver_name(&self) -> String {
        let now_ms = self.ports.clock().now_ms();
        format!("inline.{now_ms:x}.{:x}", self.ports.clock().jitter().to_bits())
    }

    fn serve_context(&self, holder: String) -> ServeContext {
        ServeContext { key: self.key.clone(), holder, deadline: self.deadline, hops: 0 }
    }

    /// Returns the end of the child; `None` if the child is at work. The journal of a child that was given up has no
    /// end.
    async fn read_result(&self) -> Result<Option<Box<ChildEnded>>, StoreError> {
        let result = self.read_recorded_result().await;
        if !matches!(result, Ok(None) | Err(StoreError::Unreadable(_))) {
            return result;
        }
        let meta = self.ports.store().find_meta(&self.key).await?;
        if meta.is_none_or(|meta| !meta.status.has_ended()) {
            return result;
        }
        // The child may have ended between the two reads.
        match self.read_recorded_result().await {
            Ok(None) => Ok(self.too_large_result()),
            Err(StoreError::Unreadable(_)) => {
                Ok(self.failed_result(ErrorCode::StoredDataUnreadable.into()))
            }
            result => result,
        }
    }

    /// Returns the result from the child's journal; `None` if the journal has no end.
    async fn read_recorded_result(&self) -> Result<Option<Box<ChildEnded>>, StoreError> {
        let journal = read_journal(&self.ports, &self.key).await?;
        let Some(result) = journal.child_result() else { return Ok(None) };
        // After the caller takes the end, no driver delivers to the runs below.
        stop_below(&self.ports, &self.key, journal.run()).await?;
        Ok(Some(Box::new(result)))
    }

    /// Returns the end of a child rejected by the store as too large, at creation or at a later record.
    fn too_large_result(&self) -> Option<Box<ChildEnded>> {
        self.failed_result(too_large_failure())
    }

    /// Returns the end of a child that never began, or was given up.
    fn failed_result(&self, failure: Failure) -> Option<Box<ChildEnded>> {
        let ChildSpec { child, description: words, .. } = self.spec.child.as_ref()?;
        let report = ChildReport {
            child: child.clone(),
            description: words.clone(),
            text: String::new(),
            failure: Some(failure),
            files: Vec::new(),
            done: false,
            skipped: false,
            edit_comment: None,
            truncated: false,
            known_urls: Vec::new(),
        };
        Some(Box::new(ChildEnded {
            report,
            status: RunStatus::Failed,
            files: Vec::new(),
            spent: Spending::default(),
            turns: Vec::new(),
            evidence: Vec::new(),
            tainted: false,
            full_output: None,
            entry_count: None,
        }))
    }
}
