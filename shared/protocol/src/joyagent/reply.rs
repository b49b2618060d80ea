//! Text of models: previews, replies, and a lane's last reply as the result.

use super::notices::{mark_cut, see_below_notice, void_notice};
use super::review::is_of_review;
use super::{AgentResponse, Translator};
use crate::preview::{Preview, TextKind};
use crate::text_tracker::TextEdit;
use djinn_core::entry::Entry;
use djinn_core::id::{MessageId, MessageKey, Path};
use djinn_core::input::FinishReason;

/// The newest reply of a lane.
pub(super) struct LaneReply {
    pub(super) key: MessageKey,
    pub(super) text: String,
    pub(super) finish: FinishReason,
    /// True if the reply is the result of its run.
    pub(super) is_answer: bool,
}

impl LaneReply {
    /// Returns the reply completed by an entry.
    pub(super) fn of(
        entry: &Entry,
        message: &MessageId,
        text: &str,
        finish: FinishReason,
        is_answer: bool,
    ) -> Self {
        Self { key: entry.message_key(message), text: text.to_owned(), finish, is_answer }
    }
}

/// The text of a result, with the finish reason.
pub(super) struct ResultText {
    pub(super) text: String,
    pub(super) finish: FinishReason,
}

impl Translator {
    /// Returns the events for a preview. The summary's text is shown only when complete.
    pub fn translate_preview(&mut self, preview: &Preview) -> Vec<AgentResponse> {
        if is_hidden(&preview.message, preview.kind) || is_of_review(&preview.path) {
            return Vec::new();
        }
        let mut events = Vec::new();
        let notice = void_notice(self.language);
        for (kind, change) in self.texts.apply_preview(preview) {
            let key = preview.message_key();
            events.extend(self.edit_events(&key, kind, &change, notice, preview.at_ms));
        }
        events
    }

    /// Returns the events for an edit of a text: of a report, a search, or a thought. A retracted thought is
    /// replaced by `notice`.
    fn edit_events(
        &mut self,
        key: &MessageKey,
        kind: TextKind,
        change: &TextEdit,
        notice: &str,
        at_ms: i64,
    ) -> Vec<AgentResponse> {
        if kind == TextKind::Text
            && let Some(pieces) = self.search_piece(key, change, at_ms)
        {
            return pieces;
        }
        let piece = match kind {
            TextKind::Text => self.report_piece(&key.path, change, at_ms),
            TextKind::Reasoning => None,
        };
        let (text, is_final) = match change {
            TextEdit::Append(text) => (text.as_str(), false),
            TextEdit::Replace(text) => (text.as_str(), true),
            TextEdit::Retract => (notice, true),
        };
        piece.unwrap_or_else(|| vec![self.thought_event(key, kind, text, is_final, at_ms)])
    }

    /// Returns the events for a complete reply.
    pub(super) fn complete_reply(
        &mut self,
        reply: LaneReply,
        reasoning: Option<&str>,
        at_ms: i64,
    ) -> Vec<AgentResponse> {
        let key = reply.key.clone();
        let was_shown = self.texts.complete_message(&key);
        let mut was_text_shown = was_shown.contains(&TextKind::Text);
        let mut events = Vec::new();
        // Text of an earlier attempt must not remain.
        let reasoning = reasoning.filter(|reasoning| !reasoning.trim().is_empty());
        if reasoning.is_some() || was_shown.contains(&TextKind::Reasoning) {
            let text = reasoning.unwrap_or_default();
            events.push(self.thought_event(&key, TextKind::Reasoning, text, true, at_ms));
        }
        if was_text_shown && let Some(retracted) = self.retract_thought(&reply, at_ms) {
            events.extend(retracted);
            was_text_shown = false;
        }
        if key.message.is_summary() {
            self.summary_finish = reply.finish;
        } else if let Some(whole) = self.add_to_report(&reply, at_ms) {
            events.extend(whole);
        } else if let Some(rest) = self.add_to_search(&key.path, &reply.text, at_ms) {
            events.extend(rest);
        } else if !reply.text.trim().is_empty() {
            let text = if reply.is_answer && has_result(&key.path) {
                see_below_notice(self.language).to_owned()
            } else {
                mark_cut(&reply.text, reply.finish, self.language)
            };
            events.push(self.thought_event(&key, TextKind::Text, &text, true, at_ms));
            self.replies.insert(key.path.clone(), reply);
        } else if was_text_shown {
            events.push(self.thought_event(&key, TextKind::Text, "", true, at_ms));
        }
        events
    }

    /// Ends a run's lane. If the result contains the newest reply, the reply is shown only as the result.
    /// Unfinished texts are retracted.
    pub(super) fn end_lane(
        &mut self,
        entry: &Entry,
        path: &Path,
        result: &str,
    ) -> (Vec<AgentResponse>, ResultText) {
        let mut events = Vec::new();
        let mut result_text = ResultText { text: result.to_owned(), finish: FinishReason::Done };
        if let Some(reply) = self.replies.remove(path).filter(|_| has_result(path)) {
            let reply_text = reply.text.trim();
            // A task's result is cut to a maximum length.
            let is_cut =
                !path.is_root() && !result.is_empty() && reply_text.starts_with(result.trim());
            if is_cut || result.contains(reply_text) {
                result_text.finish = reply.finish;
                if !result.contains(reply_text) {
                    result_text.text = reply_text.to_owned();
                }
                if !reply.is_answer {
                    let text = see_below_notice(self.language);
                    let at_ms = entry.at_ms;
                    events.push(self.thought_event(&reply.key, TextKind::Text, text, true, at_ms));
                }
            }
        }
        // The last entries of a deeper run may be shown after its end. None follow the end of the ancestor
        // directly below the root.
        if entry.path.is_root() {
            let open_texts = self.texts.end_texts(path);
            events.extend(self.retract_texts(&open_texts, "", entry.at_ms));
        }
        for event in &mut events {
            self.place_event(event, path);
        }
        (events, result_text)
    }

    /// Marks texts of an entry's lane as void: of one message, or all unfinished texts.
    pub(super) fn void_entry_texts(
        &mut self,
        entry: &Entry,
        message: Option<&MessageId>,
    ) -> Vec<AgentResponse> {
        let current_key = match message {
            Some(message) => Some(entry.message_key(message)),
            None => self.current_message(&entry.path),
        };
        let key = message.map(|message| entry.message_key(message));
        let void = self.texts.void_texts(&entry.path, key.as_ref(), current_key.as_ref());
        // The notice replaces these texts until new text arrives.
        self.retract_texts(&void, void_notice(self.language), entry.at_ms)
    }

    /// Retracts the visible ones of these texts, and shows a notice in place of each.
    fn retract_texts(
        &mut self,
        texts: &[(MessageKey, TextKind)],
        notice: &str,
        at_ms: i64,
    ) -> Vec<AgentResponse> {
        let visible_texts = texts.iter().filter(|(key, kind)| !is_hidden(&key.message, *kind));
        let mut events = Vec::new();
        for (key, kind) in visible_texts {
            events.extend(self.edit_events(key, *kind, &TextEdit::Retract, notice, at_ms));
        }
        events
    }

    /// Returns the message of a lane that a model may be writing now.
    fn current_message(&self, path: &Path) -> Option<MessageKey> {
        if path.is_root() && !self.tasks.is_empty() {
            return None;
        }
        let message = match self.turns.get(path) {
            Some(turns) => turns.current_message()?,
            None => MessageId::for_turn(1),
        };
        Some(MessageKey { path: path.clone(), message })
    }

    /// Marks open messages as possibly shown in part: see [`crate::connection::Projection::resume`].
    pub fn resume(&mut self) {
        let summary = MessageKey { path: Path::default(), message: MessageId::summary() };
        let message_keys = self.current_message(&Path::default()).into_iter().chain([summary]);
        let tasks = self.tasks.iter().map(|(task, _)| Path::to(task.clone()));
        self.texts.mark_unknown(message_keys, tasks.chain(self.agents.keys().cloned()));
        self.mark_unknown_searches();
        self.mark_unknown_reports();
    }

    /// Returns the event for an agent's text or reasoning; the planner's text is a thought about the plan.
    pub(super) fn thought_event(
        &self,
        key: &MessageKey,
        kind: TextKind,
        text: &str,
        is_final: bool,
        at_ms: i64,
    ) -> AgentResponse {
        let of = match kind {
            TextKind::Text => String::new(),
            TextKind::Reasoning => ".reasoning".to_owned(),
        };
        let id = format!("{}{of}", key.message.clone().below(&key.path));
        let event = self.lane_thought(&key.path, &id, text, at_ms);
        AgentResponse { is_final, ..event }
    }

    /// Returns a thought of a lane under its own id.
    pub(super) fn lane_thought(
        &self,
        path: &Path,
        id: &str,
        text: &str,
        at_ms: i64,
    ) -> AgentResponse {
        let text = Some(text.to_owned());
        let mut event = if self.machine.has_plan() && path.is_root() {
            AgentResponse { plan_thought: text, ..self.new_event(id, "plan_thought", at_ms) }
        } else {
            AgentResponse { tool_thought: text, ..self.new_event(id, "tool_thought", at_ms) }
        };
        self.place_event(&mut event, path);
        event
    }
}

/// Returns true if the page has a separate place for the run's result: the conclusion, or a step's lane. A
/// called agent's result is shown in the caller's lane, like all its text.
fn has_result(path: &Path) -> bool {
    let is_step = || path.last().is_some_and(|child| child.task().is_some());
    path.is_root() || (path.depth() == 1 && is_step())
}

/// Returns true for texts shown only when complete.
fn is_hidden(message: &MessageId, kind: TextKind) -> bool {
    message.is_summary() && kind == TextKind::Text
}
