//! Reads genai's stream: frames on arrival, events, and the time of the last activity.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::Stream;
use genai::Error as GenaiError;
use genai::chat::{ChatFrameSink, ChatStream, ChatStreamEvent, FrameCtx, RawFrameRef};
use tokio::time::Instant;
use tracing::Dispatch;
use tracing::dispatcher::with_default;

/// An item of the stream.
pub(crate) enum StreamItem {
    /// A frame's unchanged data.
    Frame(String),
    /// An event created by genai.
    Event(ChatStreamEvent),
    /// An error of genai; the stream may continue.
    Error(GenaiError),
    /// The stream is over.
    End,
}

/// Decoded frames not yet read.
#[derive(Debug, Default)]
pub(crate) struct FrameQueue(Mutex<VecDeque<String>>);

impl FrameQueue {
    fn lock_frames(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for FrameQueue {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.lock_frames().push_back(frame.data.to_owned());
    }
}

/// The reader of one stream.
pub(crate) struct FrameStream {
    stream: ChatStream,
    inbox: Arc<FrameQueue>,
    activity: Arc<Activity>,
    /// An item of genai's, kept until earlier frames are read.
    pending: Option<StreamItem>,
}

impl FrameStream {
    pub(crate) fn new(stream: ChatStream, inbox: Arc<FrameQueue>, start: Instant) -> Self {
        Self {
            stream,
            inbox,
            activity: Arc::new(Activity { start, last_activity_ms: AtomicU64::new(0) }),
            pending: None,
        }
    }

    /// Returns the time of the connection's last activity: frames or partial frames.
    pub(crate) fn last_activity(&self) -> Instant {
        self.activity.start
            + Duration::from_millis(self.activity.last_activity_ms.load(Ordering::Relaxed))
    }

    /// Resets the idle time after a suspension of the process.
    pub(crate) fn reset_idle(&self) {
        self.activity.mark_active();
    }

    /// Returns the next item. Frames precede their event and never wait for an event, because genai creates
    /// none from unknown frames.
    pub(crate) async fn next_item(&mut self) -> StreamItem {
        poll_fn(|context| {
            if let Some(item) = self.take_ready() {
                return Poll::Ready(item);
            }
            let waker = Waker::from(Arc::new(ActivityWaker {
                activity: Arc::clone(&self.activity),
                task: context.waker().clone(),
            }));
            let mut inner = Context::from_waker(&waker);
            let stream = Pin::new(&mut self.stream);
            self.pending = match without_tracing(|| stream.poll_next(&mut inner)) {
                Poll::Pending => None,
                Poll::Ready(Some(Ok(event))) => Some(StreamItem::Event(event)),
                Poll::Ready(Some(Err(error))) => Some(StreamItem::Error(error)),
                Poll::Ready(None) => Some(StreamItem::End),
            };
            match self.take_ready() {
                Some(item) => Poll::Ready(item),
                None => Poll::Pending,
            }
        })
        .await
    }

    fn take_ready(&mut self) -> Option<StreamItem> {
        let frame = self.inbox.lock_frames().pop_front();
        if frame.is_some() {
            self.activity.mark_active();
        }
        frame.map(StreamItem::Frame).or_else(|| self.pending.take())
    }
}

/// Runs genai without logging: genai logs frames and error bodies at ERROR and WARN, and these may quote a
/// prompt.
pub(crate) fn without_tracing<T>(run: impl FnOnce() -> T) -> T {
    with_default(&Dispatch::none(), run)
}

/// The time of a stream's last activity, in milliseconds since the call started.
struct Activity {
    start: Instant,
    last_activity_ms: AtomicU64,
}

impl Activity {
    fn mark_active(&self) {
        let ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_activity_ms.fetch_max(ms, Ordering::Relaxed);
    }
}

/// Wakes the task and notes the time: the connection wakes a stream for every part of a body.
struct ActivityWaker {
    activity: Arc<Activity>,
    task: Waker,
}

impl Wake for ActivityWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.activity.mark_active();
        self.task.wake_by_ref();
    }
}
