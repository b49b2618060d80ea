//! What is being written right now: for a stop's last words, and for viewers other than our client.

use std::collections::BTreeMap;

use djinn_core::entry::Event;
use djinn_core::id::{MessageId, TaskId};
use djinn_core::input::Partial;
use djinn_core::journal::Record;
use djinn_core::preview::{OpenText, Preview, TextKind};

/// Bytes of one message that a viewer who comes late is sent as a preview.
const MAX_CAUGHT_UP: usize = 100_000;

/// The unfinished messages of a driver, and how far the live log has them.
pub(super) struct LivePreviews {
    /// The task that writes them, if it is one.
    task: Option<TaskId>,
    every_ms: i64,
    open: BTreeMap<MessageId, Open>,
    watched_until_ms: i64,
    written_at_ms: i64,
    writing: bool,
}

#[derive(Default)]
struct Open {
    text: OpenText,
    last_at_ms: i64,
    /// For each kind of text, up to where the live log has it.
    logged: BTreeMap<TextKind, usize>,
}

impl LivePreviews {
    /// Nobody knows of a task's viewers, who look at its run: it is always watched.
    pub(super) fn new(every_ms: i64, task: Option<TaskId>) -> Self {
        Self {
            every_ms,
            open: BTreeMap::new(),
            watched_until_ms: if task.is_some() { i64::MAX } else { i64::MIN },
            task,
            written_at_ms: 0,
            writing: false,
        }
    }

    /// Takes a piece.
    pub(super) fn preview(&mut self, preview: &Preview) {
        let open = self.open.entry(preview.message.clone()).or_default();
        if preview.attempt > open.text.attempt() {
            open.logged.clear();
        }
        open.text.apply(preview);
        open.last_at_ms = preview.at_ms;
    }

    /// Forgets messages that are complete, and texts that are void.
    pub(super) fn record(&mut self, record: &Record) {
        for entry in &record.entries {
            match &entry.event {
                Event::MessageCompleted { message, .. } | Event::ItemReset { message, .. } => {
                    self.open.remove(message);
                }
                Event::RunResumed { .. } | Event::RunEnded(_) => self.open.clear(),
                Event::RunStarted { .. }
                | Event::CallRequested { .. }
                | Event::CallCompleted { .. }
                | Event::FileAdded { .. }
                | Event::ContextCompacted { .. }
                | Event::PlanChanged { .. }
                | Event::TaskStarted { .. }
                | Event::TaskEnded { .. } => {}
            }
        }
    }

    /// Somebody watches until then.
    pub(super) fn watched_until(&mut self, at_ms: i64) {
        self.watched_until_ms = at_ms;
    }

    /// What the message being written says so far.
    pub(super) fn partial(&self) -> Option<Partial> {
        let (message, open) = self.open.iter().next_back()?;
        let text = open.text.of(TextKind::Text).to_owned();
        (!text.is_empty()).then(|| Partial { message: message.clone(), text })
    }

    /// When there will be something to write to the live log, Unix milliseconds.
    pub(super) fn flush_at_ms(&self) -> Option<i64> {
        let news = self.open.values().any(|open| open.news().next().is_some());
        let watched = self.open.values().any(|open| open.last_at_ms <= self.watched_until_ms);
        (news && watched && !self.writing).then(|| self.written_at_ms.saturating_add(self.every_ms))
    }

    /// What to write now, if it is time; [`Self::written`] must follow.
    pub(super) fn flush(&mut self, now_ms: i64) -> Option<Vec<Preview>> {
        if now_ms > self.watched_until_ms {
            self.watched_until_ms = i64::MIN;
        }
        if self.flush_at_ms()? > now_ms {
            return None;
        }
        self.writing = true;
        self.written_at_ms = now_ms;
        let mut pieces = Vec::new();
        for (message, open) in &mut self.open {
            let news: Vec<_> = open.news().collect();
            for (kind, offset) in news {
                let text = open.text.of(kind);
                let piece = text.get(offset..).unwrap_or_default();
                open.logged.insert(kind, text.len());
                pieces.push(Preview {
                    within: self.task.clone(),
                    message: message.clone(),
                    attempt: open.text.attempt(),
                    kind,
                    offset: offset as u64,
                    text: piece.to_owned(),
                    at_ms: now_ms,
                });
            }
        }
        Some(pieces)
    }

    /// The last flush is in the log, or lost.
    pub(super) fn written(&mut self, at_ms: i64) {
        self.writing = false;
        self.written_at_ms = self.written_at_ms.max(at_ms);
    }
}

impl Open {
    /// The texts the live log does not have all of, and from where on.
    fn news(&self) -> impl Iterator<Item = (TextKind, usize)> + '_ {
        [TextKind::Reasoning, TextKind::Text].into_iter().filter_map(|kind| {
            let length = self.text.of(kind).len();
            let logged = self.logged.get(&kind).copied().unwrap_or_default();
            // A text that grew too long before anybody watched is left to its final entry.
            (length > logged && length - logged <= MAX_CAUGHT_UP).then_some((kind, logged))
        })
    }
}
