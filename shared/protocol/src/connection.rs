//! The display of a run on a connection: the frames of a client protocol, each with a cursor.

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
        /// The `event:` field, if the protocol uses event names.
        event: Option<&'static str>,
        /// The payload, without a line break.
        data: String,
    },
    /// A comment, ignored by clients; keeps the connection open.
    Comment(&'static str),
    /// A part of a response that is one document instead of a stream of events.
    Raw(String),
}

/// The frames of one client protocol, as a fold over one connection.
pub trait Projection: Send {
    /// Begins a record, whose own entries follow; does nothing by default.
    fn begin_record(&mut self, number: u64) {
        let _ = number;
    }
    /// Returns the frames for an entry.
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame>;
    /// Returns the frames for a piece of an unfinished message.
    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame>;
    /// Returns the frames for tool output; none by default.
    fn project_progress(&mut self, progress: &CallProgress) -> Vec<Frame> {
        let _ = progress;
        Vec::new()
    }
    /// Returns the frame that keeps an idle connection open.
    fn heartbeat(&self) -> Frame;
    /// Returns the frames at the end of a response before the end of the run, with the way to resume.
    fn hand_over(&mut self, cursor: Option<&Cursor>, at_ms: i64) -> Vec<Frame>;
    /// Marks all content so far as shown on an earlier connection, possibly with pieces of unfinished
    /// messages.
    fn resume(&mut self);
    /// Returns the first frames for a client without earlier frames: the context of later frames.
    fn begin_late(&mut self, at_ms: i64) -> Vec<Frame> {
        let _ = at_ms;
        Vec::new()
    }
    /// Returns true if frames are much larger than a typical piece of text, so that pieces are better merged.
    fn has_large_frames(&self) -> bool;
    /// Returns true if the protocol's clients reconnect to a run that outlives its response.
    fn can_resume(&self) -> bool;
}

/// A connection to one client: the protocol, and the newest record sent in full.
pub struct Connection {
    run: RunId,
    projection: Box<dyn Projection>,
    last_record: Option<u64>,
    shows_previews: bool,
    has_ended: bool,
    lanes: Lanes,
    calls: CallTracker,
    /// The remaining number of early entries by child, while a record is sent in parts.
    early: Option<BTreeMap<Path, u64>>,
}

impl Connection {
    /// Creates a connection without sent frames. Without `previews` the client receives complete texts only.
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

    /// Applies a record shown on an earlier connection, without sending frames.
    pub fn skip_record(&mut self, record: &Record) {
        if self.is_next(record) {
            self.projection.begin_record(record.number);
            for entry in &record.entries {
                self.project_entry(entry);
            }
            self.last_record = Some(record.number);
        }
    }

    /// Marks all content so far as shown to the client; see [`Projection::resume`].
    pub fn resume(&mut self) {
        self.projection.resume();
    }

    /// Starts with a client that has seen no frames; see [`Projection::begin_late`].
    pub fn begin_late(&mut self, at_ms: i64) -> Vec<String> {
        let frames = self.projection.begin_late(at_ms);
        frames.iter().map(|frame| self.encode_frame(frame)).collect()
    }

    /// Returns the frames of a record, after the frames of the children that ended with the record. A record
    /// sent before returns no frames. Waiting content follows by [`Self::render_next_ready`].
    pub fn render_record(&mut self, record: &Record, children: &[Entry]) -> Vec<String> {
        if !self.is_next(record) {
            return Vec::new();
        }
        let mut frames = self.child_frames(children);
        self.early = None;
        self.projection.begin_record(record.number);
        for entry in &record.entries {
            frames.extend(self.project_entry(entry));
        }
        let last = frames.pop();
        let mut encoded_frames: Vec<String> =
            frames.iter().map(|frame| self.encode_frame(frame)).collect();
        self.last_record = Some(record.number);
        encoded_frames.extend(last.map(|frame| self.encode_frame(&frame)));
        encoded_frames
    }

    /// Returns the frames for a part of the children's entries that end with the next record. The other
    /// parts follow in order, and [`Self::render_record`] last. The frames have the cursor of the previous record.
    pub fn render_child_entries(&mut self, entries: &[Entry]) -> Vec<String> {
        let frames = self.child_frames(entries);
        // Later early entries belong to a later part.
        entries.iter().map(|entry| &entry.path).for_each(|path| {
            self.lanes.close_lane(path);
        });
        frames.iter().map(|frame| self.encode_frame(frame)).collect()
    }

    /// Returns the frames of ended children's entries, without entries sent early.
    fn child_frames(&mut self, entries: &[Entry]) -> Vec<Frame> {
        let mut early = self.early.take().unwrap_or_else(|| self.lanes.shown_counts());
        let mut frames = Vec::new();
        for entry in entries {
            match early.get_mut(&entry.path) {
                Some(count) if *count > 0 => *count -= 1,
                Some(_) | None => frames.extend(self.project_entry(entry)),
            }
        }
        self.early = Some(early);
        frames
    }

    /// Returns the frames of a live item, sent before or beside the journal. A preview out of turn waits.
    /// Every entry of a child at work waits for [`Self::render_next_ready`], and is not repeated at the
    /// child's end.
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

    /// Returns the frames of the next waiting item in turn, or `None`.
    pub fn render_next_ready(&mut self) -> Option<Vec<String>> {
        if !self.can_show_early() {
            return None;
        }
        let frames = match self.lanes.take_next_entry() {
            Some(entry) => self.project_entry(&entry),
            None => {
                let ready = self.lanes.take_ready_previews();
                if ready.is_empty() {
                    let progress = self.calls.take_ready_progress()?;
                    self.projection.project_progress(&progress)
                } else {
                    let previews = ready.iter();
                    previews.flat_map(|preview| self.projection.project_preview(preview)).collect()
                }
            }
        };
        Some(frames.iter().map(|frame| self.encode_frame(frame)).collect())
    }

    /// Returns true if [`Self::render_next_ready`] would return frames.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        self.can_show_early() && (self.lanes.has_ready() || self.calls.has_ready())
    }

    /// Returns the children at work with known but missing entries, each with the index of the first missing
    /// entry. Read these from the child's journal, and pass them to [`Self::render_live`].
    pub fn missing_entries(&self) -> impl Iterator<Item = MissingEntry> {
        self.lanes.missing_entries().filter(|_| self.can_show_early())
    }

    /// Returns the paths of the runs below the root at work. For a late client, their past entries may be
    /// passed to [`Self::render_live`].
    pub fn lanes_at_work(&self) -> impl Iterator<Item = &Path> {
        self.lanes.lanes_at_work().filter(|_| self.can_show_early())
    }

    /// Marks an entry of a run at work as existing, so that the entry counts as missing until received.
    pub fn expect_entry(&mut self, path: &Path, nth: u64) {
        self.lanes.expect_entry(path, nth);
    }

    /// Returns true if early content may be shown: not after the end, and not within a record sent in parts,
    /// because early entries are counted before.
    fn can_show_early(&self) -> bool {
        !self.has_ended && self.early.is_none()
    }

    /// Returns the first frame, so that headers and a first byte leave at once.
    #[must_use]
    pub fn greeting(&self) -> String {
        match self.projection.heartbeat() {
            space @ Frame::Raw(_) => self.encode_frame(&space),
            Frame::Data { .. } | Frame::Comment(_) => {
                self.encode_frame(&Frame::Comment("connected"))
            }
        }
    }

    /// Returns the frame that keeps the connection open.
    #[must_use]
    pub fn heartbeat(&self) -> String {
        match self.projection.heartbeat() {
            // Without a blank line: after an id, OpenAI's SDK for Python takes one for an event without data.
            Frame::Comment(text) if !self.can_resume() => format!(": {text}\n"),
            frame @ (Frame::Comment(_) | Frame::Data { .. } | Frame::Raw(_)) => {
                self.encode_frame(&frame)
            }
        }
    }

    /// Returns the frames at the end of a response before the end of the run. Clients that can resume are
    /// asked to reconnect after `delay`, if given.
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

    /// Returns true if pieces are better merged: see [`Projection::has_large_frames`].
    #[must_use]
    pub fn has_large_frames(&self) -> bool {
        self.projection.has_large_frames()
    }

    /// Returns true if the clients reconnect: see [`Projection::can_resume`].
    #[must_use]
    pub fn can_resume(&self) -> bool {
        self.projection.can_resume()
    }

    /// Returns the cursor of the newest record sent in full.
    #[must_use]
    pub fn cursor(&self) -> Option<Cursor> {
        self.last_record.map(|record| Cursor { run: self.run.clone(), record })
    }

    /// Returns the number of the next record for the client.
    #[must_use]
    pub fn next_record_number(&self) -> u64 {
        self.last_record.map_or(0, |complete| complete + 1)
    }

    /// Returns true if the final entry was sent.
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
            Frame::Raw(text) => text.clone(),
            Frame::Data { event, data } => {
                let id = self.cursor().map(|cursor| format!("id: {cursor}\n")).unwrap_or_default();
                let event = event.map(|event| format!("event: {event}\n")).unwrap_or_default();
                format!("{id}{event}data:{data}\n\n")
            }
        }
    }
}
