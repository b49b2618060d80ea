//! The progress of a response.

use tokio::sync::watch;

use super::RecordedRequest;

#[derive(Debug)]
pub(crate) struct Progress {
    state: watch::Sender<ProgressState>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProgressState {
    pub(crate) chunks: usize,
    pub(crate) bytes: usize,
    end_cause: Option<EndCause>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndCause {
    Server,
    Client,
}

impl Default for Progress {
    fn default() -> Self {
        Self { state: watch::Sender::new(ProgressState::default()) }
    }
}

impl Progress {
    pub(crate) fn current_state(&self) -> ProgressState {
        *self.state.borrow()
    }

    pub(crate) async fn wait_until_ended(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let mut receiver = self.state.subscribe();
        let _ = receiver.wait_for(|progress| progress.end_cause.is_some()).await;
    }

    fn mark_ended(&self, cause: EndCause) {
        self.state.send_modify(|state| {
            state.end_cause.get_or_insert(cause);
        });
    }
}

impl ProgressState {
    pub(crate) fn is_closed_early(self) -> bool {
        self.end_cause == Some(EndCause::Client)
    }
}

/// A response in progress. The HTTP server drops it early only if the client has disconnected.
#[derive(Debug)]
pub(crate) struct ResponseDelivery {
    request: RecordedRequest,
}

impl ResponseDelivery {
    pub(crate) fn of(request: RecordedRequest) -> Self {
        Self { request }
    }

    /// Counts a chunk handed to the socket.
    pub(crate) fn record_chunk(&self, bytes: usize) {
        self.progress().state.send_modify(|state| {
            state.chunks += 1;
            state.bytes += bytes;
        });
    }

    /// Marks the response as complete.
    pub(crate) fn mark_complete(&self) {
        self.progress().mark_ended(EndCause::Server);
    }

    fn progress(&self) -> &Progress {
        &self.request.inner.progress
    }
}

impl Drop for ResponseDelivery {
    fn drop(&mut self) {
        self.progress().mark_ended(EndCause::Client);
    }
}
