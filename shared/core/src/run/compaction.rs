//! Compaction: older turns of a long conversation are summed up before the next turn, if they use too much of
//! the model's window.
//!
//! The decision depends only on the journal: the size of the newest request in its reply's record, and the
//! items that joined the conversation later. The compaction call is between two turns. A turn is due only
//! after the call has succeeded or failed.

use super::conversation_size::{
    estimate_tokens, tokens_of_exchange, tokens_of_item, tokens_of_range,
};
use super::url_placeholders::UrlPlaceholders;
use crate::agent_loop::Attempts;
use crate::conversation::{
    CompactionRange, Conversation, ConversationItem, MAX_HISTORY, count_turns,
};
use crate::crash::ActiveEffects;
use crate::effect::{Effect, ModelCall, ToolChoice};
use crate::entry::Event;
use crate::id::{EntryId, EntryName, MessageId};
use crate::input::{ChildSpec, FinishReason, Reply, RunSpec, WindowUsage};
use crate::settings::{ContextSettings, ModelChoice, Role};

/// Maximum failures in a row before the run continues without a summary.
const MAX_FAILURES: u32 = 2;

/// Compacts only if doing so frees at least 1/8 of the limit, or if the next request would not fit at all.
const MIN_GAIN_DIVISOR: u64 = 8;

/// The use of the model's window by the conversation, and the call that frees space.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compaction {
    /// The tokens of the next request.
    tokens: u64,
    /// The limit of the role's own model, if a reply reported the limit.
    limit: Option<u64>,
    /// The limit of the fallback while it answers in the model's place.
    fallback_limit: Option<u64>,
    /// The number of failed calls in a row.
    failures: u32,
    open: Option<OpenCompaction>,
    /// The newest message that follows a compaction call. At most one call precedes each message.
    compacted_before: Option<MessageId>,
    /// True for a run of the session's owner, whose summary the session keeps. Children begin with their
    /// run's remaining context, and a guest's run would sum up another user's conversation.
    shortens_history: bool,
}

/// A due compaction call.
#[derive(Debug, Clone, PartialEq)]
struct OpenCompaction {
    message: MessageId,
    attempts: Attempts,
    range: CompactionRange,
}

impl Compaction {
    /// Returns the window's use at the start of a run.
    pub(super) fn of(spec: &RunSpec) -> Self {
        let reports = spec.child.iter().flat_map(ChildSpec::reports);
        let reports: u64 = reports.map(|report| estimate_tokens(report.text.len())).sum();
        let own = spec.question.len() + spec.base_prompt.len();
        let earlier = spec.earlier.as_ref().map_or(0, |earlier| earlier.text.len());
        let tokens = spec.history_tokens + reports + estimate_tokens(own + earlier);
        Self {
            tokens,
            limit: None,
            fallback_limit: None,
            failures: 0,
            open: None,
            compacted_before: None,
            shortens_history: spec.child.is_none() && spec.shared.is_none(),
        }
    }

    /// Returns the compaction call while it is due.
    pub(super) fn due_call(&self) -> Option<Effect> {
        let open = self.open.as_ref()?;
        let call = open.attempts.to_call(open.message.clone(), Role::Compactor, ToolChoice::None);
        Some(Effect::CallModel(call))
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the part that is being summed up.
    pub(super) fn range(&self) -> Option<CompactionRange> {
        self.open.as_ref().map(|open| open.range)
    }

    /// Returns the attempts at the call while it is due, if the call writes this message.
    pub(super) fn attempts_at(&mut self, message: &MessageId) -> Option<&mut Attempts> {
        let open = self.open.as_mut().filter(|open| open.message == *message)?;
        Some(&mut open.attempts)
    }

    /// Processes a crash. Returns true if a call was open.
    pub(super) fn on_resumed(&mut self, ran: &ActiveEffects) -> bool {
        let Some(open) = &mut self.open else { return false };
        if ran.has_message(&open.message) && !open.attempts.record_crash() {
            self.give_up();
        }
        true
    }

    /// Forgets the limits of the model of an agent that handed the run over.
    pub(super) fn forget_limits(&mut self) {
        (self.limit, self.fallback_limit) = (None, None);
    }

    /// Gives the call up. The next request is shortened instead.
    fn give_up(&mut self) {
        self.failures += 1;
        self.open = None;
    }

    /// Withdraws the call.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Records the size of a request to this model.
    pub(super) fn record_window(&mut self, window: Option<&WindowUsage>, by: ModelChoice) {
        let Some(WindowUsage { tokens, limit, .. }) = window else { return };
        self.tokens = *tokens;
        match by {
            ModelChoice::Primary => (self.limit, self.fallback_limit) = (Some(*limit), None),
            ModelChoice::Fallback => self.fallback_limit = Some(*limit),
        }
    }

    /// Returns the lowest limit of the models that may receive the next request. The role's own model is
    /// first: its limit is `own` unless a reply reported another limit.
    fn effective_limit(&self, own: Option<u64>) -> Option<u64> {
        self.limit.or(own).into_iter().chain(self.fallback_limit).min()
    }

    /// Adds the tokens of new conversation items. A large item counts up to half of the limit.
    pub(super) fn add_items(&mut self, items: &[ConversationItem]) {
        let max_tokens = self.effective_limit(None).unwrap_or(u64::MAX) / 2;
        let new_tokens: u64 = items.iter().map(|item| tokens_of_item(item).min(max_tokens)).sum();
        self.tokens = self.tokens.saturating_add(new_tokens);
    }

    /// Opens the compaction call, if the turn of `next` needs it.
    pub(super) fn open_before(
        &mut self,
        next: &ModelCall,
        conversation: &Conversation,
        urls: &UrlPlaceholders,
        settings: &ContextSettings,
    ) {
        if self.compacted_before.as_ref() == Some(&next.message) {
            return;
        }
        let limit = self.effective_limit(settings.input_limits.get(&next.role).copied());
        let range = limit
            .and_then(|limit| self.find_overflow(limit, conversation, urls, settings))
            .or_else(|| self.find_older_exchanges(conversation));
        let Some(range) = range else { return };
        let attempts = Attempts::default();
        self.open =
            next.message.to_compaction().map(|message| OpenCompaction { message, attempts, range });
        self.compacted_before = Some(next.message.clone());
    }

    /// Returns the part to sum up, if the next request needs space and a call frees enough.
    fn find_overflow(
        &self,
        limit: u64,
        conversation: &Conversation,
        urls: &UrlPlaceholders,
        settings: &ContextSettings,
    ) -> Option<CompactionRange> {
        let percent = settings.compact_at_percent.into();
        if self.failures >= MAX_FAILURES
            || self.tokens.saturating_mul(100) <= limit.saturating_mul(percent)
        {
            return None;
        }
        let conversation = urls.compress_conversation(conversation);
        let range = find_older_range(&conversation, settings.keep_turns as usize, limit / 2);
        let gain = tokens_of_range(&conversation, range);
        (gain > 0 && (gain >= limit / MIN_GAIN_DIVISOR || self.tokens > limit)).then_some(range)
    }

    /// Returns the older half of a history with the maximum length. The call is tried once, because the
    /// window may need the other attempt.
    fn find_older_exchanges(&self, conversation: &Conversation) -> Option<CompactionRange> {
        let exchanges = conversation.history.len();
        let is_due = self.shortens_history && self.failures == 0 && exchanges >= MAX_HISTORY;
        let range =
            CompactionRange { exchanges: exchanges.saturating_sub(MAX_HISTORY / 2), items: 0 };
        is_due.then_some(range)
    }

    /// Replaces the oldest part of the conversation with the summary. Returns the event for viewers, or
    /// `None` if the reply has no usable text.
    pub(super) fn finish(
        &mut self,
        reply: &Reply,
        conversation: &mut Conversation,
        urls: &UrlPlaceholders,
    ) -> Option<(EntryId, Event)> {
        let OpenCompaction { range, message, .. } = self.open.clone()?;
        if reply.text.trim().is_empty() || reply.finish == FinishReason::Filtered {
            self.give_up();
            return None;
        }
        let items = conversation.items.get(..range.items).unwrap_or_default();
        let turns = u32::try_from(count_turns(items)).unwrap_or(u32::MAX);
        let exchanges = u32::try_from(range.exchanges).unwrap_or(u32::MAX);
        let gain = tokens_of_range(&urls.compress_conversation(conversation), range);
        conversation.compact_oldest(range, &reply.text);
        let notes = estimate_tokens(urls.urls().compress_text(&reply.text).len());
        self.tokens = self.tokens.saturating_sub(gain).saturating_add(notes);
        (self.failures, self.open) = (0, None);
        let usage = reply.usage;
        let id = EntryId::of_message(&message, EntryName::Message);
        Some((id, Event::ContextCompacted { message, exchanges, turns, usage }))
    }

    /// Fails the call for this message. Returns true if it was the compaction call.
    pub(super) fn fail(&mut self, message: &MessageId) -> bool {
        let is_own = self.attempts_at(message).is_some();
        if is_own {
            self.give_up();
        }
        is_own
    }
}

/// Returns the part of a conversation that is older than its newest `keep` turns, or than the turns that fit
/// into `room`. Never includes the newest turn.
fn find_older_range(conversation: &Conversation, keep: usize, room: u64) -> CompactionRange {
    let items = &conversation.items;
    let mut start = items.len();
    let mut count = 0;
    let mut tokens = 0;
    let has_room = |count: usize, tokens: u64| count < keep && tokens <= room;
    while start > 0 {
        // A note belongs to the turn before.
        let earlier = items.get(..start).unwrap_or_default();
        let turn = earlier.iter().rposition(ConversationItem::is_turn_or_round).unwrap_or(0);
        tokens += earlier.iter().skip(turn).map(tokens_of_item).sum::<u64>();
        if count > 0 && !has_room(count, tokens) {
            return CompactionRange { exchanges: conversation.history.len(), items: start };
        }
        count += 1;
        start = turn;
    }
    let mut exchanges = conversation.history.len();
    for exchange in conversation.history.iter().rev() {
        tokens += tokens_of_exchange(exchange);
        if !has_room(count, tokens) {
            break;
        }
        count += 1;
        exchanges -= 1;
    }
    CompactionRange { exchanges, items: 0 }
}
