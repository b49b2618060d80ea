//! The messages that a client shows, and the events that it has yet to receive.

use std::collections::BTreeSet;
use std::fmt::Display;

use djinn_core::id::{Path, RunId};
use serde_json::{Value, json};

use crate::connection::Frame;

/// The name of the last text, about the end of the run or of the response.
const CLOSING: &str = "closing";

/// The complete messages of a client, and the waiting events. Ids of a run's messages begin with the run's id, because
/// a conversation has many runs.
pub(super) struct Transcript {
    prefix: String,
    waiting: Vec<Value>,
    messages: Vec<Value>,
    /// The ids of messages that the client shows without content. Their content follows again.
    emptied: BTreeSet<String>,
    /// The ids of all messages that the client brought without a content that counts.
    adopted: BTreeSet<String>,
}

impl Transcript {
    pub(super) fn new(run: &RunId) -> Self {
        let prefix = format!("{run}:");
        Self {
            prefix,
            waiting: Vec::new(),
            messages: Vec::new(),
            emptied: BTreeSet::new(),
            adopted: BTreeSet::new(),
        }
    }

    /// Returns the id of an object of the run.
    pub(super) fn id(&self, kind: &str, name: impl Display) -> String {
        format!("{}{kind}:{name}", self.prefix)
    }

    /// Replaces the messages by those of the client. Messages of the run keep their place: those of earlier records with
    /// their content, and the others without, because they follow again.
    pub(super) fn adopt(&mut self, brought: &[Value]) {
        let known = std::mem::take(&mut self.messages);
        let emptied = std::mem::take(&mut self.emptied);
        let known: Vec<Value> =
            known.into_iter().filter(|message| !emptied.contains(id_of(message))).collect();
        let closing = self.closing_id();
        for message in brought {
            let id = id_of(message);
            if !id.starts_with(&self.prefix) {
                self.messages.push(message.clone());
            } else if let Some(own) = known.iter().find(|own| id_of(own) == id) {
                self.messages.push(own.clone());
            } else if let Some(role) = role_to_refill(message).filter(|_| id != closing) {
                self.messages.push(empty_message(id, role));
                self.emptied.insert(id.to_owned());
            }
        }
        self.adopted.clone_from(&self.emptied);
    }

    pub(super) fn send(&mut self, event: Value) {
        self.waiting.push(event);
    }

    /// Sends all valid messages, which replace those of the client.
    pub(super) fn send_snapshot(&mut self) {
        self.waiting.push(json!({"type": "MESSAGES_SNAPSHOT", "messages": self.messages}));
    }

    /// Sends an activity, which replaces the activity with the same name.
    pub(super) fn send_activity(&mut self, kind: &str, name: &str, content: &Value) {
        let id = format!("{}{name}", self.prefix);
        self.waiting.push(json!({
            "type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": kind, "content": content,
        }));
    }

    /// Sends the object of a child.
    pub(super) fn send_child(&mut self, path: &Path, content: &Value) {
        self.send_activity("CHILD", &format!("child:{path}"), content);
    }

    /// Sends a complete text of our own.
    pub(super) fn send_text(&mut self, name: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let id = format!("{}{name}", self.prefix);
        self.open_message(&id);
        self.send(json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}));
        self.send(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text}));
        self.send(json!({"type": "TEXT_MESSAGE_END", "messageId": id}));
        self.set_content(&id, "assistant", text);
    }

    pub(super) fn send_closing_text(&mut self, text: &str) {
        self.send_text(CLOSING, text);
    }

    /// Marks a message as being written.
    pub(super) fn open_message(&mut self, id: &str) {
        if self.emptied.remove(id) {
            self.messages.retain(|message| id_of(message) != id);
        }
    }

    /// Sets the content of a complete message that the client already has.
    pub(super) fn set_content(&mut self, id: &str, role: &str, content: &str) {
        let known = self.messages.iter_mut().find(|message| id_of(message) == id);
        if let Some(message) = known.and_then(Value::as_object_mut) {
            message.insert("content".to_owned(), json!(content));
        } else {
            self.messages.push(json!({"id": id, "role": role, "content": content}));
        }
    }

    /// Sends a call of a message.
    pub(super) fn add_call(&mut self, message: &str, id: &str, tool: &str, arguments: &str) {
        self.send(json!({
            "type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": tool, "parentMessageId": message,
        }));
        self.send(json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": arguments}));
        self.send(json!({"type": "TOOL_CALL_END", "toolCallId": id}));
        self.emptied.remove(message);
        let function = json!({"name": tool, "arguments": arguments});
        let call = json!({"id": id, "type": "function", "function": function});
        let owner = self.messages.iter_mut().find(|other| id_of(other) == message);
        let Some(owner) = owner.and_then(Value::as_object_mut) else {
            self.messages.push(json!({"id": message, "role": "assistant", "toolCalls": [call]}));
            return;
        };
        let calls = owner.entry("toolCalls").or_insert_with(|| json!([]));
        if let Some(calls) = calls.as_array_mut() {
            calls.push(call);
        }
    }

    /// Sends the result of a call as a message.
    pub(super) fn add_result(&mut self, message: &str, call: &str, text: &str) {
        self.send(json!({
            "type": "TOOL_CALL_RESULT", "messageId": message, "toolCallId": call, "content": text,
            "role": "tool",
        }));
        let result = json!({"id": message, "role": "tool", "toolCallId": call, "content": text});
        self.messages.push(result);
    }

    /// Drops a message, for the next snapshot.
    pub(super) fn remove_message(&mut self, id: &str) {
        self.emptied.remove(id);
        self.messages.retain(|message| id_of(message) != id);
    }

    /// Makes a message void, for the next snapshot. A message with a place of its own keeps the place, and a client keeps
    /// reasoning that a snapshot does not name.
    pub(super) fn void_message(&mut self, id: String, role: &str) {
        self.remove_message(&id);
        if role == "reasoning" || self.adopted.contains(&id) {
            self.messages.push(empty_message(&id, role));
            self.emptied.insert(id);
        }
    }

    /// Drops the messages whose content did not follow.
    pub(super) fn settle(&mut self) {
        let emptied = std::mem::take(&mut self.emptied);
        if !emptied.is_empty() {
            self.messages.retain(|message| !emptied.contains(id_of(message)));
            self.send_snapshot();
        }
    }

    /// Drops the events of records that the client does not receive.
    pub(super) fn discard_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Returns the waiting events as frames.
    pub(super) fn take_frames(&mut self) -> Vec<Frame> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        waiting.map(|event| Frame::Data { event: None, data: event.to_string() }).collect()
    }

    fn closing_id(&self) -> String {
        format!("{}{CLOSING}", self.prefix)
    }
}

fn id_of(message: &Value) -> &str {
    message.get("id").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the role of a message whose content is sent again in its place. The result of a call is inserted anew.
fn role_to_refill(message: &Value) -> Option<&'static str> {
    let role = message.get("role").and_then(Value::as_str)?;
    ["assistant", "reasoning"].into_iter().find(|known| *known == role)
}

fn empty_message(id: &str, role: &str) -> Value {
    match role {
        "reasoning" => json!({"id": id, "role": role, "content": ""}),
        _ => json!({"id": id, "role": role}),
    }
}
