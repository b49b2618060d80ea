//! The events of a response, each with its number.

use serde_json::{Value, json};

use super::number::SequenceNumber;
use crate::connection::Frame;

/// An event's name and fields.
pub(super) type NamedEvent = (&'static str, Value);

/// Numbers the events, and keeps those that the client has not received.
pub(super) struct EventWriter {
    next: SequenceNumber,
    /// The last event that the client received on an earlier connection.
    after: Option<SequenceNumber>,
    /// False for a document, which has no events.
    is_stream: bool,
    frames: Vec<Frame>,
}

impl EventWriter {
    pub(super) fn new(is_stream: bool, after: Option<SequenceNumber>) -> Self {
        Self { next: SequenceNumber::of_record(0), after, is_stream, frames: Vec::new() }
    }

    /// Sets the number of the next event.
    pub(super) fn go_to(&mut self, number: SequenceNumber) {
        self.next = number;
    }

    pub(super) fn write(&mut self, event: impl FnOnce() -> NamedEvent) {
        self.write_if(true, event);
    }

    /// Writes an event if it is due. Its number is used in any case, so all connections number events alike.
    pub(super) fn write_if(&mut self, is_due: bool, event: impl FnOnce() -> NamedEvent) {
        let number = self.next;
        self.next = number.plus(1);
        if !is_due || !self.is_stream || self.has_received(number) {
            return;
        }
        let (name, mut data) = event();
        if let Some(fields) = data.as_object_mut() {
            fields.insert("type".to_owned(), json!(name));
            fields.insert("sequence_number".to_owned(), json!(number.value()));
        }
        self.frames.push(Frame::Data { event: Some(name), data: data.to_string() });
    }

    /// Returns true if the client received this event or a later event on an earlier connection.
    pub(super) fn has_received(&self, number: SequenceNumber) -> bool {
        self.after.is_some_and(|after| number <= after)
    }

    /// Leaves out this many events, none of which is due.
    pub(super) fn leave_out(&mut self, count: u64) {
        self.next = self.next.plus(count);
    }

    /// Returns true if the client's last event is among the `count` events that follow `skipped` events.
    pub(super) fn resumes_within(&self, skipped: u64, count: u64) -> bool {
        let first = self.next.plus(skipped);
        self.after.is_some_and(|after| after >= first && after < first.plus(count))
    }

    /// Sets the content of a document.
    pub(super) fn set_document(&mut self, response: &Value) {
        if !self.is_stream {
            self.frames.push(Frame::Raw(response.to_string()));
        }
    }

    pub(super) fn take_frames(&mut self) -> Vec<Frame> {
        std::mem::take(&mut self.frames)
    }
}
