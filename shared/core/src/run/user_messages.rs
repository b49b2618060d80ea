//! What people tell a run at work: words that its model reads at the next turn, and changes of the plan.

use std::collections::BTreeSet;

use super::{Phase, Run};
use crate::conversation::ConversationItem;
use crate::entry::Event;
use crate::input::{PlanEdit, UserMessage};
use crate::plan::{Plan, PlanError};

/// Messages that wait to be read; more are not taken.
const MAX_PENDING_MESSAGES: usize = 100;

/// What was said and has not joined the conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PendingMessages {
    texts: Vec<String>,
    seen_ids: BTreeSet<String>,
    /// What people wrote into the plan.
    plan_texts: BTreeSet<String>,
}

impl Run {
    /// The plan's version: how often it was made or changed, but for what became of its steps.
    #[must_use]
    pub fn plan_version(&self) -> u32 {
        self.plan_file.version()
    }

    /// The plan as it stands, with what became of its steps.
    #[must_use]
    pub fn current_plan(&self) -> Option<&Plan> {
        match &self.phase {
            Phase::PlanSolving(solving) => solving.plan(),
            Phase::Reacting(_) | Phase::Summarizing(_) | Phase::Ended(_) => self.plan(),
        }
    }

    /// Whether it has a further turn, and room, for a person's words.
    #[must_use]
    pub fn accepts_messages(&self) -> bool {
        let at_work = matches!(self.phase, Phase::Reacting(_) | Phase::PlanSolving(_));
        at_work && !self.is_child() && self.pending_messages.texts.len() < MAX_PENDING_MESSAGES
    }

    /// Whether this message or change has reached the run.
    #[must_use]
    pub fn has_seen_id(&self, id: &str) -> bool {
        self.pending_messages.seen_ids.contains(id)
    }

    /// The plan as it would be after a change; `None` if there is none that can be changed now: while the
    /// planner has the word, it is the planner's.
    #[must_use]
    pub fn edited_plan(&self, edited: &PlanEdit) -> Option<Result<Plan, PlanError>> {
        let Phase::PlanSolving(solving) = &self.phase else { return None };
        // A word of the planner's that is on its way does not know of it, and could undo it.
        solving.is_in_round().then_some(())?;
        let max_steps = self.spec.settings.plan.max_steps as usize;
        Some(solving.plan()?.with_edits(&edited.title, &edited.steps, max_steps))
    }

    /// What people wrote into the plan: titles, stages and steps, whatever became of them.
    pub fn user_plan_texts(&self) -> impl Iterator<Item = &str> {
        self.pending_messages.plan_texts.iter().map(String::as_str)
    }

    /// A person wrote this into the plan.
    pub(super) fn record_plan_text(&mut self, words: &str) {
        if !words.is_empty() {
            self.pending_messages.plan_texts.insert(words.to_owned());
        }
    }

    /// A person says something. `None` if there is no further turn to read it.
    pub(super) fn on_user_message(&mut self, said: &UserMessage) -> Option<Vec<(String, Event)>> {
        let taken =
            self.accepts_messages() && self.pending_messages.seen_ids.insert(said.id.clone());
        taken.then(|| {
            self.pending_messages.texts.push(said.text.clone());
            let event = Event::UserMessageAdded { by: said.by.clone(), text: said.text.clone() };
            vec![(format!("user_message.{}", said.id), event)]
        })
    }

    /// A person changes the plan. `None` if it is another by now, or cannot be changed so.
    pub(super) fn on_plan_edited(
        &mut self,
        edited: &PlanEdit,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let plan = self.edited_plan(edited)?.ok()?;
        if edited.version != self.plan_version()
            || !self.pending_messages.seen_ids.insert(edited.id.clone())
        {
            return None;
        }
        let steps = edited.steps.iter().flat_map(|step| [&step.stage, &step.details]);
        steps.chain([&edited.title]).for_each(|words| self.record_plan_text(words));
        let Phase::PlanSolving(solving) = &mut self.phase else { return None };
        let (plan, begun) = solving.replace_plan(plan, &self.spec.settings);
        self.plan_file.set_plan(&plan);
        let id = format!("edit.{}", edited.id);
        let mut events = vec![(id, Event::PlanChanged { plan })];
        events.extend(begun.events);
        events.extend(self.request_call_approvals(begun.requests, at_ms));
        self.allocate_shares();
        Some(events)
    }

    /// Items join the conversation, and after a complete turn what people said meanwhile. Returns
    /// whether there was something of that.
    pub(super) fn append_items(&mut self, items: Vec<ConversationItem>) -> bool {
        let complete = !items.is_empty();
        self.compaction.add_items(&self.model_view_of_items(&items));
        self.conversation.items.extend(items);
        if !complete || self.pending_messages.texts.is_empty() {
            return false;
        }
        let said: Vec<ConversationItem> = std::mem::take(&mut self.pending_messages.texts)
            .into_iter()
            .map(ConversationItem::UserMessage)
            .collect();
        self.compaction.add_items(&self.model_view_of_items(&said));
        self.conversation.items.extend(said);
        true
    }
}
