//! A client's stream: the sending half for a driver or viewer, and the response body.
//!
//! No driver waits for a slow client. Previews are hints: they fill at most a quarter of the buffer. A
//! preview without room waits, merged with later previews, until there is room or its complete entry is sent.
//! Early entries of children wait for the same room, in order. Entries have the rest of the buffer, except those read
//! from the journal for a follower: they wait for the same quarter, since the journal can be read later. Tool progress
//! waits like previews, until the call has its result.
//!
//! A record is sent whole, however large, as long as the buffer is not full: otherwise a client would resume
//! at the same place forever. A full buffer ends the response. The last frame, with instructions to resume,
//! may exceed the limit.

mod body;
mod children;
mod response_end;
mod waiting_previews;
mod waiting_progress;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub use body::ClientBody;
use djinn_core::entry::Entry;
use djinn_core::journal::Record;
use djinn_protocol::connection::Connection;
use djinn_protocol::preview::Live;
pub use response_end::HandOverSignal;
use response_end::ResponseEnd;
use tokio::sync::{Notify, mpsc};
use waiting_previews::WaitingPreviews;
use waiting_progress::WaitingProgress;

/// The divisor of the buffer for previews and early entries of children.
const PREVIEW_PART: usize = 4;

/// The sending half, kept by the driver or viewer of the run.
pub struct ClientStream {
    connection: Box<Connection>,
    previews: WaitingPreviews,
    progress: WaitingProgress,
    sender: Option<mpsc::UnboundedSender<String>>,
    buffered: Arc<BufferState>,
    buffer_size: usize,
    last_sent_ms: i64,
    last_shown_ms: i64,
    end_shown: Option<bool>,
    belongs_to_asker: bool,
    end: ResponseEnd,
}

/// The sent and unread bytes.
#[derive(Default)]
struct BufferState {
    bytes: AtomicUsize,
    read: Notify,
}

impl ClientStream {
    /// Opens a stream for one connection, and its body. `buffer_size` is in bytes.
    #[must_use]
    pub fn open(connection: Connection, buffer_size: usize, now_ms: i64) -> (Self, ClientBody) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let buffer = Arc::new(BufferState::default());
        let body = ClientBody::new(receiver, Arc::clone(&buffer));
        let sender = Some(sender);
        let stream = Self {
            connection: Box::new(connection),
            previews: WaitingPreviews::default(),
            progress: WaitingProgress::default(),
            sender,
            buffered: buffer,
            buffer_size,
            last_sent_ms: now_ms,
            last_shown_ms: now_ms,
            end_shown: None,
            belongs_to_asker: true,
            end: ResponseEnd::default(),
        };
        (stream, body)
    }

    /// Merges the pieces of a message into one frame per `every`, if the client's protocol requires this. A
    /// message's first piece is sent at once.
    pub fn merge_previews(&mut self, every: Duration) {
        if self.connection.has_large_frames() {
            self.previews.set_merge_interval(every);
        }
    }

    /// Returns true if a client can still read the stream. On Lambda, a disconnected client goes unnoticed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Returns true if an entry can be sent without ending the response.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.buffered.bytes.load(Ordering::Relaxed) <= self.buffer_size
    }

    /// Returns true if previews, early entries and entries read from the journal can be sent.
    #[must_use]
    pub fn has_preview_room(&self) -> bool {
        self.buffered.bytes.load(Ordering::Relaxed) <= self.buffer_size / PREVIEW_PART
    }

    /// Marks the stream as another user's: its frames do not count as seen by the asker.
    pub fn mark_as_other_viewer(&mut self) {
        self.belongs_to_asker = false;
    }

    /// Returns true if an entry sent now would reach the run's own user.
    #[must_use]
    pub fn reaches_asker(&self) -> bool {
        self.belongs_to_asker && self.is_open() && self.has_room()
    }

    /// Records if a client of the run's own user has received the end of the ended run.
    pub fn set_end_shown(&mut self, is_shown: bool) {
        self.end_shown = Some(is_shown);
    }

    /// Returns true if a client of the run's own user has received the end of the run; `None` if not checked
    /// since the end.
    #[must_use]
    pub fn end_shown(&self) -> Option<bool> {
        self.end_shown
    }

    /// Returns true if this stream is the first known stream of the run's own user that has sent the end.
    #[must_use]
    pub fn is_first_with_end(&self) -> bool {
        let has_it = self.is_open() && self.connection.has_ended();
        has_it && self.belongs_to_asker && self.end_shown != Some(true)
    }

    /// Returns the signal that ends this response.
    #[must_use]
    pub fn hand_over_signal(&self) -> HandOverSignal {
        self.end.signal.clone()
    }

    /// Ends the response at this time, Unix milliseconds. The run outlives such a response, and is driven elsewhere.
    pub fn end_at(&mut self, at_ms: i64) {
        self.end.at_ms = Some(at_ms);
    }

    /// Returns true if the response has an end of its own; see [`Self::end_at`].
    #[must_use]
    pub fn is_brief(&self) -> bool {
        self.end.at_ms.is_some()
    }

    /// Returns true if this response must end before its run.
    #[must_use]
    pub fn is_hand_over_requested(&self, now_ms: i64) -> bool {
        self.end.is_requested(now_ms)
    }

    /// Returns when the buffer has room for entries read from the journal, or the client has left.
    pub async fn wait_for_journal_room(&mut self) {
        while self.is_open() && !self.has_preview_room() {
            self.buffered.read.notified().await;
        }
    }

    /// Returns the state of the client's connection.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Skips a record that the client received earlier or must not see. After the last skipped record, call
    /// [`Self::resume_after_skipped`] or [`Self::begin_after_skipped`].
    pub fn skip_record(&mut self, record: &Record) {
        self.connection.skip_record(record);
    }

    /// Resumes after skipped records that the client already has.
    pub fn resume_after_skipped(&mut self) {
        self.connection.resume();
    }

    /// Begins after skipped records that the client has never seen.
    pub fn begin_after_skipped(&mut self, now_ms: i64) {
        let frames = self.connection.begin_late(now_ms);
        self.send_frames(frames, now_ms);
    }

    /// Sends [`Connection::greeting`].
    pub fn send_greeting(&mut self, now_ms: i64) {
        self.send_frames(vec![self.connection.greeting()], now_ms);
    }

    /// Sends a record's frames after the entries of children that end with this record, then the waiting
    /// early entries. Does nothing if the record was sent before. Ends the response instead if there is no
    /// room.
    pub fn send_record(&mut self, record: &Record, children: &[Entry], now_ms: i64) {
        if record.number != self.connection.next_record_number() {
            return;
        }
        let is_empty = children.is_empty() && record.entries.is_empty();
        if !is_empty && !self.has_room() {
            self.hand_over(now_ms);
            return;
        }
        children.iter().chain(&record.entries).for_each(|entry| self.discard_covered(entry));
        let frames = self.connection.render_record(record, children);
        self.send_content(frames, now_ms);
        self.send_early_entries(now_ms);
    }

    /// Sends a part of the entries of children that end with the client's next record; see
    /// [`Connection::render_child_entries`]. There must be room.
    pub fn send_child_entries(&mut self, entries: &[Entry], now_ms: i64) {
        entries.iter().for_each(|entry| self.discard_covered(entry));
        let frames = self.connection.render_child_entries(entries);
        self.send_content(frames, now_ms);
    }

    /// Sends live content that is not yet in the journal, as far as there is room. The rest waits, or follows
    /// in its record.
    pub fn send_live<'a>(&mut self, news: impl IntoIterator<Item = &'a Live>, now_ms: i64) {
        if !self.is_open() {
            self.drop_waiting();
            return;
        }
        for live in news {
            match live {
                Live::Preview(piece) => self.previews.add_piece(piece),
                Live::Progress(piece) => self.progress.add_piece(piece),
                Live::Entry(early) => {
                    self.discard_covered(&early.entry);
                    self.connection.render_live(live);
                }
            }
        }
        self.send_previews(now_ms);
    }

    /// Sends early entries of children and due previews, while there is room.
    pub fn send_previews(&mut self, now_ms: i64) {
        if !self.is_open() {
            self.drop_waiting();
        }
        self.send_early_entries(now_ms);
        while self.has_preview_room()
            && let Some(piece) = self.previews.take_piece(now_ms)
        {
            let frames = self.connection.render_live(&Live::Preview(piece));
            self.send_content(frames, now_ms);
        }
        while self.has_preview_room()
            && let Some(piece) = self.progress.take_piece()
        {
            let frames = self.connection.render_live(&Live::Progress(piece));
            self.send_content(frames, now_ms);
        }
    }

    fn discard_covered(&mut self, entry: &Entry) {
        self.previews.discard_covered(entry);
        self.progress.discard_covered(entry);
    }

    fn drop_waiting(&mut self) {
        self.previews.clear();
        self.progress.clear();
    }

    fn send_early_entries(&mut self, now_ms: i64) {
        while self.has_preview_room()
            && let Some(frames) = self.connection.render_next_ready()
        {
            self.send_content(frames, now_ms);
        }
    }

    /// Returns the time of the next due preview for [`Self::send_previews`], in Unix milliseconds; `None`
    /// without previews or room.
    #[must_use]
    pub fn next_preview_at_ms(&self) -> Option<i64> {
        self.previews.next_at_ms().filter(|_| self.has_preview_room())
    }

    /// Returns when waiting content has room, or the client has left. Never returns if nothing waits for
    /// room.
    pub fn wait_for_preview_room(&self) -> impl Future<Output = ()> + use<> {
        let any = self.previews.next_at_ms().is_some()
            || !self.progress.is_empty()
            || self.connection.has_ready();
        let waits = any && !self.has_preview_room();
        let sender = self.sender.as_ref().filter(|_| waits);
        let stream = sender.map(|sender| (sender.clone(), Arc::clone(&self.buffered)));
        let most = self.buffer_size / PREVIEW_PART;
        async move {
            let Some((sender, buffer)) = stream else { return std::future::pending().await };
            while !sender.is_closed() && buffer.bytes.load(Ordering::Relaxed) > most {
                buffer.read.notified().await;
            }
        }
    }

    /// Returns the time of the last sent entry or preview, in Unix milliseconds; initially the start of the
    /// stream.
    #[must_use]
    pub fn last_shown_ms(&self) -> i64 {
        self.last_shown_ms
    }

    /// Returns the time of the next heartbeat, in Unix milliseconds, if no other frame is sent earlier.
    /// [`i64::MAX`] for a client that has left or has received the final entry, which is the last frame.
    #[must_use]
    pub fn heartbeat_at_ms(&self, every_ms: i64) -> i64 {
        let listens = self.is_open() && !self.connection.has_ended();
        if listens { self.last_sent_ms.saturating_add(every_ms) } else { i64::MAX }
    }

    /// Sends the frame that keeps the connection open, unless enough content is buffered.
    pub fn send_heartbeat(&mut self, now_ms: i64) {
        self.last_sent_ms = now_ms;
        if self.has_preview_room() {
            self.send_frames(vec![self.connection.heartbeat()], now_ms);
        }
    }

    /// Sends instructions to resume, if the run has not ended, and closes the stream.
    pub fn hand_over(&mut self, now_ms: i64) {
        self.hand_over_for(None, now_ms);
    }

    /// Hands over, with the time after which news is expected: see [`crate::reconnect`].
    pub(crate) fn hand_over_for(&mut self, delay: Option<Duration>, now_ms: i64) {
        if self.sender.is_some() && !self.connection.has_ended() {
            let frames = self.connection.hand_over(delay, now_ms);
            self.send_frames(frames, now_ms);
        }
        self.sender = None;
        self.drop_waiting();
    }

    fn send_content(&mut self, frames: Vec<String>, now_ms: i64) {
        if !frames.is_empty() {
            self.last_shown_ms = now_ms;
        }
        self.send_frames(frames, now_ms);
    }

    fn send_frames(&mut self, frames: Vec<String>, now_ms: i64) {
        for frame in frames {
            let Some(sender) = &self.sender else { return };
            self.buffered.bytes.fetch_add(frame.len(), Ordering::Relaxed);
            if sender.send(frame).is_err() {
                self.sender = None;
                return;
            }
            self.last_sent_ms = now_ms;
        }
    }
}

impl Drop for ClientStream {
    /// Sends instructions to resume however a driver ends, even by a bug.
    fn drop(&mut self) {
        self.hand_over(self.last_sent_ms);
    }
}
