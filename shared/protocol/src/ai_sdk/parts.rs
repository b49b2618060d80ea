//! The parts of one response, as chunks of the AI SDK's UI message stream.

use djinn_core::id::Path;
use serde_json::{Value, json};

use crate::connection::Frame;

/// The chunks of a response. A client cannot drop a single part, so a reset drops all, and sends the valid parts again.
#[derive(Default)]
pub(super) struct ResponseParts {
    /// The chunks for the client.
    waiting: Vec<Value>,
    /// The chunks that a reset sends again.
    valid: Vec<Value>,
}

impl ResponseParts {
    /// Sends a chunk that a reset does not repeat.
    pub(super) fn send(&mut self, chunk: Value) {
        self.waiting.push(chunk);
    }

    /// Sends a chunk of a valid part. A data part replaces the part with the same type and id.
    pub(super) fn add(&mut self, chunk: Value) {
        if is_data(&chunk) {
            self.valid.retain(|other| !is_same_data(other, &chunk));
        }
        self.valid.push(chunk.clone());
        self.waiting.push(chunk);
    }

    /// Sends the object of a child.
    pub(super) fn add_child(&mut self, path: &Path, data: &Value) {
        self.add(json!({"type": "data-child", "id": path.to_string(), "data": data}));
    }

    /// Marks a part as valid whose chunks the client already has.
    pub(super) fn add_sent(&mut self, chunks: impl IntoIterator<Item = Value>) {
        self.valid.extend(chunks);
    }

    /// Marks the parts with this id as void.
    pub(super) fn remove(&mut self, id: &str) {
        self.valid.retain(|chunk| is_data(chunk) || chunk["id"] != id);
    }

    /// Tells the client to drop all parts of this response, and sends the valid parts again.
    pub(super) fn reset(&mut self) {
        self.waiting.push(json!({"type": "reset-step"}));
        self.waiting.extend(self.valid.iter().cloned());
    }

    /// Returns the waiting chunks as frames.
    pub(super) fn take_frames(&mut self) -> Vec<Frame> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        waiting.map(|chunk| Frame::Data { event: None, data: chunk.to_string() }).collect()
    }
}

fn is_data(chunk: &Value) -> bool {
    chunk["type"].as_str().is_some_and(|name| name.starts_with("data-"))
}

fn is_same_data(one: &Value, other: &Value) -> bool {
    one["type"] == other["type"] && one["id"] == other["id"]
}

/// The kind of a part with text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPart {
    Text,
    Reasoning,
}

impl TextPart {
    fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
        }
    }

    pub(super) fn start(self, id: &str) -> Value {
        json!({"type": format!("{}-start", self.as_str()), "id": id})
    }

    pub(super) fn delta(self, id: &str, text: &str) -> Value {
        json!({"type": format!("{}-delta", self.as_str()), "id": id, "delta": text})
    }

    pub(super) fn end(self, id: &str) -> Value {
        json!({"type": format!("{}-end", self.as_str()), "id": id})
    }
}
