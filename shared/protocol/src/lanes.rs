//! What one connection was shown of each run of a tree, and what waits for its turn.
//!
//! What runs below the root do comes early from several writers, so it comes in no order, and some of it not at all:
//! entries are shown in theirs, and a piece of a message after all that stands before it. What is known
//! to be missing is told to whoever can read it where it does not get lost.

use std::collections::{BTreeMap, BTreeSet};

use super::turn_tracker::TurnTracker;
use crate::preview::{EarlyEntry, OpenText, Preview, TextKind};
use djinn_core::entry::{Entry, Event};
use djinn_core::id::{MessageId, MessageKey, Path};

/// Bytes of early entries that wait for one before them, or for room. Of more, those that are furthest
/// from their turn are dropped, and missing then.
const MAX_WAITING_BYTES: usize = 1024 * 1024;

/// The first entry of a run that a client misses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingEntry {
    /// The path of the run.
    pub path: Path,
    /// The place among the entries of its journal.
    pub nth: u64,
    /// True if the run has ended: then the entry is in its journal.
    pub is_recorded: bool,
}

/// The lanes of one connection: one of each run of the tree.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: BTreeMap<Path, Lane>,
    /// Messages whose previews no longer matter.
    completed: BTreeSet<MessageKey>,
    /// Attempts that are void, and all before them.
    void_attempts: BTreeMap<MessageKey, u32>,
    /// The newest attempts that were shown.
    shown_attempts: BTreeMap<MessageKey, u32>,
    /// Bytes of the entries that wait.
    waiting_bytes: usize,
}

#[derive(Default)]
struct Lane {
    stage: LaneStage,
    /// How many of a child's entries were shown while it was at work.
    shown_count: u64,
    /// How many it has at least, as far as anybody told.
    known_count: u64,
    /// Set once its end has come: then all its entries are in its journal.
    has_ended: bool,
    /// Entries that wait for their turn, and their sizes in bytes.
    waiting_entries: BTreeMap<u64, (EarlyEntry, usize)>,
    /// Whether more entries of the newest record are on their way.
    is_in_record: bool,
    turns: TurnTracker,
    /// The newest message that came before its turn.
    waiting_text: Option<WaitingText>,
}

/// Where a child stands for this connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LaneStage {
    /// The record that begins it was not shown.
    #[default]
    Unknown,
    /// It is at work.
    Running,
    /// It has ended, and all of it was shown.
    Complete,
}

/// A text that waits.
struct WaitingText {
    message: MessageKey,
    text: OpenText,
    at_ms: i64,
}

impl Lanes {
    /// Takes an entry that is being shown.
    pub(super) fn apply_entry(&mut self, entry: &Entry) {
        self.lane_mut(&entry.path).turns.apply_event(&entry.event);
        match &entry.event {
            Event::ChildStarted { child, .. } => {
                self.lane_mut(&entry.path.with_child(child.clone())).stage = LaneStage::Running;
            }
            Event::ChildEnded { child, .. } => {
                self.end_lane(&entry.path.with_child(child.clone()), entry.path.is_root());
            }
            Event::MessageCompleted { message, .. } => {
                let key = entry.message_key(message);
                self.shown_attempts.remove(&key);
                self.void_attempts.remove(&key);
                self.completed.insert(key);
            }
            Event::MessageReset { message, attempt, .. } => {
                self.void_attempts.insert(entry.message_key(message), *attempt);
            }
            Event::RunResumed { .. } => {
                let of_it = |key: &MessageKey| key.path == entry.path;
                let seen = self.shown_attempts.iter().filter(|(key, _)| of_it(key));
                self.void_attempts.extend(seen.map(|(key, attempt)| (key.clone(), *attempt)));
            }
            Event::RunStarted { .. }
            | Event::ModelChanged(_)
            | Event::ModelDelayed { .. }
            | Event::CallRequested { .. }
            | Event::CallCompleted { .. }
            | Event::FileAdded { .. }
            | Event::ContextCompacted { .. }
            | Event::EmployeesNamed { .. }
            | Event::PlanChanged { .. }
            | Event::StepChanged { .. }
            | Event::UserMessageAdded { .. }
            | Event::HumanRequested { .. }
            | Event::HumanResolved(_)
            | Event::RunEnded(_) => {}
        }
    }

    /// Keeps an entry of a child at work until all before it were shown; one that was shown, or is
    /// shown with its child's end, is dropped.
    pub(super) fn add_early_entry(&mut self, early: &EarlyEntry) {
        if early.entry.path.is_root() {
            return;
        }
        let lane = self.lane_mut(&early.entry.path);
        if lane.stage == LaneStage::Complete || early.index < lane.shown_count {
            return;
        }
        lane.known_count = lane.known_count.max(early.index + 1);
        if let Some((ended, count)) = ended_run(&early.entry) {
            let below = self.lane_mut(&ended);
            below.known_count = below.known_count.max(count);
            below.has_ended = true;
        }
        let lane = self.lane_mut(&early.entry.path);
        let bytes = serde_json::to_vec(early).map_or(0, |json| json.len());
        let before = lane.waiting_entries.insert(early.index, (early.clone(), bytes));
        self.waiting_bytes = self.waiting_bytes + bytes - before.map_or(0, |(_, bytes)| bytes);
        while self.waiting_bytes > MAX_WAITING_BYTES {
            self.drop_furthest();
        }
    }

    fn drop_furthest(&mut self) {
        let distance = |lane: &&mut Lane| {
            lane.waiting_entries
                .last_key_value()
                .map(|(nth, _)| nth.saturating_sub(lane.shown_count))
        };
        let furthest = self.lanes.values_mut().max_by_key(distance);
        let dropped = furthest.and_then(|lane| lane.waiting_entries.pop_last());
        self.waiting_bytes =
            dropped.map_or(0, |(_, (_, bytes))| self.waiting_bytes.saturating_sub(bytes));
    }

    /// The next entry that can be shown now, counted as shown.
    pub(super) fn take_next_entry(&mut self) -> Option<Entry> {
        let path = self.next_lane()?.clone();
        let lane = self.lanes.get_mut(&path)?;
        let (early, bytes) = lane.waiting_entries.remove(&lane.shown_count)?;
        self.waiting_bytes -= bytes;
        lane.shown_count += 1;
        lane.is_in_record = !early.ends_record;
        Some(early.entry)
    }

    /// Whether anything that waited can be shown now.
    pub(super) fn has_ready(&self) -> bool {
        let has_text = |(path, lane): (&Path, &Lane)| lane.ready_text(!path.is_root()).is_some();
        self.next_lane().is_some() || self.lanes.iter().any(has_text)
    }

    /// The run whose next entry can be shown now. The end of a run below waits until all that it did was shown.
    fn next_lane(&self) -> Option<&Path> {
        let is_shown = |(ended, count): (Path, u64)| {
            self.lanes.get(&ended).map_or(0, |lane| lane.shown_count) >= count
        };
        let can_show = |lane: &Lane| {
            lane.next_entry().is_some_and(|entry| ended_run(entry).is_none_or(is_shown))
        };
        self.lanes.iter().find(|(_, lane)| can_show(lane)).map(|(path, _)| path)
    }

    /// The children at work that have done more than was told, and the place of the first entry that is
    /// missing.
    pub(super) fn missing_entries(&self) -> impl Iterator<Item = MissingEntry> {
        let below = self.lanes.iter().filter(|(path, _)| !path.is_root());
        below.filter(|(_, lane)| lane.misses_next()).map(|(path, lane)| MissingEntry {
            path: path.clone(),
            nth: lane.shown_count,
            is_recorded: lane.has_ended,
        })
    }

    /// The runs below the root that are at work.
    pub(super) fn lanes_at_work(&self) -> impl Iterator<Item = &Path> {
        let below = self.lanes.iter().filter(|(path, _)| !path.is_root());
        below.filter(|(_, lane)| lane.stage == LaneStage::Running).map(|(path, _)| path)
    }

    /// Somebody knows that there is an entry at this place.
    pub(super) fn expect_entry(&mut self, path: &Path, nth: u64) {
        let lane = self.lane_mut(path);
        lane.known_count = lane.known_count.max(nth + 1);
    }

    /// A child has ended, and what it did is being shown: nothing of it is early any more.
    pub(super) fn close_lane(&mut self, path: &Path) {
        let lane = self.lane_mut(path);
        (lane.stage, lane.waiting_text) = (LaneStage::Complete, None);
        let dropped = std::mem::take(&mut lane.waiting_entries);
        self.waiting_bytes -= dropped.values().map(|(_, bytes)| bytes).sum::<usize>();
    }

    /// How many entries of each child at work were shown.
    pub(super) fn shown_counts(&self) -> BTreeMap<Path, u64> {
        let below = self.lanes.iter().filter(|(path, _)| !path.is_root());
        below.map(|(path, lane)| (path.clone(), lane.shown_count)).collect()
    }

    /// The piece, if it can be shown now. One that comes before its turn waits, and one that no longer
    /// matters is dropped.
    pub(super) fn admit_preview(&mut self, preview: &Preview) -> Option<Preview> {
        if self.is_late(preview) {
            return None;
        }
        let lane = self.lane_mut(&preview.path);
        if lane.is_ready_for(&preview.message, !preview.path.is_root()) {
            self.shown_attempts.insert(preview.message_key(), preview.attempt);
            return Some(preview.clone());
        }
        lane.hold_preview(preview);
        None
    }

    /// The texts that have waited and can be shown now.
    pub(super) fn take_ready_previews(&mut self) -> Vec<Preview> {
        let mut waited = Vec::new();
        for (path, lane) in &mut self.lanes {
            if lane.ready_text(!path.is_root()).is_some() {
                waited.extend(lane.waiting_text.take());
            }
        }
        let pieces = waited.iter().flat_map(WaitingText::to_previews).collect::<Vec<_>>();
        pieces.iter().filter_map(|piece| self.admit_preview(piece)).collect()
    }

    /// Whether a piece is of a complete message, a void attempt, or a child that the client had to its
    /// end, perhaps on an earlier connection.
    fn is_late(&self, preview: &Preview) -> bool {
        let key = preview.message_key();
        let lane = self.lanes.get(&preview.path);
        let void = self.void_attempts.get(&key).copied().unwrap_or_default();
        lane.is_some_and(|lane| lane.stage == LaneStage::Complete)
            || self.completed.contains(&key)
            || preview.attempt <= void
    }

    fn lane_mut(&mut self, path: &Path) -> &mut Lane {
        self.lanes.entry(path.clone()).or_default()
    }

    /// A run has ended. Of one below a child that is at work it is remembered how much was shown: the rest is
    /// shown with that child's end. With the end of a child of the root, all below it was shown.
    fn end_lane(&mut self, ended: &Path, is_last_word: bool) {
        let below = self.lanes.iter_mut().filter(|(path, _)| path.is_within(ended));
        for (_, lane) in below {
            let shown_count = if is_last_word { 0 } else { lane.shown_count };
            let complete = Lane { stage: LaneStage::Complete, shown_count, ..Lane::default() };
            let lane = std::mem::replace(lane, complete);
            self.waiting_bytes -=
                lane.waiting_entries.values().map(|(_, bytes)| bytes).sum::<usize>();
        }
        self.lane_mut(ended).stage = LaneStage::Complete;
    }
}

impl Lane {
    /// The entry whose turn it is, if it has come.
    fn next_entry(&self) -> Option<&Entry> {
        let next = self.waiting_entries.get(&self.shown_count);
        next.filter(|_| self.stage == LaneStage::Running).map(|(early, _)| &early.entry)
    }

    /// Whether there is an entry that was not told: one behind it came, or it ends a record that has
    /// begun, or a text is written that comes after it.
    fn misses_next(&self) -> bool {
        let waits = self.waiting_text.is_some() && self.ready_text(true).is_none();
        self.stage == LaneStage::Running
            && !self.waiting_entries.contains_key(&self.shown_count)
            && (self.known_count > self.shown_count || self.is_in_record || waits)
    }

    /// The text that has waited, if it can be shown now.
    fn ready_text(&self, is_task: bool) -> Option<&WaitingText> {
        let waiting = self.waiting_text.as_ref()?;
        self.is_ready_for(&waiting.message.message, is_task).then_some(waiting)
    }

    /// Whether a piece of this message would stand where it belongs.
    fn is_ready_for(&self, message: &MessageId, is_task: bool) -> bool {
        let has_begun = !is_task || self.stage != LaneStage::Unknown;
        has_begun && !self.is_in_record && self.turns.has_reached(message)
    }

    /// Keeps a piece. Of a message that a newer one follows the whole is on its way.
    fn hold_preview(&mut self, preview: &Preview) {
        let (message, at_ms) = (preview.message_key(), preview.at_ms);
        let turn = preview.message.turn_number();
        let waits_for = |waiting: &WaitingText| waiting.message.message.turn_number();
        if self.waiting_text.as_ref().is_some_and(|waiting| waits_for(waiting) > turn) {
            return;
        }
        let fresh = || WaitingText { message: message.clone(), text: OpenText::default(), at_ms };
        let waiting = self.waiting_text.take().filter(|waiting| waiting.message == message);
        let mut waiting = waiting.unwrap_or_else(fresh);
        waiting.text.apply_preview(preview);
        self.waiting_text = Some(waiting);
    }
}

/// The run that ended with this entry, and the number of its entries, if it is known.
fn ended_run(entry: &Entry) -> Option<(Path, u64)> {
    let Event::ChildEnded { child, entry_count: Some(count), .. } = &entry.event else {
        return None;
    };
    Some((entry.path.with_child(child.clone()), *count))
}

impl WaitingText {
    /// All of it, as pieces.
    fn to_previews(&self) -> Vec<Preview> {
        let piece = |kind| Preview {
            path: self.message.path.clone(),
            message: self.message.message.clone(),
            attempt: self.text.attempt(),
            kind,
            offset: 0,
            text: self.text.text_of(kind).to_owned(),
            at_ms: self.at_ms,
        };
        let pieces = [TextKind::Reasoning, TextKind::Text].map(piece).into_iter();
        pieces.filter(|piece| !piece.text.is_empty()).collect()
    }
}
