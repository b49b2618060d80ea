//! The unfinished texts as one client knows them, for protocols that send what was added rather than
//! where it belongs.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::TaskId;
use crate::preview::{Applied, MessageKey, OpenText, Preview, TextKind};

/// The texts that one client is being sent.
#[derive(Debug, Default)]
pub(super) struct Texts {
    open: BTreeMap<MessageKey, Open>,
    /// Messages and tasks of which an earlier connection may have shown a part.
    unknown: BTreeSet<MessageKey>,
    unknown_tasks: BTreeSet<TaskId>,
}

/// An unfinished message, and what the client shows of it.
#[derive(Debug, Default)]
struct Open {
    text: OpenText,
    shown: BTreeMap<TextKind, Shown>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// A beginning of its text.
    Valid,
    /// Something else, which its text replaces.
    Void,
}

/// What a client must do to one of a message's texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// This is added.
    Append(String),
    /// This replaces what it shows.
    Replace(String),
    /// What it shows is void.
    TakeBack,
}

impl Texts {
    /// The client saw the beginning on another connection, perhaps a part of these messages, and of what
    /// these tasks wrote.
    pub(super) fn resume(
        &mut self,
        messages: impl IntoIterator<Item = MessageKey>,
        tasks: impl IntoIterator<Item = TaskId>,
    ) {
        self.unknown.extend(messages);
        self.unknown_tasks.extend(tasks);
    }

    /// Applies a piece.
    pub(super) fn preview(&mut self, preview: &Preview) -> Vec<(TextKind, Change)> {
        let is_unknown = self.is_unknown(&preview.key());
        let open = self.open.entry(preview.key()).or_default();
        let mut changes = Vec::new();
        let text = match open.text.apply(preview) {
            Applied::Nothing => return changes,
            Applied::Restarted(text) => {
                // All that the attempt before had shown is void, of whatever kind.
                for (kind, shown) in open.shown.iter_mut().filter(|(_, s)| **s == Shown::Valid) {
                    *shown = Shown::Void;
                    if *kind != preview.kind || text.is_empty() {
                        changes.push((*kind, Change::TakeBack));
                    }
                }
                text
            }
            Applied::Appended(text) => text,
        };
        if text.is_empty() {
            return changes;
        }
        changes.push(match open.shown.insert(preview.kind, Shown::Valid) {
            Some(Shown::Valid) => (preview.kind, Change::Append(text)),
            None if !is_unknown => (preview.kind, Change::Append(text)),
            // What an earlier connection showed of it is unknown, so it is shown anew.
            Some(Shown::Void) | None => (preview.kind, Change::Replace(text)),
        });
        changes
    }

    /// Forgets a message that is complete. Returns the kinds of its texts of which the client shows
    /// something.
    pub(super) fn completed(&mut self, message: &MessageKey) -> Vec<TextKind> {
        self.unknown.remove(message);
        let open = self.open.remove(message).unwrap_or_default();
        open.shown.into_keys().collect()
    }

    fn is_unknown(&self, message: &MessageKey) -> bool {
        let task = message.within.as_ref();
        self.unknown.contains(message) || task.is_some_and(|task| self.unknown_tasks.contains(task))
    }

    /// What the client must drop because its attempt is void, of a run or task: one message, or all that
    /// are unfinished. `written` is one that an earlier connection may have shown a part of.
    pub(super) fn void(
        &mut self,
        task: Option<&TaskId>,
        message: Option<&MessageKey>,
        written: Option<&MessageKey>,
    ) -> Vec<(MessageKey, TextKind)> {
        let mut void = Vec::new();
        for (key, open) in &mut self.open {
            if key.within.as_ref() != task || message.is_some_and(|message| message != key) {
                continue;
            }
            for (kind, shown) in open.shown.iter_mut().filter(|(_, s)| **s == Shown::Valid) {
                *shown = Shown::Void;
                void.push((key.clone(), *kind));
            }
        }
        if let Some(written) = written.filter(|written| self.is_unknown(written))
            && !self.open.contains_key(written)
        {
            let open = self.open.entry(written.clone()).or_default();
            open.shown.insert(TextKind::Text, Shown::Void);
            void.push((written.clone(), TextKind::Text));
        }
        void
    }
}
