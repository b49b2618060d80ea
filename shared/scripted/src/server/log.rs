//! What was asked.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::watch;

use crate::locked;
use crate::request::Request;

/// Requests, and unexpected ones, that are kept: a demo may run for days.
const KEPT: usize = 500;

/// Bytes of requests that are kept, beside the newest one.
const KEPT_BYTES: usize = 32 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Log {
    requests: Mutex<VecDeque<Request>>,
    unexpected: Mutex<VecDeque<String>>,
    arrived: watch::Sender<usize>,
}

impl Log {
    /// Numbers a request, reads it and keeps it; one that cannot be read is unexpected.
    pub(super) fn record(
        &self,
        read: impl FnOnce(usize) -> Result<Request, String>,
    ) -> Result<Request, String> {
        let mut requests = locked(&self.requests);
        let number = *self.arrived.borrow() + 1;
        match read(number) {
            Ok(request) => {
                push(&mut requests, request.clone());
                while requests.len() > 1 && bytes(&requests) > KEPT_BYTES {
                    requests.pop_front();
                }
                self.arrived.send_replace(number);
                Ok(request)
            }
            Err(why) => {
                let why = format!("a request cannot be read: {why}");
                self.unexpected(why.clone());
                Err(why)
            }
        }
    }

    pub(super) fn unexpected(&self, why: String) {
        push(&mut locked(&self.unexpected), why);
    }

    pub(super) fn take_unexpected(&self) -> Vec<String> {
        locked(&self.unexpected).drain(..).collect()
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        locked(&self.requests).iter().cloned().collect()
    }

    pub(super) async fn request(&self, number: usize) -> Request {
        let mut arrived = self.arrived.subscribe();
        loop {
            let requests = self.requests();
            if let Some(found) = requests.into_iter().find(|request| request.number() == number) {
                return found;
            }
            // The sender lives as long as `self`, so the wait cannot fail.
            let _ = arrived.changed().await;
        }
    }
}

fn bytes(requests: &VecDeque<Request>) -> usize {
    requests.iter().map(Request::body_bytes).sum()
}

fn push<T>(kept: &mut VecDeque<T>, new: T) {
    if kept.len() == KEPT {
        kept.pop_front();
    }
    kept.push_back(new);
}
