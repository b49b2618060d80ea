//! What people tell a run at work: words that its model reads at the next turn, and changes of the plan.

use std::collections::BTreeSet;

use super::{Phase, Run};
use crate::conversation::Item;
use crate::entry::Event;
use crate::input::{PlanEdited, Said};
use crate::plan::{Plan, PlanError};

/// Messages that wait to be read; more are not taken.
const MAX_UNREAD: usize = 100;

/// What was said and has not joined the conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Unread {
    words: Vec<String>,
    heard_of: BTreeSet<String>,
    /// What people wrote into the plan.
    in_plan: BTreeSet<String>,
}

impl Run {
    /// The plan's version: how often it was made or changed, but for what became of its steps.
    #[must_use]
    pub fn plan_version(&self) -> u32 {
        self.plan_file.version()
    }

    /// The plan as it stands, with what became of its steps.
    #[must_use]
    pub fn plan_now(&self) -> Option<&Plan> {
        match &self.phase {
            Phase::PlanSolving(solving) => solving.plan(),
            Phase::Reacting(_) | Phase::Summarizing(_) | Phase::Ended(_) => self.plan(),
        }
    }

    /// Whether it has a further turn, and room, for a person's words.
    #[must_use]
    pub fn can_hear(&self) -> bool {
        let at_work = matches!(self.phase, Phase::Reacting(_) | Phase::PlanSolving(_));
        at_work && !self.is_task() && self.said.words.len() < MAX_UNREAD
    }

    /// Whether this message or change has reached the run.
    #[must_use]
    pub fn has_heard(&self, id: &str) -> bool {
        self.said.heard_of.contains(id)
    }

    /// The plan as it would be after a change; `None` if there is none that can be changed now: while the
    /// planner has the word, it is the planner's.
    #[must_use]
    pub fn edited(&self, edited: &PlanEdited) -> Option<Result<Plan, PlanError>> {
        let Phase::PlanSolving(solving) = &self.phase else { return None };
        // A word of the planner's that is on its way does not know of it, and could undo it.
        solving.is_in_round().then_some(())?;
        let max_steps = self.asked.settings.plan.max_steps as usize;
        Some(solving.plan()?.edited(&edited.title, &edited.steps, max_steps))
    }

    /// What people wrote into the plan: titles, stages and steps, whatever became of them.
    pub fn plan_words(&self) -> impl Iterator<Item = &str> {
        self.said.in_plan.iter().map(String::as_str)
    }

    /// A person wrote this into the plan.
    pub(super) fn note_plan_words(&mut self, words: &str) {
        if !words.is_empty() {
            self.said.in_plan.insert(words.to_owned());
        }
    }

    /// A person says something. `None` if there is no further turn to read it.
    pub(super) fn user_said(&mut self, said: &Said) -> Option<Vec<(String, Event)>> {
        let taken = self.can_hear() && self.said.heard_of.insert(said.id.clone());
        taken.then(|| {
            self.said.words.push(said.text.clone());
            let event = Event::UserSaid { by: said.by.clone(), text: said.text.clone() };
            vec![(format!("said.{}", said.id), event)]
        })
    }

    /// A person changes the plan. `None` if it is another by now, or cannot be changed so.
    pub(super) fn plan_edited(
        &mut self,
        edited: &PlanEdited,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let plan = self.edited(edited)?.ok()?;
        if edited.version != self.plan_version() || !self.said.heard_of.insert(edited.id.clone()) {
            return None;
        }
        let steps = edited.steps.iter().flat_map(|step| [&step.stage, &step.details]);
        steps.chain([&edited.title]).for_each(|words| self.note_plan_words(words));
        let Phase::PlanSolving(solving) = &mut self.phase else { return None };
        let (plan, begun) = solving.edit(plan, &self.asked.settings);
        self.plan_file.is_now(&plan);
        let id = format!("edit.{}", edited.id);
        let mut events = vec![(id, Event::PlanChanged { plan })];
        events.extend(begun.events);
        events.extend(self.ask_about_calls(begun.asks, at_ms));
        self.hand_out();
        Some(events)
    }

    /// Items join the conversation, and after a complete turn what people said meanwhile. Returns
    /// whether there was something of that.
    pub(super) fn join(&mut self, items: Vec<Item>) -> bool {
        let complete = !items.is_empty();
        self.compacting.add(&self.seen_items(&items));
        self.conversation.items.extend(items);
        if !complete || self.said.words.is_empty() {
            return false;
        }
        let said: Vec<Item> =
            std::mem::take(&mut self.said.words).into_iter().map(Item::Said).collect();
        self.compacting.add(&self.seen_items(&said));
        self.conversation.items.extend(said);
        true
    }
}
