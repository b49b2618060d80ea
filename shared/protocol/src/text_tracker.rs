//! The unfinished texts on one client, for protocols that send added text instead of offsets.

use std::collections::{BTreeMap, BTreeSet};

use crate::preview::{OpenText, Preview, TextChange, TextKind};
use djinn_core::id::{MessageKey, Path};

/// The unfinished texts sent to one client.
#[derive(Debug, Default)]
pub(super) struct TextTracker {
    open_messages: BTreeMap<MessageKey, OpenMessage>,
    /// Messages possibly shown in part on an earlier connection.
    unknown_messages: BTreeSet<MessageKey>,
    unknown_paths: BTreeSet<Path>,
}

/// An unfinished message, with the client's display state.
#[derive(Debug, Default)]
struct OpenMessage {
    text: OpenText,
    states: BTreeMap<TextKind, ShownState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShownState {
    /// The client shows a beginning of the text.
    Valid,
    /// The client shows void text, to be replaced.
    Void,
}

/// An edit of a message's text on the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextEdit {
    /// The text to append.
    Append(String),
    /// The text to show instead.
    Replace(String),
    /// The shown text is void.
    Retract,
}

impl TextTracker {
    /// Marks messages and paths as possibly shown in part on an earlier connection.
    pub(super) fn mark_unknown(
        &mut self,
        messages: impl IntoIterator<Item = MessageKey>,
        paths: impl IntoIterator<Item = Path>,
    ) {
        self.unknown_messages.extend(messages);
        self.unknown_paths.extend(paths);
    }

    /// Applies a piece, and returns the edit of each text.
    pub(super) fn apply_preview(&mut self, preview: &Preview) -> Vec<(TextKind, TextEdit)> {
        let is_unknown = self.is_unknown(&preview.message_key());
        let open = self.open_messages.entry(preview.message_key()).or_default();
        let mut changes = Vec::new();
        let text = match open.text.apply_preview(preview) {
            TextChange::Nothing => return changes,
            TextChange::Restarted(text) => {
                // All text of the earlier attempt is void, of any kind.
                for (kind, state) in
                    open.states.iter_mut().filter(|(_, s)| **s == ShownState::Valid)
                {
                    *state = ShownState::Void;
                    if *kind != preview.kind || text.is_empty() {
                        changes.push((*kind, TextEdit::Retract));
                    }
                }
                text
            }
            TextChange::Appended(text) => text,
        };
        if text.is_empty() {
            return changes;
        }
        changes.push(match open.states.insert(preview.kind, ShownState::Valid) {
            Some(ShownState::Valid) => (preview.kind, TextEdit::Append(text)),
            None if !is_unknown => (preview.kind, TextEdit::Append(text)),
            // The text shown on an earlier connection is unknown, so the whole text is sent.
            Some(ShownState::Void) | None => (preview.kind, TextEdit::Replace(text)),
        });
        changes
    }

    /// Removes a complete message. Returns the kinds of text on the client's display.
    pub(super) fn complete_message(&mut self, message: &MessageKey) -> Vec<TextKind> {
        self.unknown_messages.remove(message);
        let open = self.open_messages.remove(message).unwrap_or_default();
        open.states.into_keys().collect()
    }

    /// Returns true if an earlier connection may have shown a part of the message.
    fn is_unknown(&self, message: &MessageKey) -> bool {
        self.unknown_messages.contains(message)
            || self.unknown_paths.iter().any(|path| message.path.is_within(path))
    }

    /// Marks texts of a run or child as void: of one message, or all unfinished texts. Returns the texts to
    /// drop. `current_key` is a message possibly shown in part on an earlier connection.
    pub(super) fn void_texts(
        &mut self,
        path: &Path,
        message: Option<&MessageKey>,
        current_key: Option<&MessageKey>,
    ) -> Vec<(MessageKey, TextKind)> {
        let mut void = Vec::new();
        for (key, open) in &mut self.open_messages {
            if key.path != *path || message.is_some_and(|message| message != key) {
                continue;
            }
            for (kind, state) in open.states.iter_mut().filter(|(_, s)| **s == ShownState::Valid) {
                *state = ShownState::Void;
                void.push((key.clone(), *kind));
            }
        }
        if let Some(current_key) = current_key.filter(|current_key| self.is_unknown(current_key))
            && !self.open_messages.contains_key(current_key)
        {
            let open = self.open_messages.entry(current_key.clone()).or_default();
            open.states.insert(TextKind::Text, ShownState::Void);
            void.push((current_key.clone(), TextKind::Text));
        }
        void
    }

    /// Removes the unfinished messages of an ended run and of all runs below. Returns the texts on the
    /// client's display.
    pub(super) fn end_texts(&mut self, path: &Path) -> Vec<(MessageKey, TextKind)> {
        let ended_messages = self.open_messages.extract_if(.., |key, _| key.path.is_within(path));
        let keys = ended_messages
            .flat_map(|(key, open)| open.states.into_keys().map(move |kind| (key.clone(), kind)));
        keys.collect()
    }
}
