//! A client's stream: what a driver or viewer sends, and the body that carries it.
//!
//! No driver waits for a slow client: when more than the buffer is unread, its stream ends after
//! what is buffered, and the cursor on its last frame says where to go on. A record is sent whole,
//! however large it is: else a client would come back to the same place for ever.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use djinn_core::entry::Entry;
use djinn_core::journal::Record;
use djinn_core::preview::Live;
use djinn_core::wire::Connection;
use tokio::sync::{Notify, mpsc};

/// The sending half, kept by whoever drives or follows the run.
pub struct ClientStream {
    connection: Box<Connection>,
    sender: Option<mpsc::UnboundedSender<String>>,
    buffered: Arc<Buffered>,
    buffer_size: usize,
    last_sent_ms: i64,
}

/// The receiving half: the body of the response, as a stream of SSE frames.
pub struct ClientBody {
    receiver: mpsc::UnboundedReceiver<String>,
    buffered: Arc<Buffered>,
}

/// What was sent and not yet read.
#[derive(Default)]
struct Buffered {
    bytes: AtomicUsize,
    read: Notify,
}

impl ClientStream {
    /// A stream for one connection, and its body. `buffer_size` is in bytes.
    #[must_use]
    pub fn open(connection: Connection, buffer_size: usize, now_ms: i64) -> (Self, ClientBody) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let buffered = Arc::new(Buffered::default());
        let body = ClientBody { receiver, buffered: Arc::clone(&buffered) };
        let sender = Some(sender);
        let connection = Box::new(connection);
        let stream = Self { connection, sender, buffered, buffer_size, last_sent_ms: now_ms };
        (stream, body)
    }

    /// Whether anybody can still read what is sent. On Lambda a client that left is not noticed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Whether more can be sent without closing the stream.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.buffered.bytes.load(Ordering::Relaxed) <= self.buffer_size
    }

    /// Returns when there is room, or nobody to read any more.
    pub async fn room(&mut self) {
        while self.is_open() && !self.has_room() {
            self.buffered.read.notified().await;
        }
    }

    /// What the client has and needs.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Takes over what the client has from an earlier connection.
    pub fn skip(&mut self, records: &[Record]) {
        for record in records {
            self.connection.skip(record);
        }
        self.connection.resume();
    }

    /// Begins after these records, which the client has not seen.
    pub fn begin_late(&mut self, records: &[Record], now_ms: i64) {
        for record in records {
            self.connection.skip(record);
        }
        let frames = self.connection.begin_late(now_ms);
        self.send(frames, now_ms);
    }

    /// Sends a comment, so that headers and a first byte leave at once.
    pub fn greet(&mut self, now_ms: i64) {
        self.send(vec![": connected\n\n".to_owned()], now_ms);
    }

    /// Sends a record's frames, those of the tasks that ended with it first; nothing if it was sent
    /// before.
    pub fn record(&mut self, record: &Record, tasks: &[Entry], now_ms: i64) {
        let frames = self.connection.record(record, tasks);
        self.send(frames, now_ms);
    }

    /// Sends what is shown before it is in the journal.
    pub fn live(&mut self, live: &Live, now_ms: i64) {
        let frames = self.connection.live(live);
        self.send(frames, now_ms);
    }

    /// When the next heartbeat is due if nothing else is sent, Unix milliseconds. Never for a client
    /// that is gone, or that was sent the final entry: nothing follows that.
    #[must_use]
    pub fn heartbeat_at_ms(&self, every_ms: i64) -> i64 {
        let listens = self.is_open() && !self.connection.has_ended();
        if listens { self.last_sent_ms.saturating_add(every_ms) } else { i64::MAX }
    }

    /// Sends the frame that keeps the connection open.
    pub fn heartbeat(&mut self, now_ms: i64) {
        let frame = self.connection.heartbeat();
        self.send(vec![frame], now_ms);
    }

    /// Sends how to go on, if the run has not ended, and closes the stream.
    pub fn hand_over(&mut self, now_ms: i64) {
        if !self.connection.has_ended() {
            let frames = self.connection.hand_over(now_ms);
            self.send(frames, now_ms);
        }
        self.sender = None;
    }

    fn send(&mut self, frames: Vec<String>, now_ms: i64) {
        if !self.has_room() {
            self.sender = None;
        }
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
