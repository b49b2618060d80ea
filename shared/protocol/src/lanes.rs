//! The state of each run of a tree on one connection, and the content out of turn.
//!
//! Entries of runs below the root arrive early from several writers, unordered and with gaps. Entries are
//! shown in order, and a preview after all entries before. Known gaps are reported, so that the caller can
//! read the journal.

use std::collections::{BTreeMap, BTreeSet};

use super::turn_tracker::TurnTracker;
use crate::preview::{EarlyEntry, OpenText, Preview, TextKind};
use djinn_core::entry::{Entry, Event};
use djinn_core::id::{MessageId, MessageKey, Path};

/// Maximum bytes of waiting early entries. Beyond the maximum, the entries furthest from their turn are
/// dropped, and count as missing.
const MAX_WAITING_BYTES: usize = 1024 * 1024;

/// The first missing entry of a run on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingEntry {
    /// The path of the run.
    pub path: Path,
    /// The index among the entries of the run's journal.
    pub nth: u64,
    /// True if the run has ended: then the entry is in its journal.
    pub is_recorded: bool,
}

/// The lanes of one connection, a lane for each run of the tree.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: BTreeMap<Path, Lane>,
    /// Complete messages, with previews no longer needed.
    completed: BTreeSet<MessageKey>,
    /// The newest void attempt of each message; all earlier attempts are void too.
    void_attempts: BTreeMap<MessageKey, u32>,
    /// The newest shown attempt of each message.
    shown_attempts: BTreeMap<MessageKey, u32>,
    /// Total bytes of the waiting entries.
    waiting_bytes: usize,
}

#[derive(Default)]
struct Lane {
    stage: LaneStage,
    /// The number of a child's entries shown while at work.
    shown_count: u64,
    /// The minimum number of the child's entries, from all reports so far.
    known_count: u64,
    /// True once the child's end has arrived: then all entries are in the child's journal.
    has_ended: bool,
    /// The waiting entries by index, with their sizes in bytes.
    waiting_entries: BTreeMap<u64, (EarlyEntry, usize)>,
    /// True if more entries of the newest record will follow.
    is_in_record: bool,
    turns: TurnTracker,
    /// The newest message out of turn.
    waiting_text: Option<WaitingText>,
}

/// The state of a child on this connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LaneStage {
    /// The start of the child was not shown.
    #[default]
    Unknown,
    /// The child is at work.
    Running,
    /// The child has ended, and all entries were shown.
    Complete,
}

/// A waiting text.
struct WaitingText {
    message: MessageKey,
    text: OpenText,
    at_ms: i64,
}

impl Lanes {
    /// Applies an entry on display.
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
            // A complete message has no further pieces.
            Event::MessageReset { attempt: None, .. } => {}
            Event::MessageReset { message, attempt: Some(attempt), .. } => {
                self.void_attempts.insert(entry.message_key(message), *attempt);
            }
            Event::RunResumed { .. } => {
                let of_it = |key: &MessageKey| key.path == entry.path;
                let attempts = self.shown_attempts.iter().filter(|(key, _)| of_it(key));
                self.void_attempts.extend(attempts.map(|(key, attempt)| (key.clone(), *attempt)));
            }
            Event::RunStarted { .. }
            | Event::ModelChanged(_)
            | Event::AgentChanged { .. }
            | Event::ModelDelayed { .. }
            | Event::CallRequested { .. }
            | Event::CallCompleted { .. }
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

    /// Keeps an entry of a child at work until all earlier entries were shown. An entry already shown, or of
    /// an ended child, is dropped.
    pub(super) fn add_early_entry(&mut self, early: &EarlyEntry) {
        if early.entry.path.is_root() {
            return;
        }
        let lane = self.lane_mut(&early.entry.path);
        if lane.stage == LaneStage::Complete || early.index < lane.shown_count {
            return;
        }
        lane.known_count = lane.known_count.max(early.index + 1);
        if let Some((lane_path, count)) = ended_run(&early.entry) {
            let below = self.lane_mut(&lane_path);
            below.known_count = below.known_count.max(count);
            below.has_ended = true;
        }
        let lane = self.lane_mut(&early.entry.path);
        let bytes = serde_json::to_vec(early).map_or(0, |json| json.len());
        let before = lane.waiting_entries.insert(early.index, (early.clone(), bytes));
        self.waiting_bytes = self.waiting_bytes + bytes - before.map_or(0, |(_, bytes)| bytes);
        while self.waiting_bytes > MAX_WAITING_BYTES {
            let distance = |lane: &&mut Lane| {
                let last = lane.waiting_entries.last_key_value();
                last.map(|(nth, _)| nth.saturating_sub(lane.shown_count))
            };
            let furthest = self.lanes.values_mut().max_by_key(distance);
            let entry = furthest.and_then(|lane| lane.waiting_entries.pop_last());
            self.waiting_bytes =
                entry.map_or(0, |(_, (_, bytes))| self.waiting_bytes.saturating_sub(bytes));
        }
    }

    /// Takes the next entry in turn, and counts the entry as shown.
    pub(super) fn take_next_entry(&mut self) -> Option<Entry> {
        let path = self.next_lane()?.clone();
        let lane = self.lanes.get_mut(&path)?;
        let (early, bytes) = lane.waiting_entries.remove(&lane.shown_count)?;
        self.waiting_bytes -= bytes;
        lane.shown_count += 1;
        lane.is_in_record = !early.ends_record;
        Some(early.entry)
    }

    /// Returns true if waiting content can be shown now.
    pub(super) fn has_ready(&self) -> bool {
        let has_text = |(path, lane): (&Path, &Lane)| lane.ready_text(!path.is_root()).is_some();
        self.next_lane().is_some() || self.lanes.iter().any(has_text)
    }

    /// Returns the run with the next entry in turn. The end of a run below waits until all its entries were
    /// shown.
    fn next_lane(&self) -> Option<&Path> {
        let is_shown = |(lane_path, count): (Path, u64)| {
            self.lanes.get(&lane_path).map_or(0, |lane| lane.shown_count) >= count
        };
        let can_show = |lane: &Lane| {
            lane.next_entry().is_some_and(|entry| ended_run(entry).is_none_or(is_shown))
        };
        self.lanes.iter().find(|(_, lane)| can_show(lane)).map(|(path, _)| path)
    }

    /// Returns the children at work with missing entries, each with the index of the first.
    pub(super) fn missing_entries(&self) -> impl Iterator<Item = MissingEntry> {
        let below = self.lanes.iter().filter(|(path, _)| !path.is_root());
        below.filter(|(_, lane)| lane.misses_next()).map(|(path, lane)| MissingEntry {
            path: path.clone(),
            nth: lane.shown_count,
            is_recorded: lane.has_ended,
        })
    }

    /// Returns the paths of the runs below the root at work.
    pub(super) fn lanes_at_work(&self) -> impl Iterator<Item = &Path> {
        let below = self.lanes.iter().filter(|(path, _)| !path.is_root());
        below.filter(|(_, lane)| lane.stage == LaneStage::Running).map(|(path, _)| path)
    }

    /// Marks an entry as existing, so that the entry counts as missing until received.
    pub(super) fn expect_entry(&mut self, path: &Path, nth: u64) {
        let lane = self.lane_mut(path);
        lane.known_count = lane.known_count.max(nth + 1);
    }

    /// Closes the lane of an ended child; its entries are no longer early.
    pub(super) fn close_lane(&mut self, path: &Path) {
        let lane = self.lane_mut(path);
        (lane.stage, lane.waiting_text) = (LaneStage::Complete, None);
        let entries = std::mem::take(&mut lane.waiting_entries);
        self.waiting_bytes -= entries.values().map(|(_, bytes)| bytes).sum::<usize>();
    }

    /// Returns the number of shown entries of each child.
    pub(super) fn shown_counts(&self) -> BTreeMap<Path, u64> {
        let below = self.lanes.iter().filter(|(path, _)| !path.is_root());
        below.map(|(path, lane)| (path.clone(), lane.shown_count)).collect()
    }

    /// Returns the preview if in turn. An early preview waits, and an obsolete preview is dropped.
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

    /// Returns the waiting texts now in turn.
    pub(super) fn take_ready_previews(&mut self) -> Vec<Preview> {
        let mut texts = Vec::new();
        for (path, lane) in &mut self.lanes {
            if lane.ready_text(!path.is_root()).is_some() {
                texts.extend(lane.waiting_text.take());
            }
        }
        let pieces = texts.iter().flat_map(WaitingText::to_previews).collect::<Vec<_>>();
        pieces.iter().filter_map(|piece| self.admit_preview(piece)).collect()
    }

    /// Returns true if a preview belongs to a complete message, a void attempt, or an ended child.
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

    /// Ends the lane of a run and of all runs below. For a run below a child at work, the number of shown
    /// entries is kept, because the rest is shown at the child's end.
    fn end_lane(&mut self, lane_path: &Path, is_last_word: bool) {
        let below = self.lanes.iter_mut().filter(|(path, _)| path.is_within(lane_path));
        for (_, lane) in below {
            let shown_count = if is_last_word { 0 } else { lane.shown_count };
            let complete = Lane { stage: LaneStage::Complete, shown_count, ..Lane::default() };
            let lane = std::mem::replace(lane, complete);
            self.waiting_bytes -=
                lane.waiting_entries.values().map(|(_, bytes)| bytes).sum::<usize>();
        }
        self.lane_mut(lane_path).stage = LaneStage::Complete;
    }
}

impl Lane {
    /// Returns the entry in turn, if received.
    fn next_entry(&self) -> Option<&Entry> {
        let next = self.waiting_entries.get(&self.shown_count);
        next.filter(|_| self.stage == LaneStage::Running).map(|(early, _)| &early.entry)
    }

    /// Returns true if the next entry is missing: a later entry exists, a record is incomplete, or a later
    /// text has started.
    fn misses_next(&self) -> bool {
        let waits = self.waiting_text.is_some() && self.ready_text(true).is_none();
        self.stage == LaneStage::Running
            && !self.waiting_entries.contains_key(&self.shown_count)
            && (self.known_count > self.shown_count || self.is_in_record || waits)
    }

    /// Returns the waiting text, if in turn.
    fn ready_text(&self, is_task: bool) -> Option<&WaitingText> {
        let waiting = self.waiting_text.as_ref()?;
        self.is_ready_for(&waiting.message.message, is_task).then_some(waiting)
    }

    /// Returns true if all entries before this message were shown.
    fn is_ready_for(&self, message: &MessageId, is_task: bool) -> bool {
        let has_begun = !is_task || self.stage != LaneStage::Unknown;
        has_begun && !self.is_in_record && self.turns.has_reached(message)
    }

    /// Keeps a preview. Previews of older messages are dropped, because their complete message will follow.
    fn hold_preview(&mut self, preview: &Preview) {
        let message = preview.message_key();
        let at_ms = preview.at_ms;
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

/// Returns the run ended by this entry, with its number of entries, if known.
fn ended_run(entry: &Entry) -> Option<(Path, u64)> {
    let Event::ChildEnded { child, entry_count: Some(count), .. } = &entry.event else {
        return None;
    };
    Some((entry.path.with_child(child.clone()), *count))
}

impl WaitingText {
    /// Returns the whole text as previews.
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
