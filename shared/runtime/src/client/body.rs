//! The receiving half of a client's stream: the body of the response.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use tokio::sync::mpsc;

use super::BufferState;
use crate::gathering::GatheringReceiver;

/// The body of a response, as a stream of SSE frames.
pub struct ClientBody {
    receiver: GatheringReceiver<String>,
    buffered: Arc<BufferState>,
}

impl ClientBody {
    pub(super) fn new(
        receiver: mpsc::UnboundedReceiver<String>,
        buffered: Arc<BufferState>,
    ) -> Self {
        Self { receiver: GatheringReceiver::new(receiver), buffered }
    }

    /// Polls for the next frame; `None` at the end of the stream.
    ///
    /// After a pause, the next frame is returned one turn of the scheduler later, so that the server sends frames
    /// that are ready together in one write.
    pub fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        let body = self.get_mut();
        let frame = ready!(body.receiver.poll_recv(cx));
        if let Some(frame) = &frame {
            body.buffered.bytes.fetch_sub(frame.len(), Ordering::Relaxed);
            body.buffered.read.notify_one();
        }
        Poll::Ready(frame)
    }

    /// Returns the next frame; `None` at the end of the stream.
    pub async fn next_frame(&mut self) -> Option<String> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_frame(cx)).await
    }
}

impl Drop for ClientBody {
    fn drop(&mut self) {
        self.receiver.close();
        self.buffered.read.notify_one();
    }
}
