//! Hearing genai's stream: its frames as they arrive, its events, and when something last moved.

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

/// Something that was heard.
pub(crate) enum Heard {
    /// A frame's data, as it came.
    Frame(String),
    /// What genai makes of the stream.
    Event(ChatStreamEvent),
    /// An error of genai's; the stream may go on.
    Failed(GenaiError),
    /// The stream is over.
    End,
}

/// The frames that were decoded and not read yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox(Mutex<VecDeque<String>>);

impl Inbox {
    fn frames(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Inbox {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.frames().push_back(frame.data.to_owned());
    }
}

/// Listens to one stream.
pub(crate) struct Ear {
    stream: ChatStream,
    inbox: Arc<Inbox>,
    moved: Arc<Moved>,
    /// What genai said together with frames that have to be read first.
    next: Option<Heard>,
}

impl Ear {
    pub(crate) fn new(stream: ChatStream, inbox: Arc<Inbox>, started: Instant) -> Self {
        Self {
            stream,
            inbox,
            moved: Arc::new(Moved { started, last_ms: AtomicU64::new(0) }),
            next: None,
        }
    }

    /// When the connection last gave a sign of life, frames or parts of them.
    pub(crate) fn last_moved(&self) -> Instant {
        self.moved.started + Duration::from_millis(self.moved.last_ms.load(Ordering::Relaxed))
    }

    /// The process stood still until now: nothing could move.
    pub(crate) fn stood_still(&self) {
        self.moved.note();
    }

    /// The next thing heard. Frames come before the event that was made of them, and do not wait
    /// for one: genai makes none of frames that it does not understand.
    pub(crate) async fn hear(&mut self) -> Heard {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Heard> {
        if let Some(heard) = self.read() {
            return Poll::Ready(heard);
        }
        let moved = Waker::from(Arc::new(Moving {
            moved: Arc::clone(&self.moved),
            task: context.waker().clone(),
        }));
        let mut inner = Context::from_waker(&moved);
        let stream = Pin::new(&mut self.stream);
        self.next = match quietly(|| stream.poll_next(&mut inner)) {
            Poll::Pending => None,
            Poll::Ready(Some(Ok(event))) => Some(Heard::Event(event)),
            Poll::Ready(Some(Err(error))) => Some(Heard::Failed(error)),
            Poll::Ready(None) => Some(Heard::End),
        };
        match self.read() {
            Some(heard) => Poll::Ready(heard),
            None => Poll::Pending,
        }
    }

    fn read(&mut self) -> Option<Heard> {
        let frame = self.inbox.frames().pop_front();
        if frame.is_some() {
            self.moved.note();
        }
        frame.map(Heard::Frame).or_else(|| self.next.take())
    }
}

/// Runs genai without its logging: it logs frames and error bodies, which may quote a prompt, at
/// ERROR and WARN.
pub(crate) fn quietly<T>(run: impl FnOnce() -> T) -> T {
    with_default(&Dispatch::none(), run)
}

/// When a stream last moved, in milliseconds since the call started.
struct Moved {
    started: Instant,
    last_ms: AtomicU64,
}

impl Moved {
    fn note(&self) {
        let ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.fetch_max(ms, Ordering::Relaxed);
    }
}

/// Wakes the task and notes the time: the connection wakes a stream for every part of a body.
struct Moving {
    moved: Arc<Moved>,
    task: Waker,
}

impl Wake for Moving {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.moved.note();
        self.task.wake_by_ref();
    }
}
