//! What one connection was shown of a run and of each of its tasks, and what waits for its turn.
//!
//! What tasks do comes early from several writers, so it comes in no order, and some of it not at all:
//! entries are shown in theirs, and a piece of a message after all that stands before it. What is known
//! to be missing is told to whoever can read it where it does not get lost.

use std::collections::{BTreeMap, BTreeSet};

use super::turns::Turns;
use crate::entry::{Entry, Event};
use crate::id::{MessageId, TaskId};
use crate::preview::{EarlyEntry, MessageKey, OpenText, Preview, TextKind};

/// Bytes of early entries that wait for one before them, or for room. Of more, those that are furthest
/// from their turn are dropped, and missing then.
const MAX_AHEAD: usize = 1024 * 1024;

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
    /// Bytes of the entries that wait.
    ahead: usize,
}

#[derive(Default)]
struct Lane {
    stage: Stage,
    /// How many of a task's entries were shown while it was at work.
    shown: u64,
    /// How many it has at least, as far as anybody told.
    known: u64,
    /// Entries that wait for their turn, and their sizes in bytes.
    ahead: BTreeMap<u64, (EarlyEntry, usize)>,
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
                let ended = Lane { stage: Stage::Complete, ..Lane::default() };
                let lane = std::mem::replace(self.lane(Some(task)), ended);
                self.ahead -= lane.ahead.values().map(|(_, bytes)| bytes).sum::<usize>();
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
        if lane.stage == Stage::Complete || early.nth < lane.shown {
            return;
        }
        lane.known = lane.known.max(early.nth + 1);
        let bytes = serde_json::to_vec(early).map_or(0, |json| json.len());
        let before = lane.ahead.insert(early.nth, (early.clone(), bytes));
        self.ahead = self.ahead + bytes - before.map_or(0, |(_, bytes)| bytes);
        while self.ahead > MAX_AHEAD {
            self.drop_furthest();
        }
    }

    fn drop_furthest(&mut self) {
        let distance = |lane: &&mut Lane| {
            lane.ahead.last_key_value().map(|(nth, _)| nth.saturating_sub(lane.shown))
        };
        let furthest = self.lanes.values_mut().max_by_key(distance);
        let dropped = furthest.and_then(|lane| lane.ahead.pop_last());
        self.ahead = dropped.map_or(0, |(_, (_, bytes))| self.ahead.saturating_sub(bytes));
    }

    /// The next entry that can be shown now, counted as shown.
    pub(super) fn next_early(&mut self) -> Option<Entry> {
        let lane = self.lanes.values_mut().find(|lane| lane.has_next())?;
        let (early, bytes) = lane.ahead.remove(&lane.shown)?;
        self.ahead -= bytes;
        lane.shown += 1;
        lane.is_in_record = !early.ends_record;
        Some(early.entry)
    }

    /// Whether anything that waited can be shown now.
    pub(super) fn has_ready(&self) -> bool {
        self.lanes
            .iter()
            .any(|(task, lane)| lane.has_next() || lane.ready_text(task.is_some()).is_some())
    }

    /// The tasks at work that have done more than was told, and the place of the first entry that is
    /// missing.
    pub(super) fn missing(&self) -> impl Iterator<Item = (&TaskId, u64)> {
        self.lanes.iter().filter_map(|(task, lane)| {
            let task = task.as_ref()?;
            lane.misses_next().then_some((task, lane.shown))
        })
    }

    /// A task has ended, and what it did is being shown: nothing of it is early any more.
    pub(super) fn close(&mut self, task: &TaskId) {
        let lane = self.lane(Some(task));
        (lane.stage, lane.waiting) = (Stage::Complete, None);
        let dropped = std::mem::take(&mut lane.ahead);
        self.ahead -= dropped.values().map(|(_, bytes)| bytes).sum::<usize>();
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
            if lane.ready_text(task.is_some()).is_some() {
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
    fn has_next(&self) -> bool {
        self.stage == Stage::Open && self.ahead.contains_key(&self.shown)
    }

    /// Whether there is an entry that was not told: one behind it came, or it ends a record that has
    /// begun, or a text is written that comes after it.
    fn misses_next(&self) -> bool {
        let waits = self.waiting.is_some() && self.ready_text(true).is_none();
        self.stage == Stage::Open
            && !self.ahead.contains_key(&self.shown)
            && (self.known > self.shown || self.is_in_record || waits)
    }

    /// The text that has waited, if it can be shown now.
    fn ready_text(&self, is_task: bool) -> Option<&Waiting> {
        let waiting = self.waiting.as_ref()?;
        self.is_ready_for(&waiting.message.message, is_task).then_some(waiting)
    }

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
