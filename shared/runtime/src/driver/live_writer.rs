//! What is being written right now, and what tools say: for a stop's last words, and for viewers other than
//! our client.

mod open_calls;
mod pace;

use std::collections::{BTreeMap, VecDeque};

use djinn_core::entry::Event;
use djinn_core::id::{MessageId, Path};
use djinn_core::input::PartialMessage;
use djinn_core::journal::Record;
use djinn_protocol::call_progress::CallProgress;
use djinn_protocol::preview::{EarlyEntry, Live, OpenText, Preview, TextKind};
use open_calls::OpenCalls;
use pace::Pace;
use tokio::sync::mpsc;

use super::background::{BackgroundWork, DriverEvent};
use super::caller::{CallerLink, WatchedUntil};
use super::driven_run::DrivenRun;
use super::lease::HeldLease;
use crate::port::checker::ContentOwner;
use crate::port::live::LiveLog;
use crate::settings::to_millis;
use crate::world::Ports;

/// Pieces and entries that are shown together, if so many have come.
const MAX_BATCH: usize = 256;

/// Entries that wait to be written; those behind them are left to the child's end.
const MAX_WAITING_ENTRIES: usize = 1_000;

/// The unfinished messages and, for a child, the entries of a driver, and how far the live log has
/// them.
pub(super) struct LiveWriter {
    /// What is written here, by this driver's model calls and by a child that is driven here.
    receiver: mpsc::UnboundedReceiver<Live>,
    sender: mpsc::UnboundedSender<Live>,
    /// The way to the run that writes them.
    path: Path,
    pace: Pace,
    open_messages: BTreeMap<MessageId, OpenMessage>,
    open_calls: OpenCalls,
    entries: VecDeque<EarlyEntry>,
    watched_until: WatchedUntil,
    next_at_ms: i64,
    is_writing: bool,
}

#[derive(Default)]
struct OpenMessage {
    text: OpenText,
    last_at_ms: i64,
    /// For each kind of text, up to where the live log has it.
    logged: BTreeMap<TextKind, usize>,
}

impl LiveWriter {
    /// A run that is driven where its caller is, is watched while that one is. Elsewhere nobody knows of the
    /// viewers of a run below, who look at the root: it is always watched.
    pub(super) fn new<P: Ports>(run: &DrivenRun<P>, caller: Option<&CallerLink>) -> Self {
        let spec = run.state().spec();
        let child = spec.child.as_ref();
        let every_ms = to_millis(run.settings().live_every);
        let (sender, receiver) = mpsc::unbounded_channel();
        let of_its_own = || WatchedUntil::new(if child.is_some() { i64::MAX } else { i64::MIN });
        Self {
            receiver,
            sender,
            pace: Pace::of(every_ms, child.map_or(1, |child| child.concurrent_children)),
            open_messages: BTreeMap::new(),
            open_calls: OpenCalls::default(),
            entries: VecDeque::new(),
            watched_until: caller.map_or_else(of_its_own, |caller| caller.watched_until.clone()),
            path: spec.path(),
            next_at_ms: 0,
            is_writing: false,
        }
    }

    /// Where model calls and tools put what they write.
    pub(super) fn sender(&self) -> &mpsc::UnboundedSender<Live> {
        &self.sender
    }

    /// What a run below has that is driven here.
    pub(super) fn link_for_child(&self) -> CallerLink {
        let (live_sender, watched_until) = (self.sender.clone(), self.watched_until.clone());
        CallerLink { live_sender, watched_until }
    }

    /// Returns when something was put there, with all of it that may be shown together.
    pub(super) fn receive_news<'a>(
        &'a mut self,
        news: &'a mut Vec<Live>,
    ) -> impl Future<Output = usize> + use<'a> {
        self.receiver.recv_many(news, MAX_BATCH)
    }

    /// What was put there and not yet received.
    pub(super) fn take_received(&mut self) -> Vec<Live> {
        std::iter::from_fn(|| self.receiver.try_recv().ok()).collect()
    }

    /// Takes what was written here. A child's previews and progress are for viewers of its run, and are returned as
    /// those see them.
    pub(super) fn add_news(&mut self, news: &[Live]) -> Vec<Live> {
        let mut early = Vec::new();
        for live in news {
            if !live.path().is_root() {
                // A child that is driven here writes to the live log by itself.
                early.push(live.clone());
                continue;
            }
            let path = self.path.clone();
            match live {
                Live::Preview(preview) => {
                    self.add_preview(preview);
                    early.push(Live::Preview(Preview { path, ..preview.clone() }));
                }
                Live::Progress(progress) => {
                    self.open_calls.add_piece(progress);
                    early.push(Live::Progress(CallProgress { path, ..progress.clone() }));
                }
                Live::Entry(_) => {}
            }
        }
        if self.path.is_root() { Vec::new() } else { early }
    }

    /// Takes a piece of a message, and forgets an earlier attempt at it.
    fn add_preview(&mut self, preview: &Preview) {
        let open = self.open_messages.entry(preview.message.clone()).or_default();
        if preview.attempt > open.text.attempt() {
            open.logged.clear();
        }
        open.text.apply_preview(preview);
        open.last_at_ms = preview.at_ms;
    }

    /// Takes a record: messages that are complete and texts that are void are forgotten; a child's
    /// entries are for viewers of its run, and are returned as those see them. `nth` is the place of
    /// the first one.
    pub(super) fn add_record(&mut self, record: &Record, nth: u64) -> Vec<Live> {
        for entry in &record.entries {
            match &entry.event {
                Event::MessageCompleted { message, .. } | Event::MessageReset { message, .. } => {
                    self.open_messages.remove(message);
                }
                Event::RunResumed { .. } | Event::RunEnded(_) => {
                    self.open_messages.clear();
                    self.open_calls.clear();
                }
                Event::CallCompleted { call, .. } => self.open_calls.remove_call(call),
                Event::RunStarted { .. }
                | Event::ModelChanged(_)
                | Event::ModelDelayed { .. }
                | Event::CallRequested { .. }
                | Event::FileAdded { .. }
                | Event::ContextCompacted { .. }
                | Event::EmployeesNamed { .. }
                | Event::PlanChanged { .. }
                | Event::StepChanged { .. }
                | Event::UserMessageAdded { .. }
                | Event::HumanRequested { .. }
                | Event::HumanResolved(_)
                | Event::ChildStarted { .. }
                | Event::ChildEnded { .. } => {}
            }
        }
        if self.path.is_root() {
            return Vec::new();
        }
        let ends_at = nth + record.entries.len() as u64;
        let early = (nth..).zip(&record.entries).map(|(nth, entry)| {
            let (ends_record, entry) = (nth + 1 == ends_at, entry.clone().below(&self.path));
            EarlyEntry { index: nth, ends_record, entry }
        });
        let early: Vec<EarlyEntry> = early.collect();
        // What is not written here is read in the journal by whoever comes.
        if record.at_ms <= self.watched_until.at_ms() {
            let room = MAX_WAITING_ENTRIES.saturating_sub(self.entries.len());
            self.entries.extend(early.iter().take(room).cloned());
        }
        early.into_iter().map(Box::new).map(Live::Entry).collect()
    }

    /// Somebody watches the run until then.
    pub(super) fn set_watched_until(&self, at_ms: i64) {
        if self.path.is_root() {
            self.watched_until.set(at_ms);
        }
    }

    /// Returns whether a viewer watches the run, as far as is known.
    pub(super) fn is_watched(&self, now_ms: i64) -> bool {
        now_ms <= self.watched_until.at_ms()
    }

    /// What the message being written says so far, if it is let out.
    pub(super) async fn screen_partial<P: Ports>(
        &self,
        run: &DrivenRun<P>,
    ) -> Option<PartialMessage> {
        let (partial, asked) = (self.latest_partial()?, run.state().spec());
        let (user, session) = (asked.user.clone(), asked.session_name());
        let whose = ContentOwner::of(run.key(), &user, &session);
        run.ports().content().screen_partial(partial, whose).await
    }

    fn latest_partial(&self) -> Option<PartialMessage> {
        let (message, open) = self.open_messages.iter().next_back()?;
        let text = open.text.text_of(TextKind::Text).to_owned();
        (!text.is_empty()).then(|| PartialMessage { message: message.clone(), text })
    }

    /// When there will be something to write to the live log, Unix milliseconds.
    pub(super) fn next_wake_ms(&self) -> Option<i64> {
        let news = self.open_messages.values().any(|open| open.unlogged_texts().next().is_some());
        let until_ms = self.watched_until.at_ms();
        let watched = self.open_messages.values().any(|open| open.last_at_ms <= until_ms);
        let says = self.open_calls.has_unlogged(until_ms);
        let any = (news && watched) || says || !self.entries.is_empty();
        (any && !self.is_writing).then_some(self.next_at_ms)
    }

    /// Writes what there is, if it is time, beside the loop.
    pub(super) fn on_timer<P: Ports>(
        &mut self,
        now_ms: i64,
        run: &DrivenRun<P>,
        lease: &HeldLease,
        background: &mut BackgroundWork,
    ) {
        if let Some(pieces) = self.take_batch(now_ms) {
            let (ports, writer) = (run.ports().clone(), lease.lease().holder.clone());
            let key = run.key().root();
            background.spawn_background(async move {
                // The live log may lose pieces; the whole text follows in the journal.
                if let Err(error) = ports.store().write_live(&key, &writer, now_ms, &pieces).await {
                    tracing::debug!(%error, "live log not written");
                }
                DriverEvent::LiveWritten
            });
        }
    }

    /// What to write now, if it is time; [`Self::on_batch_written`] must follow.
    fn take_batch(&mut self, now_ms: i64) -> Option<Vec<Live>> {
        if self.path.is_root() && now_ms > self.watched_until.at_ms() {
            self.watched_until.set(i64::MIN);
        }
        if self.next_wake_ms()? > now_ms {
            return None;
        }
        let mut room = self.pace.max_bytes();
        let mut written = self.take_entries(&mut room);
        // The texts that are open come after all entries.
        if self.entries.is_empty() {
            written.extend(self.take_texts(&mut room, now_ms));
            written.extend(self.open_calls.take_pieces(&mut room, &self.path, now_ms));
        }
        if written.is_empty() {
            return None;
        }
        self.is_writing = true;
        self.next_at_ms = now_ms.saturating_add(self.pace.pause_ms(room));
        Some(written)
    }

    /// The next entries that fit. One that never fits is left to the child's end.
    fn take_entries(&mut self, room: &mut usize) -> Vec<Live> {
        let mut taken = Vec::new();
        while let Some(early) = self.entries.front() {
            let bytes = serde_json::to_vec(early).map_or(usize::MAX, |json| json.len());
            if bytes > *room && bytes <= self.pace.max_bytes() {
                break;
            }
            let early = self.entries.pop_front();
            if bytes <= *room {
                *room -= bytes;
                taken.extend(early.map(Box::new).map(Live::Entry));
            }
        }
        taken
    }

    fn take_texts(&mut self, room: &mut usize, now_ms: i64) -> Vec<Live> {
        let mut pieces = Vec::new();
        for (message, open) in &mut self.open_messages {
            let news: Vec<_> = open.unlogged_texts().collect();
            for (kind, offset) in news {
                let text = open.text.text_of(kind);
                let end = text.floor_char_boundary(offset.saturating_add(*room));
                let piece = text.get(offset..end).unwrap_or_default();
                if piece.is_empty() {
                    continue;
                }
                *room = room.saturating_sub(piece.len());
                open.logged.insert(kind, end);
                pieces.push(Live::Preview(Preview {
                    path: self.path.clone(),
                    message: message.clone(),
                    attempt: open.text.attempt(),
                    kind,
                    offset: offset as u64,
                    text: piece.to_owned(),
                    at_ms: now_ms,
                }));
            }
        }
        pieces
    }

    /// The last flush is in the log, or lost.
    pub(super) fn on_batch_written(&mut self, at_ms: i64) {
        self.is_writing = false;
        self.next_at_ms = self.next_at_ms.max(at_ms.saturating_add(self.pace.every_ms()));
    }
}

impl OpenMessage {
    /// The texts the live log does not have all of, and from where on.
    fn unlogged_texts(&self) -> impl Iterator<Item = (TextKind, usize)> + '_ {
        [TextKind::Reasoning, TextKind::Text].into_iter().filter_map(move |kind| {
            let length = self.text.text_of(kind).len();
            let logged = self.logged.get(&kind).copied().unwrap_or_default();
            (length > logged).then_some((kind, logged))
        })
    }
}
