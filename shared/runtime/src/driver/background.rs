//! What is in flight, and what becomes of it.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::effect::EffectId;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::Input;
use djinn_core::run::Run;
use djinn_core::tool::{EffectClass, ToolFailure, ToolResult};
use djinn_protocol::preview::Live;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tracing::Instrument as _;

use crate::live_reader::LiveReader;
use crate::port::StoreError;
use crate::port::lease::LeaseRenewal;
use crate::port::mailbox::MailboxContents;

/// Something that a task beside the loop brought.
pub(super) enum DriverEvent {
    /// An effect was performed. Without inputs it was given up for now and is still owed.
    EffectPerformed { id: EffectId, inputs: Vec<Input> },
    /// The mailbox was read beside the loop.
    MailRead(MailRead),
    /// These messages were deleted, or could not be.
    MailDeleted(Vec<String>),
    /// The lease of this epoch was renewed.
    LeaseRenewed { epoch: u64, renewed: Result<LeaseRenewal, StoreError> },
    /// The run's alarm is set, or could not be.
    AlarmSet(bool),
    /// Previews were written to the live log, or lost.
    LiveWritten,
    /// What tasks in other invocations wrote to the live log, and who reads on.
    LiveRead(Box<LiveReader>, Result<Vec<Live>, StoreError>),
    /// Something that nobody waits for is done.
    BackgroundDone,
}

/// A mailbox as it was read.
pub(super) struct MailRead {
    /// What was put into it before this moment was read, Unix milliseconds.
    pub(super) at_ms: i64,
    pub(super) mailbox: Result<MailboxContents, StoreError>,
}

/// The tasks beside the loop. They are aborted when it ends.
#[derive(Default)]
pub(super) struct BackgroundWork {
    tasks: JoinSet<DriverEvent>,
    effects: BTreeMap<EffectId, RunningEffect>,
    /// Effects whose performance gave up in this invocation.
    given_up: BTreeSet<EffectId>,
    has_started_effect: bool,
}

struct RunningEffect {
    class: EffectClass,
    abort: AbortHandle,
}

impl BackgroundWork {
    /// Starts performing an effect.
    pub(super) fn spawn_effect(
        &mut self,
        id: EffectId,
        class: EffectClass,
        performance: impl Future<Output = Vec<Input>> + Send + 'static,
    ) {
        tracing::debug!(effect = %id, "effect started");
        self.has_started_effect = true;
        let performed = id.clone();
        // In a box, since a future that awaits what it was given holds room for it twice.
        let performance = Box::pin(performance);
        let task = async move {
            DriverEvent::EffectPerformed { id: performed, inputs: performance.await }
        };
        let abort = self.tasks.spawn(task.in_current_span());
        self.effects.insert(id, RunningEffect { class, abort });
    }

    /// Starts something that is not owed by the run.
    pub(super) fn spawn_background(
        &mut self,
        task: impl Future<Output = DriverEvent> + Send + 'static,
    ) {
        self.tasks.spawn(task.in_current_span());
    }

    /// Whether this effect is being performed.
    pub(super) fn contains_effect(&self, id: &EffectId) -> bool {
        self.effects.contains_key(id)
    }

    /// Whether any effect has been started in this invocation.
    pub(super) fn has_started_effect(&self) -> bool {
        self.has_started_effect
    }

    /// Leaves an effect alone whose performance gave up.
    pub(super) fn give_up_effect(&mut self, id: EffectId) {
        self.given_up.insert(id);
    }

    /// Whether the performance of this effect gave up.
    pub(super) fn has_given_up(&self, id: &EffectId) -> bool {
        self.given_up.contains(id)
    }

    /// Whether any effect is being performed.
    pub(super) fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// How many tools are running.
    pub(super) fn tool_count(&self) -> usize {
        self.effects
            .keys()
            .filter(|id| matches!(id.without_interrupts(), EffectId::Tool(_)))
            .count()
    }

    /// How many tasks are being dispatched, or worked on here.
    pub(super) fn dispatch_count(&self) -> usize {
        self.effects.keys().filter(|id| matches!(id, EffectId::Child(_))).count()
    }

    /// Aborts what is owed no longer.
    pub(super) fn cancel_unowed(&mut self, run: &Run) {
        let due = run.due();
        self.cancel_except(|id, _| due.iter().any(|effect| effect.id() == *id));
    }

    /// Aborts what another invocation can perform again. A task that is driven here hands over by
    /// itself, at the same moment.
    pub(super) fn cancel_repeatable(&mut self) {
        self.cancel_except(|id, class| {
            class == EffectClass::Once || matches!(id, EffectId::Child(_))
        });
    }

    /// Aborts every performance that `keep` does not want. Aborting a model call closes its
    /// connection: no further byte is read.
    fn cancel_except(&mut self, keep: impl Fn(&EffectId, EffectClass) -> bool) {
        self.effects.retain(|id, performance| {
            let kept = keep(id, performance.class);
            if !kept {
                performance.abort.abort();
            }
            kept
        });
    }

    /// The next thing that happens; `None` when there is no task at all.
    pub(super) async fn next_event(&mut self) -> Option<DriverEvent> {
        let joined = self.tasks.join_next_with_id().await?;
        Some(self.complete_task(joined))
    }

    /// Something that has happened already, if anything has.
    pub(super) fn try_next_event(&mut self) -> Option<DriverEvent> {
        let joined = self.tasks.try_join_next_with_id()?;
        Some(self.complete_task(joined))
    }

    fn complete_task(&mut self, joined: Result<(Id, DriverEvent), JoinError>) -> DriverEvent {
        match joined {
            Ok((task, happening)) => {
                if let DriverEvent::EffectPerformed { id, .. } = &happening
                    && self.effects.get(id).is_some_and(|p| p.abort.id() == task)
                {
                    self.effects.remove(id);
                }
                happening
            }
            Err(error) => self.fail_task(&error),
        }
    }

    /// A task panicked, which is a bug, or was aborted, which is not.
    fn fail_task(&mut self, error: &JoinError) -> DriverEvent {
        let broken = self.effects.iter().find(|(_, p)| p.abort.id() == error.id());
        let Some(id) = broken.map(|(id, _)| id.clone()) else {
            return DriverEvent::BackgroundDone;
        };
        self.effects.remove(&id);
        if !error.is_panic() {
            return DriverEvent::BackgroundDone;
        }
        tracing::error!(effect = %id, "an effect panicked");
        let inputs = match id.without_interrupts() {
            EffectId::Model(message) => vec![Input::ModelFailed {
                message: message.clone(),
                failure: Failure::from(ErrorCode::Internal),
            }],
            EffectId::Tool(call) => vec![Input::ToolReturned {
                call: call.clone(),
                result: ToolResult::Failed { reason: ToolFailure::Crashed, detail: String::new() },
                took_ms: 0,
            }],
            EffectId::Plan(version) => vec![Input::PlanSaved { version: *version }],
            EffectId::Answer => vec![Input::AnswerSaved { file: None }],
            EffectId::Child(_)
            | EffectId::Repeated(..)
            | EffectId::Human(_)
            | EffectId::Wait(_)
            | EffectId::Deliver(_) => Vec::new(),
        };
        DriverEvent::EffectPerformed { id, inputs }
    }
}
