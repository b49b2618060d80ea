//! The position of a run or child between turns, derived from its entries.

use std::collections::BTreeSet;

use djinn_core::entry::Event;
use djinn_core::id::{CallId, ChildId, MessageId};

/// The turns of one lane: of the run itself, or of one child.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnTracker {
    completed: u32,
    open_calls: BTreeSet<CallId>,
    /// Runs below at work: the next turn starts after all have ended.
    open_children: BTreeSet<ChildId>,
}

impl TurnTracker {
    /// Takes an entry of this lane.
    pub(super) fn apply_event(&mut self, event: &Event) {
        match event {
            Event::MessageCompleted { message, .. } => {
                self.completed = self.completed.max(message.turn_number().unwrap_or_default());
                self.open_children.clear();
            }
            Event::CallRequested { call, .. } => {
                self.open_calls.insert(call.clone());
            }
            Event::CallCompleted { call, .. } => {
                self.open_calls.remove(call);
                // An agent call that failed to start has no end event.
                if let Some(child) = call.to_child() {
                    self.open_children.remove(&child);
                }
            }
            Event::ChildStarted { child, .. } => {
                self.open_children.insert(child.clone());
            }
            Event::ChildEnded { child, .. } => {
                self.open_children.remove(child);
            }
            Event::RunStarted { .. }
            | Event::ModelChanged(_)
            | Event::AgentChanged { .. }
            | Event::ModelDelayed { .. }
            | Event::RunResumed { .. }
            | Event::MessageReset { .. }
            | Event::FileAdded { .. }
            | Event::ContextCompacted { .. }
            | Event::EmployeesNamed { .. }
            | Event::PlanChanged { .. }
            | Event::StepChanged { .. }
            | Event::ReviewCompleted(_)
            | Event::UserMessageAdded { .. }
            | Event::HumanRequested { .. }
            | Event::HumanResolved(_)
            | Event::VerdictGiven(_)
            | Event::RunEnded(_) => {}
        }
    }

    /// Returns true if all entries before this message are known. A message outside the turns never waits.
    pub(super) fn has_reached(&self, message: &MessageId) -> bool {
        message.turn_number().is_none_or(|turn| {
            turn <= self.completed || (turn == self.completed + 1 && self.is_between_turns())
        })
    }

    /// Returns the turn that a model may be writing now.
    pub(super) fn current_message(&self) -> Option<MessageId> {
        self.is_between_turns().then(|| MessageId::for_turn(self.completed + 1))
    }

    fn is_between_turns(&self) -> bool {
        self.open_calls.is_empty() && self.open_children.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::tool::{ToolFailure, ToolResult};

    #[test]
    fn the_next_turn_waits_for_runs_below_but_not_for_an_agent_that_was_not_called() {
        let next = MessageId::for_turn(2);
        let call = CallId::new("t1.c1").unwrap();
        let start =
            |child| Event::ChildStarted { child, description: String::new(), agent: String::new() };
        let mut turns = TurnTracker { completed: 1, ..TurnTracker::default() };
        assert!(turns.has_reached(&next));
        turns.apply_event(&start(ChildId::for_step(1, 1)));
        assert!(!turns.has_reached(&next));

        let mut turns = TurnTracker { completed: 1, ..TurnTracker::default() };
        turns.apply_event(&start(call.to_child().unwrap()));
        assert!(!turns.has_reached(&next));
        // Its arguments were wrong: there is no `child.ended`.
        let detail = String::new();
        let result = ToolResult::Failed { reason: ToolFailure::BadArguments, detail };
        turns.apply_event(&Event::CallCompleted { call, result });
        assert!(turns.has_reached(&next));
    }
}
