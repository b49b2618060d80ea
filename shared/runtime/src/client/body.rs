//! The receiving half of a client's stream: the body of the response.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use tokio::sync::mpsc;

use super::BufferState;

/// The body of a response, as a stream of SSE frames.
pub struct ClientBody {
    receiver: mpsc::UnboundedReceiver<String>,
    buffered: Arc<BufferState>,
    /// True if no frame was left at the last poll.
    waits: bool,
}

impl ClientBody {
    pub(super) fn new(
        receiver: mpsc::UnboundedReceiver<String>,
        buffered: Arc<BufferState>,
    ) -> Self {
        Self { receiver, buffered, waits: true }
    }

    /// Polls for the next frame; `None` at the end of the stream.
    ///
    /// After a pause, the next frame is returned one turn of the scheduler later: frames of words that a model wrote
    /// together are then ready together, and the server sends them in one write.
    pub fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        let body = self.get_mut();
        if body.waits && !body.receiver.is_empty() {
            body.waits = false;
            // Wakes the caller in the next turn, so the result is always pending.
            let _ = pin!(tokio::task::yield_now()).poll(cx);
            return Poll::Pending;
        }
        let received = body.receiver.poll_recv(cx);
        body.waits = received.is_pending();
        let frame = ready!(received);
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test]
    async fn frames_that_come_together_after_a_wait_are_ready_together() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut body = ClientBody::new(receiver, Arc::default());
        let mut poll = async || poll_fn(|cx| Poll::Ready(Pin::new(&mut body).poll_frame(cx))).await;
        assert_eq!(poll().await, Poll::Pending, "nothing was sent");
        sender.send("a".to_owned()).unwrap();
        assert_eq!(poll().await, Poll::Pending, "more may come");
        sender.send("b".to_owned()).unwrap();
        assert_eq!(poll().await, Poll::Ready(Some("a".to_owned())));
        assert_eq!(poll().await, Poll::Ready(Some("b".to_owned())));
        assert_eq!(poll().await, Poll::Pending, "both are read");
        drop(sender);
        assert_eq!(poll().await, Poll::Ready(None));
    }
}
