//! Unfinished messages and progress: the partial message of a stopped run, and the live log for viewers other
//! than our client.

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
use crate::gathering::GatheringReceiver;
use crate::port::checker::ContentOwner;
use crate::port::live::LiveLog;
use crate::settings::to_millis;
use crate::world::Ports;

/// The maximum number of pieces and entries shown together.
const MAX_BATCH: usize = 256;

/// The maximum number of entries waiting for the live log. Further entries are shown at the child's end.
const MAX_WAITING_ENTRIES: usize = 1_000;

/// The unfinished messages of a driver and, for a child, its entries, with the written part of each.
pub(super) struct LiveWriter {
    /// The pieces from this driver's model calls, and from a child driven here.
    receiver: GatheringReceiver<Live>,
    sender: mpsc::UnboundedSender<Live>,
    /// The path of the writing run.
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
    /// The length of the text in the live log, by kind of text.
    logged: BTreeMap<TextKind, usize>,
}

impl LiveWriter {
    /// A child driven with its caller is watched as long as the caller. In its own invocation a child is
    /// always watched: its viewers look at the root, unknown here.
    pub(super) fn new<P: Ports>(run: &DrivenRun<P>, caller: Option<&CallerLink>) -> Self {
        let spec = run.state().spec();
        let child = spec.child.as_ref();
        let every_ms = to_millis(run.settings().live_every);
        let (sender, receiver) = mpsc::unbounded_channel();
        let merges = !run.settings().preview_merge_window.is_zero();
        let of_its_own = || WatchedUntil::new(if child.is_some() { i64::MAX } else { i64::MIN });
        Self {
            receiver: GatheringReceiver::gathering_if(merges, receiver),
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

    /// Returns the channel for previews and progress of model calls and tools.
    pub(super) fn sender(&self) -> &mpsc::UnboundedSender<Live> {
        &self.sender
    }

    /// Returns the link for a child driven here.
    pub(super) fn link_for_child(&self) -> CallerLink {
        let live_sender = self.sender.clone();
        let watched_until = self.watched_until.clone();
        CallerLink { live_sender, watched_until }
    }

    /// Waits for news. Adds all available news to `news`, up to the maximum of a batch.
    pub(super) fn receive_news<'a>(
        &'a mut self,
        news: &'a mut Vec<Live>,
    ) -> impl Future<Output = usize> + use<'a> {
        std::future::poll_fn(move |cx| self.receiver.poll_recv_many(cx, news, MAX_BATCH))
    }

    /// Returns all news received so far, without waiting.
    pub(super) fn take_received(&mut self) -> Vec<Live> {
        self.receiver.take_received()
    }

    /// Takes pieces written here. For a child, returns the previews and progress under the child's path, for
    /// viewers of its run.
    pub(super) fn add_news(&mut self, news: &[Live]) -> Vec<Live> {
        // A child driven here writes to the live log by itself.
        for live in news.iter().filter(|live| live.path().is_root()) {
            match live {
                Live::Preview(preview) => self.add_preview(preview),
                Live::Progress(progress) => self.open_calls.add_piece(progress),
                Live::Entry(_) => {}
            }
        }
        // Nobody calls the root: a piece is not copied for each word of its text.
        if self.path.is_root() {
            return Vec::new();
        }
        news.iter().filter_map(|live| self.to_early(live)).collect()
    }

    /// Returns a piece for the caller's driver: a piece of this child gets its path.
    fn to_early(&self, live: &Live) -> Option<Live> {
        let path = self.path.clone();
        match live {
            _ if !live.path().is_root() => Some(live.clone()),
            Live::Preview(preview) => Some(Live::Preview(Preview { path, ..preview.clone() })),
            Live::Progress(piece) => Some(Live::Progress(CallProgress { path, ..piece.clone() })),
            Live::Entry(_) => None,
        }
    }

    /// Adds a piece of a message, and discards an earlier attempt.
    fn add_preview(&mut self, preview: &Preview) {
        let open = self.open_messages.entry(preview.message.clone()).or_default();
        if preview.attempt > open.text.attempt() {
            open.logged.clear();
        }
        open.text.apply_preview(preview);
        open.last_at_ms = preview.at_ms;
    }

    /// Takes a record, and discards messages and progress it completes or voids. For a child, returns the
    /// entries under the child's path, for viewers of its run. `nth` is the index of the first entry.
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
                _ => {}
            }
        }
        if self.path.is_root() {
            return Vec::new();
        }
        let ends_at = nth + record.entries.len() as u64;
        let early = (nth..).zip(&record.entries).map(|(nth, entry)| {
            let ends_record = nth + 1 == ends_at;
            let entry = entry.clone().below(&self.path);
            EarlyEntry { index: nth, ends_record, entry }
        });
        let early: Vec<EarlyEntry> = early.collect();
        // Without viewers, entries are not written: a later viewer reads them in the journal.
        if record.at_ms <= self.watched_until.at_ms() {
            let room = MAX_WAITING_ENTRIES.saturating_sub(self.entries.len());
            self.entries.extend(early.iter().take(room).cloned());
        }
        early.into_iter().map(Box::new).map(Live::Entry).collect()
    }

    /// Sets the time until which viewers watch the run.
    pub(super) fn set_watched_until(&self, at_ms: i64) {
        if self.path.is_root() {
            self.watched_until.set(at_ms);
        }
    }

    /// Returns true if a viewer is known to watch the run.
    pub(super) fn is_watched(&self, now_ms: i64) -> bool {
        now_ms <= self.watched_until.at_ms()
    }

    /// Returns the message in progress, unless the content checks hold back the text.
    pub(super) async fn screen_partial<P: Ports>(
        &self,
        run: &DrivenRun<P>,
    ) -> Option<PartialMessage> {
        let partial = self.latest_partial()?;
        let spec = run.state().spec();
        let user = spec.user.clone();
        let session = spec.session_name();
        let owner = ContentOwner::of(run.key(), &user, &session);
        run.ports().content().screen_partial(partial, owner).await
    }

    fn latest_partial(&self) -> Option<PartialMessage> {
        let (message, open) = self.open_messages.iter().next_back()?;
        let text = open.text.text_of(TextKind::Text).to_owned();
        (!text.is_empty()).then(|| PartialMessage { message: message.clone(), text })
    }

    /// Returns the time of the next write to the live log, in Unix milliseconds. `None` without anything to
    /// write.
    pub(super) fn next_wake_ms(&self) -> Option<i64> {
        let news = self.open_messages.values().any(|open| open.unlogged_texts().next().is_some());
        let until_ms = self.watched_until.at_ms();
        let has_watched_text = self.open_messages.values().any(|open| open.last_at_ms <= until_ms);
        let says = self.open_calls.has_unlogged(until_ms);
        let any = (news && has_watched_text) || says || !self.entries.is_empty();
        (any && !self.is_writing).then_some(self.next_at_ms)
    }

    /// Writes a batch beside the loop, if due.
    pub(super) fn on_timer<P: Ports>(
        &mut self,
        now_ms: i64,
        run: &DrivenRun<P>,
        lease: &HeldLease,
        background: &mut BackgroundWork,
    ) {
        if let Some(pieces) = self.take_batch(now_ms) {
            let ports = run.ports().clone();
            let writer = lease.lease().holder.clone();
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

    /// Returns the batch to write now, if due. [`Self::on_batch_written`] must follow.
    fn take_batch(&mut self, now_ms: i64) -> Option<Vec<Live>> {
        if self.path.is_root() && now_ms > self.watched_until.at_ms() {
            self.watched_until.set(i64::MIN);
        }
        if self.next_wake_ms()? > now_ms {
            return None;
        }
        let mut room = self.pace.max_bytes();
        let mut batch = self.take_entries(&mut room);
        // Open texts come after all entries.
        if self.entries.is_empty() {
            batch.extend(self.take_texts(&mut room, now_ms));
            batch.extend(self.open_calls.take_pieces(&mut room, &self.path, now_ms));
        }
        if batch.is_empty() {
            return None;
        }
        self.is_writing = true;
        self.next_at_ms = now_ms.saturating_add(self.pace.pause_ms(room));
        Some(batch)
    }

    /// Returns the next entries that fit. Drops an entry larger than any batch; the child's end shows it.
    fn take_entries(&mut self, room: &mut usize) -> Vec<Live> {
        let mut batch = Vec::new();
        while let Some(early) = self.entries.front() {
            let bytes = serde_json::to_vec(early).map_or(usize::MAX, |json| json.len());
            if bytes > *room && bytes <= self.pace.max_bytes() {
                break;
            }
            let early = self.entries.pop_front();
            if bytes <= *room {
                *room -= bytes;
                batch.extend(early.map(Box::new).map(Live::Entry));
            }
        }
        batch
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

    /// Ends a write: the batch is in the log, or lost.
    pub(super) fn on_batch_written(&mut self, at_ms: i64) {
        self.is_writing = false;
        self.next_at_ms = self.next_at_ms.max(at_ms.saturating_add(self.pace.every_ms()));
    }
}

impl OpenMessage {
    /// Returns the texts not yet completely in the live log, each with the length of the written part.
    fn unlogged_texts(&self) -> impl Iterator<Item = (TextKind, usize)> + '_ {
        [TextKind::Reasoning, TextKind::Text].into_iter().filter_map(move |kind| {
            let length = self.text.text_of(kind).len();
            let logged_bytes = self.logged.get(&kind).copied().unwrap_or_default();
            (length > logged_bytes).then_some((kind, logged_bytes))
        })
    }
}
