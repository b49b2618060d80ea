//! A client's stream: what a driver or viewer sends, and the body that carries it.
//!
//! No driver waits for a slow client. Previews are hints: they fill a quarter of the buffer at most, and
//! what has no room there waits, merged with what follows it, until there is room or its entry comes,
//! which says all of it. What children show early waits for the same room, in its order. Entries have the
//! rest. What tools say while they work waits like previews, until its call is answered. A record is sent whole, however large it is, as long as the buffer is not full: else a client
//! would come back to the same place for ever. Where it is full, the response ends there, and its last
//! frame, which says how to go on, passes the bound.

mod children;
mod waiting_previews;
mod waiting_progress;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use djinn_core::entry::Entry;
use djinn_core::journal::Record;
use djinn_protocol::connection::Connection;
use djinn_protocol::preview::Live;
use tokio::sync::{Notify, mpsc};
use waiting_previews::WaitingPreviews;
use waiting_progress::WaitingProgress;

/// The part of the buffer that previews and what children show early may fill: one in so many.
const PREVIEW_PART: usize = 4;

/// The sending half, kept by whoever drives or follows the run.
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
    hand_over_signal: HandOverSignal,
}

/// The receiving half: the body of the response, as a stream of SSE frames.
pub struct ClientBody {
    receiver: mpsc::UnboundedReceiver<String>,
    buffered: Arc<BufferState>,
}

/// Asks a response, from outside of whoever serves it, to end with how to go on.
#[derive(Debug, Clone, Default)]
pub struct HandOverSignal(Arc<AtomicBool>);

impl HandOverSignal {
    /// Has the response end with how to go on, unless its run is driven there.
    pub fn request_hand_over(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What was sent and not yet read.
#[derive(Default)]
struct BufferState {
    bytes: AtomicUsize,
    read: Notify,
}

impl ClientStream {
    /// A stream for one connection, and its body. `buffer_size` is in bytes.
    #[must_use]
    pub fn open(connection: Connection, buffer_size: usize, now_ms: i64) -> (Self, ClientBody) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let buffered = Arc::new(BufferState::default());
        let body = ClientBody { receiver, buffered: Arc::clone(&buffered) };
        let sender = Some(sender);
        let stream = Self {
            connection: Box::new(connection),
            previews: WaitingPreviews::default(),
            progress: WaitingProgress::default(),
            sender,
            buffered,
            buffer_size,
            last_sent_ms: now_ms,
            last_shown_ms: now_ms,
            end_shown: None,
            belongs_to_asker: true,
            hand_over_signal: HandOverSignal::default(),
        };
        (stream, body)
    }

    /// Sends the pieces of a message together once in so long, its first one at once, if the client's
    /// protocol asks for it.
    pub fn merge_previews(&mut self, every: Duration) {
        if self.connection.has_large_frames() {
            self.previews.set_merge_interval(every);
        }
    }

    /// Whether anybody can still read what is sent. On Lambda a client that left is not noticed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Whether an entry can be sent without ending the response.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.buffered.bytes.load(Ordering::Relaxed) <= self.buffer_size
    }

    /// Whether what may wait can be sent, too.
    #[must_use]
    pub fn has_preview_room(&self) -> bool {
        self.buffered.bytes.load(Ordering::Relaxed) <= self.buffer_size / PREVIEW_PART
    }

    /// It is somebody else's than who asked: what it is sent, the asker has not seen.
    pub fn mark_as_other_viewer(&mut self) {
        self.belongs_to_asker = false;
    }

    /// Whether who asked would be sent an entry if it came now.
    #[must_use]
    pub fn reaches_asker(&self) -> bool {
        self.belongs_to_asker && self.is_open() && self.has_room()
    }

    /// It is known whether some client of the asker's was sent the end of the run, which has ended.
    pub fn set_end_shown(&mut self, shown: bool) {
        self.end_shown = Some(shown);
    }

    /// Whether some client of the asker's was sent the end of the run; `None` if nobody has looked since it
    /// ended.
    #[must_use]
    pub fn end_shown(&self) -> Option<bool> {
        self.end_shown
    }

    /// Whether it has the end of the run, and is the first of the asker's to have it, as far as is known.
    #[must_use]
    pub fn is_first_with_end(&self) -> bool {
        let has_it = self.is_open() && self.connection.has_ended();
        has_it && self.belongs_to_asker && self.end_shown != Some(true)
    }

    /// The signal that ends this response.
    #[must_use]
    pub fn hand_over_signal(&self) -> HandOverSignal {
        self.hand_over_signal.clone()
    }

    /// Whether its end was asked for.
    #[must_use]
    pub fn is_hand_over_requested(&self) -> bool {
        self.hand_over_signal.0.load(Ordering::Relaxed)
    }

    /// Returns when there is room, or nobody to read any more.
    pub async fn wait_for_room(&mut self) {
        while self.is_open() && !self.has_room() {
            self.buffered.read.notified().await;
        }
    }

    /// What the client has and needs.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Takes a record that the client is not sent: it had it on an earlier connection, or is not to see
    /// it. After the last one follows [`Self::resume_after_skipped`] or [`Self::begin_after_skipped`].
    pub fn skip_record(&mut self, record: &Record) {
        self.connection.skip_record(record);
    }

    /// The client has what was skipped.
    pub fn resume_after_skipped(&mut self) {
        self.connection.resume();
    }

    /// Begins after what was skipped, which the client has not seen.
    pub fn begin_after_skipped(&mut self, now_ms: i64) {
        let frames = self.connection.begin_late(now_ms);
        self.send_frames(frames, now_ms);
    }

    /// Sends a comment, so that headers and a first byte leave at once.
    pub fn send_greeting(&mut self, now_ms: i64) {
        self.send_frames(vec![": connected\n\n".to_owned()], now_ms);
    }

    /// Sends a record's frames, those of the children that ended with it first, and what waited for it;
    /// nothing if it was sent before. Ends the response instead if there is no room for them.
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

    /// Sends a part of what the children did that end with the record that the client needs next; see
    /// [`Connection::render_child_entries`]. There must be room.
    pub fn send_child_entries(&mut self, entries: &[Entry], now_ms: i64) {
        entries.iter().for_each(|entry| self.discard_covered(entry));
        let frames = self.connection.render_child_entries(entries);
        self.send_content(frames, now_ms);
    }

    /// Shows what is not yet in the journal, as far as there is room: what is left out waits, or follows
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

    /// Sends what children have shown early and the previews that wait, those whose time has come, while
    /// there is room.
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

    /// When [`Self::send_previews`] has something to send, Unix milliseconds; `None` while there is
    /// nothing, or no room.
    #[must_use]
    pub fn next_preview_at_ms(&self) -> Option<i64> {
        self.previews.next_at_ms().filter(|_| self.has_preview_room())
    }

    /// Returns when what has no room now has some, or nobody can read it any more; never if nothing
    /// waits for room.
    pub fn wait_for_preview_room(&self) -> impl Future<Output = ()> + use<> {
        let any = self.previews.next_at_ms().is_some()
            || !self.progress.is_empty()
            || self.connection.has_ready();
        let waits = any && !self.has_preview_room();
        let sender = self.sender.clone().filter(|_| waits);
        let (buffered, most) = (Arc::clone(&self.buffered), self.buffer_size / PREVIEW_PART);
        async move {
            let Some(sender) = sender else { return std::future::pending().await };
            while !sender.is_closed() && buffered.bytes.load(Ordering::Relaxed) > most {
                buffered.read.notified().await;
            }
        }
    }

    /// When an entry or a preview was sent last, Unix milliseconds; at first when the stream began.
    #[must_use]
    pub fn last_shown_ms(&self) -> i64 {
        self.last_shown_ms
    }

    /// When the next heartbeat is due if nothing else is sent, Unix milliseconds. Never for a client
    /// that is gone, or that was sent the final entry: nothing follows that.
    #[must_use]
    pub fn heartbeat_at_ms(&self, every_ms: i64) -> i64 {
        let listens = self.is_open() && !self.connection.has_ended();
        if listens { self.last_sent_ms.saturating_add(every_ms) } else { i64::MAX }
    }

    /// Sends the frame that keeps the connection open, unless there is enough to be read.
    pub fn send_heartbeat(&mut self, now_ms: i64) {
        self.last_sent_ms = now_ms;
        if self.has_preview_room() {
            self.send_frames(vec![self.connection.heartbeat()], now_ms);
        }
    }

    /// Sends how to go on, if the run has not ended, and closes the stream.
    pub fn hand_over(&mut self, now_ms: i64) {
        self.hand_over_for(None, now_ms);
    }

    /// The same, with the time after which there may be news: see [`crate::reconnect`].
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
    /// However a driver ends, also by a bug, its client is told how to go on.
    fn drop(&mut self) {
        self.hand_over(self.last_sent_ms);
    }
}

impl Drop for ClientBody {
    fn drop(&mut self) {
        self.receiver.close();
        self.buffered.read.notify_one();
    }
}

impl ClientBody {
    /// The next frame; `None` when the stream has ended.
    pub fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        let body = self.get_mut();
        let frame = std::task::ready!(body.receiver.poll_recv(cx));
        if let Some(frame) = &frame {
            body.buffered.bytes.fetch_sub(frame.len(), Ordering::Relaxed);
            body.buffered.read.notify_one();
        }
        Poll::Ready(frame)
    }

    /// The next frame; `None` when the stream has ended.
    pub async fn next_frame(&mut self) -> Option<String> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_frame(cx)).await
    }
}
