//! What became of a response.

use tokio::sync::watch;

use super::Request;

#[derive(Debug)]
pub(crate) struct Progress {
    sent: watch::Sender<Sent>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    pub(crate) chunks: usize,
    pub(crate) bytes: usize,
    ended: Option<Ended>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    ByUs,
    ByClient,
}

impl Default for Progress {
    fn default() -> Self {
        Self { sent: watch::Sender::new(Sent::default()) }
    }
}

impl Progress {
    pub(crate) fn now(&self) -> Sent {
        *self.sent.borrow()
    }

    pub(crate) async fn ended(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let mut sent = self.sent.subscribe();
        let _ = sent.wait_for(|sent| sent.ended.is_some()).await;
    }

    fn end(&self, ended: Ended) {
        self.sent.send_modify(|sent| {
            sent.ended.get_or_insert(ended);
        });
    }
}

impl Sent {
    pub(crate) fn closed_early(self) -> bool {
        self.ended == Some(Ended::ByClient)
    }
}

/// A response under way. The HTTP server drops it early only when the client has gone.
#[derive(Debug)]
pub(crate) struct Delivery {
    request: Request,
}

impl Delivery {
    pub(crate) fn of(request: Request) -> Self {
        Self { request }
    }

    /// Notes that a chunk was handed over.
    pub(crate) fn sent(&self, bytes: usize) {
        self.progress().sent.send_modify(|sent| {
            sent.chunks += 1;
            sent.bytes += bytes;
        });
    }

    /// Notes that the response is over as scripted.
    pub(crate) fn over(&self) {
        self.progress().end(Ended::ByUs);
    }

    fn progress(&self) -> &Progress {
        &self.request.inner.progress
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.progress().end(Ended::ByClient);
    }
}
