//! Messages of users to a run at work: texts that its model reads at the next turn, and changes of the plan.

use std::collections::BTreeSet;

use crate::conversation::{ConversationItem, PlanChange};
use crate::entry::Event;
use crate::id::{EntryId, EntryName};
use crate::input::{PlanEdit, UserMessage};
use crate::plan::Plan;

/// Maximum waiting messages; further messages are rejected.
const MAX_PENDING_MESSAGES: usize = 100;

/// Messages and changes that have not joined the conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PendingMessages {
    texts: Vec<String>,
    plan_change: Option<Box<PlanChange>>,
    seen_ids: BTreeSet<String>,
    /// The texts that users wrote into the plan.
    plan_texts: BTreeSet<String>,
}

impl PendingMessages {
    pub(super) fn has_room(&self) -> bool {
        self.texts.len() < MAX_PENDING_MESSAGES
    }

    /// Returns true if this message or change was accepted.
    pub(super) fn has_seen(&self, id: &str) -> bool {
        self.seen_ids.contains(id)
    }

    /// Adds a message and returns the event for viewers. `None` for a repeated message, or if no room is
    /// left.
    pub(super) fn add_message(&mut self, message: &UserMessage) -> Option<(EntryId, Event)> {
        let is_taken = self.has_room() && self.seen_ids.insert(message.id.clone());
        is_taken.then(|| {
            self.texts.push(message.text.clone());
            let by = message.by.clone();
            let text = message.text.clone();
            let id = EntryId::local(EntryName::UserMessage(message.id.clone()));
            (id, Event::UserMessageAdded { by, text })
        })
    }

    /// Adds a change of the plan. Returns true if the change is new.
    pub(super) fn add_plan_edit(&mut self, edit: &PlanEdit) -> bool {
        let is_new = self.seen_ids.insert(edit.id.clone());
        if is_new {
            let steps = edit.steps.iter().flat_map(|step| [&step.stage, &step.details]);
            steps.chain([&edit.title]).for_each(|text| self.add_plan_text(text));
        }
        is_new
    }

    /// Adds a change of the plan for the planner. Later changes join this change.
    pub(super) fn add_plan_change(&mut self, before: Plan, after: Plan, comment: &str) {
        let fresh =
            || Box::new(PlanChange { before, after: after.clone(), comment: String::new() });
        let change = self.plan_change.get_or_insert_with(fresh);
        change.after = after;
        if !comment.is_empty() {
            let gap = if change.comment.is_empty() { "" } else { "\n\n" };
            change.comment.push_str(gap);
            change.comment.push_str(comment);
        }
    }

    /// Adds a text that a user wrote into the plan.
    pub(super) fn add_plan_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.plan_texts.insert(text.to_owned());
        }
    }

    /// Returns texts that users wrote into the plan: titles, stages and steps, including removed texts.
    pub(super) fn plan_texts(&self) -> impl Iterator<Item = &str> {
        self.plan_texts.iter().map(String::as_str)
    }

    /// Takes the messages that join the conversation now.
    pub(super) fn take_messages(&mut self) -> Vec<ConversationItem> {
        let texts = std::mem::take(&mut self.texts);
        texts.into_iter().map(ConversationItem::UserMessage).collect()
    }

    /// Takes the users' changes of the plan, which join the conversation before their messages.
    pub(super) fn take_plan_change(&mut self) -> Option<ConversationItem> {
        self.plan_change.take().map(ConversationItem::PlanEdited)
    }
}
