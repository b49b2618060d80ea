//! The log of the newest requests and of unexpected requests, within limits.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::watch;

use crate::lock;
use crate::request::RecordedRequest;

/// The maximum number of requests kept, for a demo that runs for days.
const MAX_KEPT: usize = 500;

/// The maximum bytes of requests kept, besides the newest.
const MAX_KEPT_BYTES: usize = 32 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct RequestLog {
    requests: Mutex<VecDeque<RecordedRequest>>,
    unexpected: Mutex<VecDeque<String>>,
    arrivals: watch::Sender<usize>,
}

impl RequestLog {
    /// Numbers, parses and keeps a request. An unreadable request is recorded as unexpected.
    pub(super) fn record_request(
        &self,
        parse: impl FnOnce(usize) -> Result<RecordedRequest, String>,
    ) -> Result<RecordedRequest, String> {
        let mut requests = lock(&self.requests);
        let number = *self.arrivals.borrow() + 1;
        match parse(number) {
            Ok(request) => {
                push_bounded(&mut requests, request.clone());
                while requests.len() > 1 && total_bytes(&requests) > MAX_KEPT_BYTES {
                    requests.pop_front();
                }
                self.arrivals.send_replace(number);
                Ok(request)
            }
            Err(why) => {
                let why = format!("a request cannot be read: {why}");
                self.record_unexpected(why.clone());
                Err(why)
            }
        }
    }

    pub(super) fn record_unexpected(&self, why: String) {
        push_bounded(&mut lock(&self.unexpected), why);
    }

    pub(super) fn take_unexpected(&self) -> Vec<String> {
        lock(&self.unexpected).drain(..).collect()
    }

    pub(super) fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.requests).iter().cloned().collect()
    }

    pub(super) async fn wait_for_request(&self, number: usize) -> RecordedRequest {
        let mut receiver = self.arrivals.subscribe();
        loop {
            let requests = self.requests();
            if let Some(recorded_request) =
                requests.into_iter().find(|request| request.number() == number)
            {
                return recorded_request;
            }
            // The sender lives as long as `self`, so the wait cannot fail.
            let _ = receiver.changed().await;
        }
    }
}

fn total_bytes(requests: &VecDeque<RecordedRequest>) -> usize {
    requests.iter().map(RecordedRequest::body_bytes).sum()
}

fn push_bounded<T>(queue: &mut VecDeque<T>, new: T) {
    if queue.len() == MAX_KEPT {
        queue.pop_front();
    }
    queue.push_back(new);
}
