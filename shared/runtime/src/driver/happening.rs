//! What is in flight, and what becomes of it.

use std::collections::BTreeMap;

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::effect::EffectId;
use djinn_core::input::Input;
use djinn_core::preview::Live;
use djinn_core::tool::{EffectClass, FailReason, Outcome};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tracing::Instrument as _;

use crate::live::LiveReader;
use crate::port::StoreError;
use crate::port::lease::Renewed;
use crate::port::mailbox::Mail;

/// Something that a task beside the loop brought.
pub(super) enum Happening {
    /// An effect was performed. Without inputs it was given up for now and is still owed.
    Performed { id: EffectId, inputs: Vec<Input> },
    /// The mailbox was read, at this moment or later.
    Mail(i64, Result<Vec<Mail>, StoreError>),
    /// These messages were deleted, or could not be.
    MailDeleted(Vec<String>),
    /// The lease of this epoch was renewed.
    Renewed { epoch: u64, renewed: Result<Renewed, StoreError> },
    /// The run's alarm is set, or could not be.
    AlarmSet(bool),
    /// Previews were written to the live log, or lost.
    LiveWritten,
    /// What tasks in other invocations wrote to the live log, and who reads on.
    LiveRead(Box<LiveReader>, Result<Vec<Live>, StoreError>),
    /// Something that nobody waits for is done.
    Nothing,
}

/// The tasks beside the loop. They are aborted when it ends.
#[derive(Default)]
pub(super) struct InFlight {
    tasks: JoinSet<Happening>,
    performing: BTreeMap<EffectId, Performance>,
}

struct Performance {
    class: EffectClass,
    abort: AbortHandle,
}

impl InFlight {
    /// Starts performing an effect.
    pub(super) fn perform(
        &mut self,
        id: EffectId,
        class: EffectClass,
        performance: impl Future<Output = Vec<Input>> + Send + 'static,
    ) {
        let performed = id.clone();
        // In a box, since a future that awaits what it was given holds room for it twice.
        let performance = Box::pin(performance);
        let task = async move { Happening::Performed { id: performed, inputs: performance.await } };
        let abort = self.tasks.spawn(task.in_current_span());
        self.performing.insert(id, Performance { class, abort });
    }

    /// Starts something that is not owed by the run.
    pub(super) fn beside(&mut self, task: impl Future<Output = Happening> + Send + 'static) {
        self.tasks.spawn(task.in_current_span());
    }

    /// Whether this effect is being performed.
    pub(super) fn contains(&self, id: &EffectId) -> bool {
        self.performing.contains_key(id)
    }

    /// Whether any effect is.
    pub(super) fn is_performing(&self) -> bool {
        !self.performing.is_empty()
    }

    /// How many tools are running.
    pub(super) fn tools(&self) -> usize {
        self.performing.keys().filter(|id| matches!(id.first(), EffectId::Tool(_))).count()
    }

    /// How many tasks are being dispatched, or worked on here.
    pub(super) fn dispatches(&self) -> usize {
        self.performing.keys().filter(|id| matches!(id, EffectId::Task(_))).count()
    }

    /// Aborts every performance that `keep` does not want. Aborting a model call closes its
    /// connection: no further byte is read.
    pub(super) fn cancel_all_but(&mut self, keep: impl Fn(&EffectId, EffectClass) -> bool) {
        self.performing.retain(|id, performance| {
            let kept = keep(id, performance.class);
            if !kept {
                performance.abort.abort();
            }
            kept
        });
    }

    /// The next thing that happens; `None` when there is no task at all.
    pub(super) async fn next(&mut self) -> Option<Happening> {
        let joined = self.tasks.join_next_with_id().await?;
        Some(self.joined(joined))
    }

    /// Something that has happened already, if anything has.
    pub(super) fn already(&mut self) -> Option<Happening> {
        let joined = self.tasks.try_join_next_with_id()?;
        Some(self.joined(joined))
    }

    fn joined(&mut self, joined: Result<(Id, Happening), JoinError>) -> Happening {
        match joined {
            Ok((task, happening)) => {
                if let Happening::Performed { id, .. } = &happening
                    && self.performing.get(id).is_some_and(|p| p.abort.id() == task)
                {
                    self.performing.remove(id);
                }
                happening
            }
            Err(error) => self.broken(&error),
        }
    }

    /// A task panicked, which is a bug, or was aborted, which is not.
    fn broken(&mut self, error: &JoinError) -> Happening {
        let broken = self.performing.iter().find(|(_, p)| p.abort.id() == error.id());
        let Some(id) = broken.map(|(id, _)| id.clone()) else {
            return Happening::Nothing;
        };
        self.performing.remove(&id);
        if !error.is_panic() {
            return Happening::Nothing;
        }
        tracing::error!(effect = %id, "an effect panicked");
        let inputs = match id.first() {
            EffectId::Model(message) => vec![Input::ModelFailed {
                message: message.clone(),
                failure: Failure::from(ErrorCode::Internal),
            }],
            EffectId::Tool(call) => vec![Input::ToolReturned {
                call: call.clone(),
                outcome: Outcome::Failed { reason: FailReason::Crashed, detail: String::new() },
                took_ms: 0,
            }],
            EffectId::Plan(version) => vec![Input::PlanKept { version: *version }],
            EffectId::Task(_)
            | EffectId::Again(..)
            | EffectId::Ask(_)
            | EffectId::Wait(_)
            | EffectId::Deliver(_) => Vec::new(),
        };
        Happening::Performed { id, inputs }
    }
}
