//! Work in flight, and its results.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::effect::{Effect, EffectId};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::Input;
use djinn_core::tool::{EffectClass, ToolFailure, ToolResult};
use djinn_protocol::preview::Live;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tracing::Instrument as _;

use crate::live_reader::LiveReader;
use crate::port::StoreError;
use crate::port::lease::LeaseRenewal;
use crate::port::mailbox::MailboxContents;

/// A result of a task beside the loop.
pub(super) enum DriverEvent {
    /// An effect was performed. Without inputs, the effect is given up for now and still owed.
    EffectPerformed { id: EffectId, inputs: Vec<Input> },
    /// The mailbox was read beside the loop.
    MailRead(MailRead),
    /// These messages were deleted, or deleting them failed.
    MailDeleted(Vec<String>),
    /// The lease of this epoch was renewed.
    LeaseRenewed { epoch: u64, renewed: Result<LeaseRenewal, StoreError> },
    /// The run's alarm was set, or setting it failed.
    AlarmSet(Result<(), StoreError>),
    /// Previews were written to the live log, or lost.
    LiveWritten,
    /// New live-log items of children in other invocations, and the reader for the next poll.
    LiveRead(Box<LiveReader>, Result<Vec<Live>, StoreError>),
    /// Background work without a result is done.
    BackgroundDone,
}

/// The contents of a mailbox at one moment.
pub(super) struct MailRead {
    /// All mail put before this moment was read, in Unix milliseconds.
    pub(super) at_ms: i64,
    pub(super) mailbox: Result<MailboxContents, StoreError>,
}

/// The tasks beside the loop. Dropping this aborts all of them.
#[derive(Default)]
pub(super) struct BackgroundWork {
    tasks: JoinSet<DriverEvent>,
    effects: BTreeMap<EffectId, RunningEffect>,
    /// Effects given up in this invocation.
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
        let effect_id = id.clone();
        // Boxed, because a future that awaits another future reserves space for it twice.
        let performance = Box::pin(performance);
        let task = async move {
            DriverEvent::EffectPerformed { id: effect_id, inputs: performance.await }
        };
        let abort = self.tasks.spawn(task.in_current_span());
        self.effects.insert(id, RunningEffect { class, abort });
    }

    /// Starts background work that the run does not owe.
    pub(super) fn spawn_background(
        &mut self,
        task: impl Future<Output = DriverEvent> + Send + 'static,
    ) {
        self.tasks.spawn(task.in_current_span());
    }

    /// Returns true if this effect is in flight.
    pub(super) fn contains_effect(&self, id: &EffectId) -> bool {
        self.effects.contains_key(id)
    }

    /// Returns true if any effect has been started in this invocation.
    pub(super) fn has_started_effect(&self) -> bool {
        self.has_started_effect
    }

    /// Marks an effect as given up for the rest of the invocation.
    pub(super) fn give_up_effect(&mut self, id: EffectId) {
        self.given_up.insert(id);
    }

    /// Returns true if this effect was given up in this invocation.
    pub(super) fn has_given_up(&self, id: &EffectId) -> bool {
        self.given_up.contains(id)
    }

    /// Returns true if any effect is in flight.
    pub(super) fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Returns the number of tool calls in flight.
    pub(super) fn tool_count(&self) -> usize {
        self.effects
            .keys()
            .filter(|id| matches!(id.without_interrupts(), EffectId::Tool(_)))
            .count()
    }

    /// Returns the number of children being dispatched or driven here.
    pub(super) fn dispatch_count(&self) -> usize {
        self.effects.keys().filter(|id| matches!(id, EffectId::Child(_))).count()
    }

    /// Aborts effects that the run no longer owes.
    pub(super) fn cancel_unowed(&mut self, due: &[Effect]) {
        let owed: BTreeSet<EffectId> = due.iter().map(Effect::id).collect();
        self.cancel_except(|id, _| owed.contains(id));
    }

    /// Aborts effects that another invocation can repeat. A child driven here hands over by itself, at the
    /// same moment.
    pub(super) fn cancel_repeatable(&mut self) {
        self.cancel_except(|id, class| {
            class == EffectClass::Once || matches!(id, EffectId::Child(_))
        });
    }

    /// Aborts every effect for which `keep` returns false. Aborting a model call closes the connection: no
    /// further byte is read.
    fn cancel_except(&mut self, keep: impl Fn(&EffectId, EffectClass) -> bool) {
        self.effects.retain(|id, performance| {
            let is_kept = keep(id, performance.class);
            if !is_kept {
                performance.abort.abort();
            }
            is_kept
        });
    }

    /// Waits for the next event. Returns `None` without tasks.
    pub(super) async fn next_event(&mut self) -> Option<DriverEvent> {
        let task_result = self.tasks.join_next_with_id().await?;
        Some(self.complete_task(task_result))
    }

    /// Returns an event that has already happened, if any.
    pub(super) fn try_next_event(&mut self) -> Option<DriverEvent> {
        let task_result = self.tasks.try_join_next_with_id()?;
        Some(self.complete_task(task_result))
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

    /// Returns the failure of a task that panicked, which is a bug. An aborted task is no failure.
    fn fail_task(&mut self, error: &JoinError) -> DriverEvent {
        let effect = self.effects.iter().find(|(_, p)| p.abort.id() == error.id());
        let Some(id) = effect.map(|(id, _)| id.clone()) else {
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
