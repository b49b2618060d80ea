//! The text and the reasoning of the run's own messages.

use djinn_core::id::MessageId;

use super::parts::{ResponseParts, TextPart};
use crate::preview::{OpenText, Preview, TextChange, TextKind};

/// The messages as far as the client shows them.
#[derive(Default)]
pub(super) struct Texts {
    /// The message being written.
    open_message: Option<(MessageId, OpenText)>,
    /// The text of the newest complete message.
    newest_text: String,
}

impl Texts {
    /// Shows a piece of an unfinished message.
    pub(super) fn apply_preview(&mut self, preview: &Preview, parts: &mut ResponseParts) {
        let message = &preview.message;
        if !preview.is_own_text() {
            return;
        }
        if self.open_message.as_ref().is_none_or(|(open, _)| open != message) {
            self.open_message = Some((message.clone(), OpenText::default()));
        }
        let Some((_, open)) = &mut self.open_message else { return };
        let before = open.clone();
        match open.apply_preview(preview) {
            TextChange::Nothing => {}
            TextChange::Appended(text) => send_piece(message, preview.kind, &before, &text, parts),
            TextChange::Restarted(text) => {
                if has_text(&before) {
                    parts.reset();
                }
                send_piece(message, preview.kind, &OpenText::default(), &text, parts);
            }
        }
    }

    /// Drops the unfinished message.
    pub(super) fn void_open_message(&mut self, parts: &mut ResponseParts) {
        let open = self.open_message.take();
        if open.is_some_and(|(_, open)| has_text(&open)) {
            parts.reset();
        }
    }

    /// Completes the parts of a message, of which the client may show a beginning.
    pub(super) fn complete_message(
        &mut self,
        message: &MessageId,
        text: &str,
        reasoning: &str,
        parts: &mut ResponseParts,
    ) {
        let open = self.open_message.take().filter(|(open, _)| open == message);
        let mut open = open.map(|(_, open)| open).unwrap_or_default();
        let whole = [(TextKind::Reasoning, reasoning), (TextKind::Text, text)];
        if !whole.iter().all(|(kind, whole)| whole.starts_with(open.text_of(*kind))) {
            parts.reset();
            open = OpenText::default();
        }
        for (kind, whole) in whole {
            if whole.is_empty() {
                continue;
            }
            let (part, id) = part_of(message, kind);
            let rest = whole.strip_prefix(open.text_of(kind)).unwrap_or(whole);
            send_piece(message, kind, &open, rest, parts);
            parts.send(part.end(&id));
            parts.add_sent([part.start(&id), part.delta(&id, whole), part.end(&id)]);
        }
        self.newest_text = text.to_owned();
    }

    /// Drops a complete message that a reviewer did not accept.
    pub(super) fn remove_message(&mut self, message: &MessageId, parts: &mut ResponseParts) {
        self.open_message = None;
        self.newest_text.clear();
        for kind in [TextKind::Text, TextKind::Reasoning] {
            parts.remove(&part_of(message, kind).1);
        }
        parts.reset();
    }

    /// Shows the answer of a run that has ended, unless the newest message has it. Returns the answer if it belongs to
    /// no message.
    pub(super) fn end_with<'a>(
        &mut self,
        answer: &'a str,
        parts: &mut ResponseParts,
    ) -> Option<&'a str> {
        if self.newest_text.contains(answer) {
            self.void_open_message(parts);
            return None;
        }
        let message = self.open_message.as_ref();
        let message = message.filter(|(_, open)| answer.starts_with(open.text_of(TextKind::Text)));
        let Some((message, open)) = message.cloned() else {
            self.void_open_message(parts);
            return Some(answer);
        };
        self.complete_message(&message, answer, open.text_of(TextKind::Reasoning), parts);
        None
    }

    /// Begins another response, in which no message is open.
    pub(super) fn begin_response(&mut self) {
        self.open_message = None;
    }
}

/// Sends more of an open message, of which the client shows the text before.
fn send_piece(
    message: &MessageId,
    kind: TextKind,
    before: &OpenText,
    text: &str,
    parts: &mut ResponseParts,
) {
    if text.is_empty() {
        return;
    }
    let (part, id) = part_of(message, kind);
    if before.text_of(kind).is_empty() {
        parts.send(part.start(&id));
    }
    parts.send(part.delta(&id, text));
}

fn has_text(open: &OpenText) -> bool {
    [TextKind::Text, TextKind::Reasoning].iter().any(|kind| !open.text_of(*kind).is_empty())
}

/// Returns the part and the id for a text of a message.
fn part_of(message: &MessageId, kind: TextKind) -> (TextPart, String) {
    match kind {
        TextKind::Text => (TextPart::Text, message.to_string()),
        TextKind::Reasoning => (TextPart::Reasoning, format!("{message}.reasoning")),
    }
}
