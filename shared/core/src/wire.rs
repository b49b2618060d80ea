//! How a connection shows a run: projections to client protocols, and the cursor on every frame.
//!
//! A projection is a pure fold over the entries and previews of one connection, in one file; a
//! protocol's strings appear in its file and nowhere else.

pub mod cursor;
pub mod joyagent;
pub mod joyagent_data;
pub mod joyagent_ui;
pub mod link;
pub mod native;

use std::collections::{BTreeMap, BTreeSet};

use crate::entry::{Entry, Event};
use crate::id::{RunId, TaskId};
use crate::journal::Record;
use crate::preview::{Applied, EarlyEntry, Live, MessageKey, OpenText, Preview, TextKind};
use cursor::Cursor;

/// One frame of a server-sent event stream, before its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A payload on one line.
    Data {
        /// The `event:` field, where the protocol has one.
        event: Option<&'static str>,
        /// The payload.
        data: String,
    },
    /// A comment: keeps the connection open, means nothing.
    Comment(&'static str),
}

/// A client protocol.
pub trait Projection: Send {
    /// What the client is sent for an entry.
    fn entry(&mut self, entry: &Entry) -> Vec<Frame>;
    /// What it is sent for a piece of an unfinished message.
    fn preview(&mut self, preview: &Preview) -> Vec<Frame>;
    /// What keeps its connection open while nothing happens.
    fn heartbeat(&self) -> Frame;
    /// What it is sent when this response ends before the run does: how to go on.
    fn hand_over(&mut self, cursor: Option<&Cursor>, at_ms: i64) -> Vec<Frame>;
    /// The client has seen everything up to here on another connection, and perhaps pieces of
    /// messages that are still unfinished.
    fn resume(&mut self);
    /// Whether its frames are large beside the few letters that a piece of a message brings, so that pieces
    /// that come close together are better sent as one.
    fn has_large_frames(&self) -> bool;
    /// Whether clients of the protocol are known to come back by themselves to a run that goes on after
    /// its response.
    fn can_resume(&self) -> bool;
}

/// One connection to one client: its protocol, and the newest record all of whose frames were sent.
pub struct Connection {
    run: RunId,
    projection: Box<dyn Projection>,
    complete: Option<u64>,
    previews: bool,
    ended: bool,
    closed: Closed,
    tasks: BTreeMap<TaskId, Lane>,
}

/// How far a connection has shown a task.
enum Lane {
    /// It is at work; so many of its entries were shown.
    Open(u64),
    /// It has ended, and all of it was shown.
    Complete,
}

/// What previews no longer matter: those of complete messages, and of attempts that are void.
#[derive(Default)]
struct Closed {
    messages: BTreeSet<MessageKey>,
    attempts: BTreeMap<MessageKey, u32>,
}

impl Connection {
    /// A connection that has sent nothing yet. Without `previews` the client gets whole texts only.
    #[must_use]
    pub fn new(run: RunId, projection: Box<dyn Projection>, previews: bool) -> Self {
        let closed = Closed::default();
        let tasks = BTreeMap::new();
        Self { run, projection, complete: None, previews, ended: false, closed, tasks }
    }

    /// Takes a record that the client had on an earlier connection: nothing is sent.
    pub fn skip(&mut self, record: &Record) {
        if self.is_next(record) {
            for entry in &record.entries {
                self.entry(entry);
            }
            self.complete = Some(record.n);
        }
    }

    /// Everything before this is known to the client; see [`Projection::resume`].
    pub fn resume(&mut self) {
        self.projection.resume();
    }

    /// The frames of a record, after those of the tasks that ended with it. A record that was sent
    /// before gives none.
    pub fn record(&mut self, record: &Record, tasks: &[Entry]) -> Vec<String> {
        if !self.is_next(record) {
            return Vec::new();
        }
        let mut frames = Vec::new();
        let mut early = self.shown_early();
        for entry in tasks {
            match entry.within.as_ref().and_then(|task| early.get_mut(task)) {
                Some(shown) if *shown > 0 => *shown -= 1,
                Some(_) | None => frames.extend(self.entry(entry)),
            }
        }
        for entry in &record.entries {
            frames.extend(self.entry(entry));
        }
        let last = frames.pop();
        let mut sent: Vec<String> = frames.iter().map(|frame| self.encode(frame)).collect();
        self.complete = Some(record.n);
        sent.extend(last.map(|frame| self.encode(&frame)));
        sent
    }

    /// The frames of what is shown before it is in the journal.
    pub fn live(&mut self, live: &Live) -> Vec<String> {
        match live {
            Live::Piece(preview) => self.preview(preview),
            Live::Entry(early) => self.early(early),
        }
    }

    /// The frames of an entry of a task at work, if it is the next one. Its place in the history is
    /// where its task ends; it is not sent again there.
    fn early(&mut self, early: &EarlyEntry) -> Vec<String> {
        let Some(task) = early.entry.within.clone().filter(|_| !self.ended) else {
            return Vec::new();
        };
        match self.tasks.get_mut(&task) {
            Some(Lane::Open(shown)) if *shown == early.nth => *shown += 1,
            Some(Lane::Open(_) | Lane::Complete) | None => return Vec::new(),
        }
        let frames = self.entry(&early.entry);
        frames.iter().map(|frame| self.encode(frame)).collect()
    }

    /// How many entries of each task at work were shown.
    fn shown_early(&self) -> BTreeMap<TaskId, u64> {
        let open = |(task, lane): (&TaskId, &Lane)| match lane {
            Lane::Open(shown) => Some((task.clone(), *shown)),
            Lane::Complete => None,
        };
        self.tasks.iter().filter_map(open).collect()
    }

    /// The frames of a piece of unfinished text.
    fn preview(&mut self, preview: &Preview) -> Vec<String> {
        let is_late = self.has_shown_all_of(preview) || self.closed.covers(preview);
        if !self.previews || self.ended || is_late {
            return Vec::new();
        }
        let frames = self.projection.preview(preview);
        frames.iter().map(|frame| self.encode(frame)).collect()
    }

    /// Whether a piece comes from a task that the client had to its end, perhaps on an earlier
    /// connection.
    fn has_shown_all_of(&self, preview: &Preview) -> bool {
        let lane = preview.within.as_ref().and_then(|task| self.tasks.get(task));
        matches!(lane, Some(Lane::Complete))
    }

    /// The frame that keeps the connection open.
    #[must_use]
    pub fn heartbeat(&self) -> String {
        self.encode(&self.projection.heartbeat())
    }

    /// The frames that end a response before its run.
    pub fn hand_over(&mut self, at_ms: i64) -> Vec<String> {
        let cursor = self.cursor();
        let frames = self.projection.hand_over(cursor.as_ref(), at_ms);
        frames.iter().map(|frame| self.encode(frame)).collect()
    }

    /// See [`Projection::has_large_frames`].
    #[must_use]
    pub fn has_large_frames(&self) -> bool {
        self.projection.has_large_frames()
    }

    /// See [`Projection::can_resume`].
    #[must_use]
    pub fn can_resume(&self) -> bool {
        self.projection.can_resume()
    }

    /// The newest record all of whose frames were sent.
    #[must_use]
    pub fn cursor(&self) -> Option<Cursor> {
        self.complete.map(|record| Cursor { run: self.run.clone(), record })
    }

    /// The number of the record the client needs next.
    #[must_use]
    pub fn wants(&self) -> u64 {
        self.complete.map_or(0, |complete| complete + 1)
    }

    /// Whether the final entry was sent.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    fn entry(&mut self, entry: &Entry) -> Vec<Frame> {
        self.ended |= matches!(entry.event, Event::RunEnded(_));
        match &entry.event {
            Event::TaskStarted { task, .. } => {
                self.tasks.insert(task.clone(), Lane::Open(0));
            }
            Event::TaskEnded { task, .. } => {
                self.tasks.insert(task.clone(), Lane::Complete);
            }
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::ItemReset { .. }
            | Event::ModelChanged(_)
            | Event::MessageCompleted { .. }
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
        self.closed.entry(entry);
        self.projection.entry(entry)
    }

    fn is_next(&self, record: &Record) -> bool {
        record.n == self.wants()
    }

    fn encode(&self, frame: &Frame) -> String {
        match frame {
            Frame::Comment(text) => format!(": {text}\n\n"),
            Frame::Data { event, data } => {
                let id = self.cursor().map(|cursor| format!("id: {cursor}\n")).unwrap_or_default();
                let event = event.map(|event| format!("event: {event}\n")).unwrap_or_default();
                format!("{id}{event}data:{data}\n\n")
            }
        }
    }
}

impl Closed {
    fn entry(&mut self, entry: &Entry) {
        match &entry.event {
            Event::MessageCompleted { message, .. } => {
                self.messages.insert(entry.key(message));
            }
            Event::ItemReset { message, attempt, .. } => {
                self.attempts.insert(entry.key(message), *attempt);
            }
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
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
            | Event::TaskStarted { .. }
            | Event::TaskEnded { .. }
            | Event::RunEnded(_) => {}
        }
    }

    fn covers(&self, preview: &Preview) -> bool {
        let key = preview.key();
        let void = self.attempts.get(&key).copied().unwrap_or_default();
        self.messages.contains(&key) || preview.attempt <= void
    }
}

/// The unfinished texts as one client knows them, for protocols that send what was added rather
/// than where it belongs.
#[derive(Debug, Default)]
struct Texts {
    open: BTreeMap<MessageKey, OpenText>,
    resumed: bool,
}

/// What a client must do to an unfinished text.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Append(String),
    Replace(String),
}

impl Texts {
    /// Applies a piece.
    fn preview(&mut self, preview: &Preview) -> Option<Change> {
        let key = preview.key();
        let first = !self.open.contains_key(&key);
        let open = self.open.entry(key).or_default();
        match open.apply(preview) {
            Applied::Nothing => None,
            Applied::Restarted(text) => Some(Change::Replace(text)),
            // What an earlier connection showed of it is unknown, so it is shown anew.
            Applied::Appended(text) if first && self.resumed => Some(Change::Replace(text)),
            Applied::Appended(text) => Some(Change::Append(text)),
        }
    }

    /// Forgets a message that is complete.
    fn completed(&mut self, message: &MessageKey) {
        self.open.remove(message);
    }

    /// Messages of a run or task whose text the client must drop because their attempt is void:
    /// one, or all that are unfinished.
    fn void(&mut self, task: Option<&TaskId>, message: Option<&MessageKey>) -> Vec<MessageKey> {
        let shown = |open: &OpenText| !open.of(TextKind::Text).is_empty();
        let of = |key: &MessageKey| key.within.as_ref() == task;
        let mut void: Vec<MessageKey> = self
            .open
            .iter()
            .filter(|(key, _)| of(key) && message.is_none_or(|message| message == *key))
            .filter(|(_, open)| shown(open))
            .map(|(key, _)| key.clone())
            .collect();
        if let Some(message) = message.filter(|message| self.resumed && !void.contains(message)) {
            void.push(message.clone());
        }
        void
    }
}
