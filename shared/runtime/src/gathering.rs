//! The receiver of a channel whose items often come one right after the other.

use std::pin::pin;
use std::task::{Context, Poll};

use tokio::sync::mpsc::UnboundedReceiver;

/// A receiver that waits one turn of the scheduler after a pause: items that are sent together are then received
/// together.
///
/// The HTTP client hands over a model's reply word by word. Without that turn, each word would be shown and
/// written to the client's socket separately.
pub(crate) struct GatheringReceiver<T> {
    receiver: UnboundedReceiver<T>,
    /// False if items are returned without that turn.
    gathers: bool,
    /// True if nothing was left at the last poll.
    waits: bool,
}

impl<T> GatheringReceiver<T> {
    pub(crate) fn new(receiver: UnboundedReceiver<T>) -> Self {
        Self { receiver, gathers: true, waits: true }
    }

    /// Creates a receiver that waits only if `gathers` is true.
    pub(crate) fn gathering_if(gathers: bool, receiver: UnboundedReceiver<T>) -> Self {
        Self { gathers, ..Self::new(receiver) }
    }

    /// Polls for the next item; `None` at the end of the channel.
    pub(crate) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if self.must_pause(cx) {
            return Poll::Pending;
        }
        let received = self.receiver.poll_recv(cx);
        self.waits = received.is_pending();
        received
    }

    /// Polls for items and adds them to `items`, up to `limit`. Returns their number; 0 at the end of the channel.
    pub(crate) fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        items: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        if self.must_pause(cx) {
            return Poll::Pending;
        }
        let received = self.receiver.poll_recv_many(cx, items, limit);
        self.waits = received.is_pending();
        received
    }

    /// Returns all items received so far, without waiting.
    pub(crate) fn take_received(&mut self) -> Vec<T> {
        let mut items = Vec::with_capacity(self.receiver.len());
        while let Ok(item) = self.receiver.try_recv() {
            items.push(item);
        }
        items
    }

    /// Rejects further items.
    pub(crate) fn close(&mut self) {
        self.receiver.close();
    }

    /// Returns true once after each pause, and then wakes the caller in the next turn of the scheduler.
    fn must_pause(&mut self, cx: &mut Context<'_>) -> bool {
        let is_first = self.gathers && self.waits && !self.receiver.is_empty();
        if is_first {
            self.waits = false;
            // Its first poll is always pending.
            let _ = pin!(tokio::task::yield_now()).poll(cx);
        }
        is_first
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use tokio::sync::mpsc;

    #[tokio::test]
    async fn items_that_come_together_after_a_pause_are_ready_together() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut gathering = GatheringReceiver::new(receiver);
        let mut poll = async || poll_fn(|cx| Poll::Ready(gathering.poll_recv(cx))).await;
        assert_eq!(poll().await, Poll::Pending, "nothing was sent");
        sender.send('a').unwrap();
        assert_eq!(poll().await, Poll::Pending, "more may come");
        sender.send('b').unwrap();
        assert_eq!(poll().await, Poll::Ready(Some('a')));
        assert_eq!(poll().await, Poll::Ready(Some('b')));
        assert_eq!(poll().await, Poll::Pending, "both are received");
        drop(sender);
        assert_eq!(poll().await, Poll::Ready(None));
    }

    #[tokio::test]
    async fn a_reader_that_is_cancelled_loses_nothing() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut gathering = GatheringReceiver::new(receiver);
        let mut items = Vec::new();
        let mut poll = async |items: &mut Vec<char>| {
            poll_fn(|cx| Poll::Ready(gathering.poll_recv_many(cx, items, 2))).await
        };
        assert_eq!(poll(&mut items).await, Poll::Pending);
        for item in ['a', 'b', 'c'] {
            sender.send(item).unwrap();
        }
        // A `select!` may drop the future of this poll: the items must be there at the next poll.
        assert_eq!((poll(&mut items).await, items.len()), (Poll::Pending, 0));
        assert_eq!(poll(&mut items).await, Poll::Ready(2));
        assert_eq!(poll(&mut items).await, Poll::Ready(1));
        assert_eq!(items, ['a', 'b', 'c']);
        drop(sender);
        assert_eq!(poll(&mut items).await, Poll::Ready(0));
    }
}
