//! How a connection shows a run: projections to client protocols, and the cursor on every frame.
//!
//! A projection is a pure fold over the entries and previews of one connection, in one file; a
//! protocol's strings appear in its file and nowhere else.

pub mod cursor;
pub mod joyagent;
pub mod joyagent_data;
pub mod joyagent_ui;
mod lanes;
pub mod link;
pub mod native;
mod texts;
mod turns;

use std::collections::BTreeMap;

use crate::entry::{Entry, Event};
use crate::id::{RunId, TaskId};
use crate::journal::Record;
use crate::preview::{Live, Preview};
use cursor::Cursor;
use lanes::Lanes;

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
    /// What a client is sent first that begins here and has seen nothing of what was before: what it
    /// needs to understand what follows.
    fn begin_late(&mut self, at_ms: i64) -> Vec<Frame> {
        let _ = at_ms;
        Vec::new()
    }
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
    lanes: Lanes,
    /// Of a record that is being sent in parts: how many more entries of each task were sent early.
    early: Option<BTreeMap<TaskId, u64>>,
}

impl Connection {
    /// A connection that has sent nothing yet. Without `previews` the client gets whole texts only.
    #[must_use]
    pub fn new(run: RunId, projection: Box<dyn Projection>, previews: bool) -> Self {
        let lanes = Lanes::default();
        Self { run, projection, complete: None, previews, ended: false, lanes, early: None }
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

    /// The client has seen nothing, and is to see what follows; see [`Projection::begin_late`].
    pub fn begin_late(&mut self, at_ms: i64) -> Vec<String> {
        let frames = self.projection.begin_late(at_ms);
        frames.iter().map(|frame| self.encode(frame)).collect()
    }

    /// The frames of a record, after those of the tasks that ended with it. A record that was sent
    /// before gives none. What waited for it follows by [`Self::next_waited`].
    pub fn record(&mut self, record: &Record, tasks: &[Entry]) -> Vec<String> {
        if !self.is_next(record) {
            return Vec::new();
        }
        let mut frames = self.of_tasks(tasks);
        self.early = None;
        for entry in &record.entries {
            frames.extend(self.entry(entry));
        }
        let last = frames.pop();
        let mut sent: Vec<String> = frames.iter().map(|frame| self.encode(frame)).collect();
        self.complete = Some(record.n);
        sent.extend(last.map(|frame| self.encode(&frame)));
        sent
    }

    /// The frames of a part of what the tasks did that end with the record that is wanted next; the other
    /// parts follow, in order, and [`Self::record`] last. They carry the cursor of the record before.
    pub fn ending_tasks(&mut self, entries: &[Entry]) -> Vec<String> {
        let frames = self.of_tasks(entries);
        // Whatever comes early from now on stands in a later part.
        entries.iter().filter_map(|entry| entry.within.as_ref()).for_each(|task| {
            self.lanes.close(task);
        });
        frames.iter().map(|frame| self.encode(frame)).collect()
    }

    /// The frames of entries of tasks that end, but for those that were sent early.
    fn of_tasks(&mut self, entries: &[Entry]) -> Vec<Frame> {
        let mut early = self.early.take().unwrap_or_else(|| self.lanes.shown_early());
        let mut frames = Vec::new();
        for entry in entries {
            match entry.within.as_ref().and_then(|task| early.get_mut(task)) {
                Some(shown) if *shown > 0 => *shown -= 1,
                Some(_) | None => frames.extend(self.entry(entry)),
            }
        }
        self.early = Some(early);
        frames
    }

    /// The frames of a piece of text that is shown before it is in the journal. One whose turn has not
    /// come waits, and so does every entry of a task at work until [`Self::next_waited`] gives it: its
    /// place in the history is where the task ends, where it is not sent again.
    pub fn live(&mut self, live: &Live) -> Vec<String> {
        if self.ended {
            return Vec::new();
        }
        let frames = match live {
            Live::Piece(_) if !self.previews => Vec::new(),
            Live::Piece(preview) => match self.lanes.preview(preview) {
                Some(preview) => self.projection.preview(&preview),
                None => Vec::new(),
            },
            Live::Entry(early) => {
                self.lanes.early(early);
                Vec::new()
            }
        };
        frames.iter().map(|frame| self.encode(frame)).collect()
    }

    /// The frames of the next thing that waited for its turn, which has come; `None` if there is nothing.
    pub fn next_waited(&mut self) -> Option<Vec<String>> {
        if !self.takes_early() {
            return None;
        }
        let frames = match self.lanes.next_early() {
            Some(entry) => self.entry(&entry),
            None => {
                let ready = self.lanes.ready_previews();
                if ready.is_empty() {
                    return None;
                }
                ready.iter().flat_map(|preview| self.projection.preview(preview)).collect()
            }
        };
        Some(frames.iter().map(|frame| self.encode(frame)).collect())
    }

    /// Whether [`Self::next_waited`] has something to give.
    #[must_use]
    pub fn has_waited(&self) -> bool {
        self.takes_early() && self.lanes.has_ready()
    }

    /// The tasks at work of which something is missing that is known to be there, and the place of the
    /// first entry that is. It is in the task's journal; [`Self::live`] takes it.
    pub fn missing(&self) -> impl Iterator<Item = (&TaskId, u64)> {
        self.lanes.missing().filter(|_| self.takes_early())
    }

    /// Not at the end, nor while a record is sent in parts: what its tasks had shown was counted.
    fn takes_early(&self) -> bool {
        !self.ended && self.early.is_none()
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
        self.lanes.entry(entry);
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
