//! The text and the reasoning of the run's own messages.

use std::collections::BTreeSet;

use djinn_core::id::MessageId;
use serde_json::json;

use super::transcript::Transcript;
use crate::preview::{OpenText, Preview, TextChange, TextKind};

/// The messages as far as the client shows them.
#[derive(Default)]
pub(super) struct Texts {
    open_message: Option<OpenMessage>,
    /// The text of the newest complete message.
    newest_text: String,
}

/// The message being written.
struct OpenMessage {
    message: MessageId,
    text: OpenText,
    /// The kinds of text that the client shows.
    shown: BTreeSet<TextKind>,
    /// The kinds of text whose end the client has not received.
    unclosed: BTreeSet<TextKind>,
}

impl Texts {
    /// Shows a piece of an unfinished message.
    pub(super) fn apply_preview(&mut self, preview: &Preview, transcript: &mut Transcript) {
        if !preview.is_own_text() {
            return;
        }
        let mut open = self.take_message(&preview.message, transcript);
        match open.text.apply_preview(preview) {
            TextChange::Nothing => {}
            TextChange::Appended(text) => open.send(preview.kind, &text, transcript),
            TextChange::Restarted(text) => {
                open.void(transcript);
                open.send(preview.kind, &text, transcript);
            }
        }
        self.open_message = Some(open);
    }

    /// Drops the unfinished message.
    pub(super) fn void_open_message(&mut self, transcript: &mut Transcript) {
        if let Some(mut open) = self.open_message.take() {
            open.void(transcript);
        }
    }

    /// Ends the unfinished message for this response.
    pub(super) fn close_open_message(&mut self, transcript: &mut Transcript) {
        if let Some(open) = &mut self.open_message {
            open.close(transcript);
        }
    }

    /// Completes a message, of which the client may show a beginning.
    pub(super) fn complete_message(
        &mut self,
        message: &MessageId,
        text: &str,
        reasoning: &str,
        transcript: &mut Transcript,
    ) {
        let mut open = self.take_message(message, transcript);
        let whole = [(TextKind::Reasoning, reasoning), (TextKind::Text, text)];
        if !whole.iter().all(|(kind, whole)| whole.starts_with(open.text.text_of(*kind))) {
            open.void(transcript);
            open.text = OpenText::default();
        }
        for (kind, whole) in whole {
            let rest = whole.strip_prefix(open.text.text_of(kind)).unwrap_or(whole);
            open.send(kind, rest, transcript);
        }
        open.close(transcript);
        for (kind, whole) in whole.into_iter().filter(|(_, whole)| !whole.is_empty()) {
            let role = role_of(kind);
            let id = id_of(message, kind, transcript);
            transcript.set_content(&id, role, whole);
        }
        self.newest_text = text.to_owned();
    }

    /// Drops the text of a complete message that a reviewer did not accept.
    pub(super) fn remove_message(&mut self, message: &MessageId, transcript: &mut Transcript) {
        self.void_open_message(transcript);
        self.newest_text.clear();
        transcript.remove_message(&id_of(message, TextKind::Text, transcript));
        transcript.send_snapshot();
    }

    /// Shows the answer of a run that has ended, unless the newest message has it. Returns the answer if it belongs to
    /// no message.
    pub(super) fn end_with<'a>(
        &mut self,
        answer: &'a str,
        transcript: &mut Transcript,
    ) -> Option<&'a str> {
        if self.newest_text.contains(answer) {
            self.void_open_message(transcript);
            return None;
        }
        let begins = |open: &OpenMessage| answer.starts_with(open.text.text_of(TextKind::Text));
        let Some(open) = self.open_message.take_if(|open| begins(open)) else {
            self.void_open_message(transcript);
            return Some(answer);
        };
        let message = open.message.clone();
        let reasoning = open.text.text_of(TextKind::Reasoning).to_owned();
        self.open_message = Some(open);
        self.complete_message(&message, answer, &reasoning, transcript);
        None
    }

    /// Begins another response, in which no message is open.
    pub(super) fn begin_response(&mut self) {
        self.open_message = None;
    }

    /// Takes the open message with this id, and voids any other.
    fn take_message(&mut self, message: &MessageId, transcript: &mut Transcript) -> OpenMessage {
        if let Some(open) = self.open_message.take_if(|open| open.message == *message) {
            return open;
        }
        self.void_open_message(transcript);
        OpenMessage {
            message: message.clone(),
            text: OpenText::default(),
            shown: BTreeSet::new(),
            unclosed: BTreeSet::new(),
        }
    }
}

impl OpenMessage {
    /// Sends more of a text. The reasoning of a message ends where its text begins.
    fn send(&mut self, kind: TextKind, text: &str, transcript: &mut Transcript) {
        if text.is_empty() {
            return;
        }
        let id = id_of(&self.message, kind, transcript);
        if kind == TextKind::Text {
            self.close_kind(TextKind::Reasoning, transcript);
        }
        if self.shown.insert(kind) {
            transcript.open_message(&id);
        }
        let is_first = self.unclosed.insert(kind);
        match kind {
            TextKind::Text => {
                if is_first {
                    transcript.send(json!({
                        "type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant",
                    }));
                }
                transcript
                    .send(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text}));
            }
            TextKind::Reasoning => {
                if is_first {
                    transcript.send(json!({"type": "REASONING_START", "messageId": id}));
                    transcript.send(json!({
                        "type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning",
                    }));
                }
                transcript.send(
                    json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": text}),
                );
            }
        }
    }

    fn close(&mut self, transcript: &mut Transcript) {
        for kind in [TextKind::Reasoning, TextKind::Text] {
            self.close_kind(kind, transcript);
        }
    }

    fn close_kind(&mut self, kind: TextKind, transcript: &mut Transcript) {
        if !self.unclosed.remove(&kind) {
            return;
        }
        let id = id_of(&self.message, kind, transcript);
        match kind {
            TextKind::Text => {
                transcript.send(json!({"type": "TEXT_MESSAGE_END", "messageId": id}));
            }
            TextKind::Reasoning => {
                transcript.send(json!({"type": "REASONING_MESSAGE_END", "messageId": id}));
                transcript.send(json!({"type": "REASONING_END", "messageId": id}));
            }
        }
    }

    /// Drops the shown text.
    fn void(&mut self, transcript: &mut Transcript) {
        self.close(transcript);
        let shown = std::mem::take(&mut self.shown);
        for kind in &shown {
            let id = id_of(&self.message, *kind, transcript);
            transcript.void_message(id, role_of(*kind));
        }
        if !shown.is_empty() {
            transcript.send_snapshot();
        }
    }
}

fn role_of(kind: TextKind) -> &'static str {
    match kind {
        TextKind::Text => "assistant",
        TextKind::Reasoning => "reasoning",
    }
}

fn id_of(message: &MessageId, kind: TextKind, transcript: &Transcript) -> String {
    let kind = match kind {
        TextKind::Text => "text",
        TextKind::Reasoning => "reasoning",
    };
    transcript.id(kind, message)
}
