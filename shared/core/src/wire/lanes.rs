//! What one connection was shown of a run and of each of its tasks, and what waits for its turn.
//!
//! What tasks do comes early from several writers, so it comes in no order: entries are shown in
//! theirs, and a piece of a message after all that stands before it.

use std::collections::{BTreeMap, BTreeSet};

use super::turns::Turns;
use crate::entry::{Entry, Event};
use crate::id::{MessageId, TaskId};
use crate::preview::{EarlyEntry, MessageKey, OpenText, Preview, TextKind};

/// Early entries of one task that wait for one before them; more are left to its end.
const MAX_AHEAD: usize = 1_000;

/// The lanes of one connection: the run's own, and one of each task.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: BTreeMap<Option<TaskId>, Lane>,
    /// Messages whose previews no longer matter.
    completed: BTreeSet<MessageKey>,
    /// Attempts that are void, and all before them.
    void: BTreeMap<MessageKey, u32>,
    /// The newest attempts that were shown.
    seen: BTreeMap<MessageKey, u32>,
}

#[derive(Default)]
struct Lane {
    stage: Stage,
    /// How many of a task's entries were shown while it was at work.
    shown: u64,
    /// Entries that came before one that stands before them.
    ahead: BTreeMap<u64, EarlyEntry>,
    /// Whether more entries of the newest record are on their way.
    is_in_record: bool,
    turns: Turns,
    /// The newest message that came before its turn.
    waiting: Option<Waiting>,
}

/// Where a task stands for this connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// The record that begins it was not shown.
    #[default]
    Unknown,
    /// It is at work.
    Open,
    /// It has ended, and all of it was shown.
    Complete,
}

/// A text that waits.
struct Waiting {
    message: MessageKey,
    text: OpenText,
    at_ms: i64,
}

impl Lanes {
    /// Takes an entry that is being shown.
    pub(super) fn entry(&mut self, entry: &Entry) {
        self.lane(entry.within.as_ref()).turns.entry(&entry.event);
        match &entry.event {
            Event::TaskStarted { task, .. } => self.lane(Some(task)).stage = Stage::Open,
            Event::TaskEnded { task, .. } => {
                let lane = self.lane(Some(task));
                *lane = Lane { stage: Stage::Complete, ..Lane::default() };
            }
            Event::MessageCompleted { message, .. } => {
                let key = entry.key(message);
                self.seen.remove(&key);
                self.void.remove(&key);
                self.completed.insert(key);
            }
            Event::ItemReset { message, attempt, .. } => {
                self.void.insert(entry.key(message), *attempt);
            }
            Event::RunResumed { .. } => {
                let of_it = |key: &MessageKey| key.within == entry.within;
                let seen = self.seen.iter().filter(|(key, _)| of_it(key));
                self.void.extend(seen.map(|(key, attempt)| (key.clone(), *attempt)));
            }
            Event::RunStarted { .. }
            | Event::ModelChanged(_)
            | Event::CallRequested { .. }
            | Event::CallCompleted { .. }
            | Event::FileAdded { .. }
            | Event::ContextCompacted { .. }
            | Event::EmployeesNamed { .. }
            | Event::PlanChanged { .. }
            | Event::StepChanged { .. }
            | Event::UserSaid { .. }
            | Event::FeedbackAsked { .. }
            | Event::FeedbackAnswered(_)
            | Event::RunEnded(_) => {}
        }
    }

    /// Keeps an entry of a task at work until all before it were shown; one that was shown, or is
    /// shown with its task's end, is dropped.
    pub(super) fn early(&mut self, early: &EarlyEntry) {
        let Some(task) = &early.entry.within else { return };
        let lane = self.lane(Some(task));
        let is_news = lane.stage != Stage::Complete && early.nth >= lane.shown;
        if is_news && lane.ahead.len() < MAX_AHEAD {
            lane.ahead.insert(early.nth, early.clone());
        }
    }

    /// The next entry that can be shown now, counted as shown.
    pub(super) fn next_early(&mut self) -> Option<Entry> {
        let ready =
            |lane: &&mut Lane| lane.stage == Stage::Open && lane.ahead.contains_key(&lane.shown);
        let lane = self.lanes.values_mut().find(ready)?;
        let early = lane.ahead.remove(&lane.shown)?;
        lane.shown += 1;
        lane.is_in_record = !early.ends_record;
        Some(early.entry)
    }

    /// A task has ended, and what it did is being shown: nothing of it is early any more.
    pub(super) fn close(&mut self, task: &TaskId) {
        let lane = self.lane(Some(task));
        lane.stage = Stage::Complete;
        (lane.ahead, lane.waiting) = (BTreeMap::new(), None);
    }

    /// How many entries of each task at work were shown.
    pub(super) fn shown_early(&self) -> BTreeMap<TaskId, u64> {
        let shown = |(task, lane): (&Option<TaskId>, &Lane)| Some((task.clone()?, lane.shown));
        self.lanes.iter().filter_map(shown).collect()
    }

    /// The piece, if it can be shown now. One that comes before its turn waits, and one that no longer
    /// matters is dropped.
    pub(super) fn preview(&mut self, preview: &Preview) -> Option<Preview> {
        if self.is_late(preview) {
            return None;
        }
        let lane = self.lane(preview.within.as_ref());
        if lane.is_ready_for(&preview.message, preview.within.is_some()) {
            self.seen.insert(preview.key(), preview.attempt);
            return Some(preview.clone());
        }
        lane.wait(preview);
        None
    }

    /// The texts that have waited and can be shown now.
    pub(super) fn ready_previews(&mut self) -> Vec<Preview> {
        let mut waited = Vec::new();
        for (task, lane) in &mut self.lanes {
            let message = lane.waiting.as_ref().map(|waiting| waiting.message.message.clone());
            if message.is_some_and(|message| lane.is_ready_for(&message, task.is_some())) {
                waited.extend(lane.waiting.take());
            }
        }
        let pieces = waited.iter().flat_map(Waiting::pieces).collect::<Vec<_>>();
        pieces.iter().filter_map(|piece| self.preview(piece)).collect()
    }

    /// Whether a piece is of a complete message, a void attempt, or a task that the client had to its
    /// end, perhaps on an earlier connection.
    fn is_late(&self, preview: &Preview) -> bool {
        let key = preview.key();
        let lane = preview.within.as_ref().and_then(|task| self.lanes.get(&Some(task.clone())));
        let void = self.void.get(&key).copied().unwrap_or_default();
        lane.is_some_and(|lane| lane.stage == Stage::Complete)
            || self.completed.contains(&key)
            || preview.attempt <= void
    }

    fn lane(&mut self, task: Option<&TaskId>) -> &mut Lane {
        self.lanes.entry(task.cloned()).or_default()
    }
}

impl Lane {
    /// Whether a piece of this message would stand where it belongs.
    fn is_ready_for(&self, message: &MessageId, is_task: bool) -> bool {
        let has_begun = !is_task || self.stage != Stage::Unknown;
        has_begun && !self.is_in_record && self.turns.has_come_to(message)
    }

    /// Keeps a piece. Of a message that a newer one follows the whole is on its way.
    fn wait(&mut self, preview: &Preview) {
        let (message, at_ms) = (preview.key(), preview.at_ms);
        let turn = preview.message.turn_number();
        let waits_for = |waiting: &Waiting| waiting.message.message.turn_number();
        if self.waiting.as_ref().is_some_and(|waiting| waits_for(waiting) > turn) {
            return;
        }
        let fresh = || Waiting { message: message.clone(), text: OpenText::default(), at_ms };
        let waiting = self.waiting.take().filter(|waiting| waiting.message == message);
        let mut waiting = waiting.unwrap_or_else(fresh);
        waiting.text.apply(preview);
        self.waiting = Some(waiting);
    }
}

impl Waiting {
    /// All of it, as pieces.
    fn pieces(&self) -> Vec<Preview> {
        let piece = |kind| Preview {
            within: self.message.within.clone(),
            message: self.message.message.clone(),
            attempt: self.text.attempt(),
            kind,
            offset: 0,
            text: self.text.of(kind).to_owned(),
            at_ms: self.at_ms,
        };
        let pieces = [TextKind::Reasoning, TextKind::Text].map(piece).into_iter();
        pieces.filter(|piece| !piece.text.is_empty()).collect()
    }
}
