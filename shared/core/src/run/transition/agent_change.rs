//! The hand-over of a run to another agent.

use std::sync::Arc;

use super::{Handled, Transition};
use crate::entry::Event;
use crate::id::{EntryId, EntryName};
use crate::input::AgentChanged;
use crate::run::Phase;

impl Transition<'_> {
    /// Lets another agent work on the question. Conversation, files, budget and taint stay those of the run.
    pub(super) fn on_agent_changed(&mut self, changed: &AgentChanged) -> Handled {
        let run = &mut *self.run;
        let hand_over = run.phase.agent_mut()?.hand_over(&changed.call)?;
        self.events.extend(hand_over.events);
        self.extend_conversation(hand_over.items);
        self.append_user_messages();
        let run = &mut *self.run;
        run.freeze_taint();
        Arc::make_mut(&mut run.spec).change_agent(changed, run.ledger.spending().steps);
        run.conversation.question.clone_from(&run.spec.question);
        run.compaction.forget_limits();
        run.phase = Phase::first(&run.spec, hand_over.next);
        if run.tainted {
            run.taint();
        }
        let agent = &changed.agent;
        let event = Event::AgentChanged {
            call: changed.call.clone(),
            agent: agent.name.clone(),
            title: agent.title.clone(),
            machine: run.spec.machine(),
            agent_type: agent.agent_type,
        };
        self.push(EntryId::of_call(&changed.call, EntryName::AgentChange), event);
        self.go_on(None);
        Some(())
    }
}
