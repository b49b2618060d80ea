//! How a connection shows a run: the frames of one client protocol, and the cursor on every frame.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::call_progress::CallProgress;
use crate::call_tracker::CallTracker;
use crate::cursor::Cursor;
use crate::lanes::Lanes;
pub use crate::lanes::MissingEntry;
use crate::preview::{Live, Preview};
use djinn_core::entry::{Entry, Event};
use djinn_core::id::{Path, RunId};
use djinn_core::journal::Record;

/// One frame of a server-sent event stream, before its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A payload on one line.
    Data {
        /// The `event:` field, where the protocol has one.
        event: Option<&'static str>,
        /// The payload, without a line break.
        data: String,
    },
    /// A comment: keeps the connection open, means nothing.
    Comment(&'static str),
}

/// The frames of one client protocol, as a fold over one connection.
pub trait Projection: Send {
    /// What the client is sent for an entry.
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame>;
    /// What it is sent for a piece of an unfinished message.
    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame>;
    /// What it is sent for what a tool says while it works; nothing unless the protocol has a place for it.
    fn project_progress(&mut self, progress: &CallProgress) -> Vec<Frame> {
        let _ = progress;
        Vec::new()
    }
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
    last_record: Option<u64>,
    shows_previews: bool,
    has_ended: bool,
    lanes: Lanes,
    calls: CallTracker,
    /// Of a record that is being sent in parts: how many more entries of each child were sent early.
    early: Option<BTreeMap<Path, u64>>,
}

impl Connection {
    /// A connection that has sent nothing yet. Without `previews` the client gets whole texts only.
    #[must_use]
    pub fn new(run: RunId, projection: Box<dyn Projection>, previews: bool) -> Self {
        let lanes = Lanes::default();
        Self {
            run,
            projection,
            last_record: None,
            shows_previews: previews,
            has_ended: false,
            lanes,
            calls: CallTracker::default(),
            early: None,
        }
    }

    /// Takes a record that the client had on an earlier connection: nothing is sent.
    pub fn skip_record(&mut self, record: &Record) {
        if self.is_next(record) {
            for entry in &record.entries {
                self.project_entry(entry);
            }
            self.last_record = Some(record.number);
        }
    }

    /// Everything before this is known to the client; see [`Projection::resume`].
    pub fn resume(&mut self) {
        self.projection.resume();
    }

    /// The client has seen nothing, and is to see what follows; see [`Projection::begin_late`].
    pub fn begin_late(&mut self, at_ms: i64) -> Vec<String> {
        let frames = self.projection.begin_late(at_ms);
        frames.iter().map(|frame| self.encode_frame(frame)).collect()
    }

    /// The frames of a record, after those of the children that ended with it. A record that was sent
    /// before gives none. What waited for it follows by [`Self::render_next_ready`].
    pub fn render_record(&mut self, record: &Record, children: &[Entry]) -> Vec<String> {
        if !self.is_next(record) {
            return Vec::new();
        }
        let mut frames = self.child_frames(children);
        self.early = None;
        for entry in &record.entries {
            frames.extend(self.project_entry(entry));
        }
        let last = frames.pop();
        let mut sent: Vec<String> = frames.iter().map(|frame| self.encode_frame(frame)).collect();
        self.last_record = Some(record.number);
        sent.extend(last.map(|frame| self.encode_frame(&frame)));
        sent
    }

    /// The frames of a part of what the children did that end with the record that is wanted next; the
    /// other parts follow, in order, and [`Self::render_record`] last. They carry the cursor of the
    /// record before.
    pub fn render_child_entries(&mut self, entries: &[Entry]) -> Vec<String> {
        let frames = self.child_frames(entries);
        // Whatever comes early from now on stands in a later part.
        entries.iter().map(|entry| &entry.path).for_each(|path| {
            self.lanes.close_lane(path);
        });
        frames.iter().map(|frame| self.encode_frame(frame)).collect()
    }

    /// The frames of entries of children that end, but for those that were sent early.
    fn child_frames(&mut self, entries: &[Entry]) -> Vec<Frame> {
        let mut early = self.early.take().unwrap_or_else(|| self.lanes.shown_counts());
        let mut frames = Vec::new();
        for entry in entries {
            match early.get_mut(&entry.path) {
                Some(shown) if *shown > 0 => *shown -= 1,
                Some(_) | None => frames.extend(self.project_entry(entry)),
            }
        }
        self.early = Some(early);
        frames
    }

    /// The frames of a piece of text that is shown before it is in the journal, or beside it. One whose turn has not
    /// come waits, and so does every entry of a child at work until [`Self::render_next_ready`] gives
    /// it: its place in the history is where the child ends, where it is not sent again.
    pub fn render_live(&mut self, live: &Live) -> Vec<String> {
        if self.has_ended {
            return Vec::new();
        }
        let frames = match live {
            Live::Preview(_) | Live::Progress(_) if !self.shows_previews => Vec::new(),
            Live::Preview(preview) => match self.lanes.admit_preview(preview) {
                Some(preview) => self.projection.project_preview(&preview),
                None => Vec::new(),
            },
            Live::Progress(progress) => match self.calls.admit_progress(progress) {
                Some(progress) => self.projection.project_progress(&progress),
                None => Vec::new(),
            },
            Live::Entry(early) => {
                self.lanes.add_early_entry(early);
                Vec::new()
            }
        };
        frames.iter().map(|frame| self.encode_frame(frame)).collect()
    }

    /// The frames of the next thing that waited for its turn, which has come; `None` if there is nothing.
    pub fn render_next_ready(&mut self) -> Option<Vec<String>> {
        if !self.can_show_early() {
            return None;
        }
        let frames = match self.lanes.take_next_entry() {
            Some(entry) => self.project_entry(&entry),
            None => self.project_ready()?,
        };
        Some(frames.iter().map(|frame| self.encode_frame(frame)).collect())
    }

    fn project_ready(&mut self) -> Option<Vec<Frame>> {
        let ready = self.lanes.take_ready_previews();
        if ready.is_empty() {
            let progress = self.calls.take_ready_progress()?;
            return Some(self.projection.project_progress(&progress));
        }
        Some(ready.iter().flat_map(|preview| self.projection.project_preview(preview)).collect())
    }

    /// Whether [`Self::render_next_ready`] has something to give.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        self.can_show_early() && (self.lanes.has_ready() || self.calls.has_ready())
    }

    /// The children at work of which something is missing that is known to be there, and the place of the
    /// first entry that is. It is in the child's journal; [`Self::render_live`] takes it.
    pub fn missing_entries(&self) -> impl Iterator<Item = MissingEntry> {
        self.lanes.missing_entries().filter(|_| self.can_show_early())
    }

    /// The runs below the root that are at work: whoever has come only now may be shown what they have
    /// done. [`Self::render_live`] takes it.
    pub fn lanes_at_work(&self) -> impl Iterator<Item = &Path> {
        self.lanes.lanes_at_work().filter(|_| self.can_show_early())
    }

    /// Has an entry of a run at work be missed, until it comes: somebody knows that it is there.
    pub fn expect_entry(&mut self, path: &Path, nth: u64) {
        self.lanes.expect_entry(path, nth);
    }

    /// Not at the end, nor while a record is sent in parts: what its children had shown was counted.
    fn can_show_early(&self) -> bool {
        !self.has_ended && self.early.is_none()
    }

    /// The frame that keeps the connection open.
    #[must_use]
    pub fn heartbeat(&self) -> String {
        self.encode_frame(&self.projection.heartbeat())
    }

    /// The frames that end a response before its run. Clients that can resume are told to wait for `delay` before they
    /// come back, if there is one.
    pub fn hand_over(&mut self, delay: Option<Duration>, at_ms: i64) -> Vec<String> {
        let cursor = self.cursor();
        let delay = delay.filter(|_| self.projection.can_resume());
        let frames = self.projection.hand_over(cursor.as_ref(), at_ms);
        let mut frames: Vec<String> = frames.iter().map(|frame| self.encode_frame(frame)).collect();
        if let (Some(delay), Some(first)) = (delay, frames.first_mut()) {
            first.insert_str(0, &format!("retry: {}\n", delay.as_millis()));
        }
        frames
    }

    /// Whether pieces are better sent together: see [`Projection::has_large_frames`].
    #[must_use]
    pub fn has_large_frames(&self) -> bool {
        self.projection.has_large_frames()
    }

    /// Whether its clients come back: see [`Projection::can_resume`].
    #[must_use]
    pub fn can_resume(&self) -> bool {
        self.projection.can_resume()
    }

    /// The newest record all of whose frames were sent.
    #[must_use]
    pub fn cursor(&self) -> Option<Cursor> {
        self.last_record.map(|record| Cursor { run: self.run.clone(), record })
    }

    /// The number of the record the client needs next.
    #[must_use]
    pub fn next_record_number(&self) -> u64 {
        self.last_record.map_or(0, |complete| complete + 1)
    }

    /// Whether the final entry was sent.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        self.has_ended |= matches!(entry.event, Event::RunEnded(_));
        self.lanes.apply_entry(entry);
        self.calls.apply_entry(entry);
        self.projection.project_entry(entry)
    }

    fn is_next(&self, record: &Record) -> bool {
        record.number == self.next_record_number()
    }

    fn encode_frame(&self, frame: &Frame) -> String {
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
