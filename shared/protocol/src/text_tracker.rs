//! The unfinished texts as one client knows them, for protocols that send what was added rather than
//! where it belongs.

use std::collections::{BTreeMap, BTreeSet};

use crate::preview::{OpenText, Preview, TextChange, TextKind};
use djinn_core::id::{MessageKey, Path};

/// The texts that one client is being sent.
#[derive(Debug, Default)]
pub(super) struct TextTracker {
    open_messages: BTreeMap<MessageKey, OpenMessage>,
    /// Messages and children of which an earlier connection may have shown a part.
    unknown_messages: BTreeSet<MessageKey>,
    unknown_paths: BTreeSet<Path>,
}

/// An unfinished message, and what the client shows of it.
#[derive(Debug, Default)]
struct OpenMessage {
    text: OpenText,
    shown: BTreeMap<TextKind, ShownState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShownState {
    /// A beginning of its text.
    Valid,
    /// Something else, which its text replaces.
    Void,
}

/// What a client must do to one of a message's texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextEdit {
    /// The text that is added to what it shows.
    Append(String),
    /// This replaces what it shows.
    Replace(String),
    /// What it shows is void.
    Retract,
}

impl TextTracker {
    /// The client saw the beginning on another connection, perhaps a part of these messages, and of what
    /// these children wrote.
    pub(super) fn mark_unknown(
        &mut self,
        messages: impl IntoIterator<Item = MessageKey>,
        paths: impl IntoIterator<Item = Path>,
    ) {
        self.unknown_messages.extend(messages);
        self.unknown_paths.extend(paths);
    }

    /// Takes a piece of a message, and says how each text of it changes.
    pub(super) fn apply_preview(&mut self, preview: &Preview) -> Vec<(TextKind, TextEdit)> {
        let is_unknown = self.is_unknown(&preview.message_key());
        let open = self.open_messages.entry(preview.message_key()).or_default();
        let mut changes = Vec::new();
        let text = match open.text.apply_preview(preview) {
            TextChange::Nothing => return changes,
            TextChange::Restarted(text) => {
                // All that the attempt before had shown is void, of whatever kind.
                for (kind, shown) in open.shown.iter_mut().filter(|(_, s)| **s == ShownState::Valid)
                {
                    *shown = ShownState::Void;
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
        changes.push(match open.shown.insert(preview.kind, ShownState::Valid) {
            Some(ShownState::Valid) => (preview.kind, TextEdit::Append(text)),
            None if !is_unknown => (preview.kind, TextEdit::Append(text)),
            // What an earlier connection showed of it is unknown, so it is shown anew.
            Some(ShownState::Void) | None => (preview.kind, TextEdit::Replace(text)),
        });
        changes
    }

    /// Forgets a message that is complete. Returns the kinds of its texts of which the client shows
    /// something.
    pub(super) fn complete_message(&mut self, message: &MessageKey) -> Vec<TextKind> {
        self.unknown_messages.remove(message);
        let open = self.open_messages.remove(message).unwrap_or_default();
        open.shown.into_keys().collect()
    }

    fn is_unknown(&self, message: &MessageKey) -> bool {
        self.unknown_messages.contains(message)
            || self.unknown_paths.iter().any(|path| message.path.is_within(path))
    }

    /// What the client must drop because its attempt is void, of a run or child: one message, or all that
    /// are unfinished. `written` is one that an earlier connection may have shown a part of.
    pub(super) fn void_texts(
        &mut self,
        path: &Path,
        message: Option<&MessageKey>,
        written: Option<&MessageKey>,
    ) -> Vec<(MessageKey, TextKind)> {
        let mut void = Vec::new();
        for (key, open) in &mut self.open_messages {
            if key.path != *path || message.is_some_and(|message| message != key) {
                continue;
            }
            for (kind, shown) in open.shown.iter_mut().filter(|(_, s)| **s == ShownState::Valid) {
                *shown = ShownState::Void;
                void.push((key.clone(), *kind));
            }
        }
        if let Some(written) = written.filter(|written| self.is_unknown(written))
            && !self.open_messages.contains_key(written)
        {
            let open = self.open_messages.entry(written.clone()).or_default();
            open.shown.insert(TextKind::Text, ShownState::Void);
            void.push((written.clone(), TextKind::Text));
        }
        void
    }

    /// Forgets the unfinished messages of a run that has ended, and of those below it. Returns the texts of which
    /// the client shows something.
    pub(super) fn end_texts(&mut self, path: &Path) -> Vec<(MessageKey, TextKind)> {
        let ended = self.open_messages.extract_if(.., |key, _| key.path.is_within(path));
        let shown = ended
            .flat_map(|(key, open)| open.shown.into_keys().map(move |kind| (key.clone(), kind)));
        shown.collect()
    }
}
