//! Fitting a conversation to the window: long texts are shortened first, older texts more. Then the oldest
//! groups are dropped.

use super::window::{ContextTooLong, FittedParts, RequestPart, fit_parts};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_text::shorten::ShortenedText;
use serde_json::json;

use super::group::{GroupKind, MessageGroup};
use crate::port::model::Message;
use crate::prompt::frame::balance_frames;
use crate::prompt::{self, Prompts};

/// The maximum tokens of the note about dropped parts.
const NOTE_TOKENS: u64 = 150;

/// The texts of the instructions and the tools.
pub(super) type FixedTexts<'a> = Vec<&'a str>;

/// The window for a conversation.
pub(super) struct ContextWindow<'a> {
    pub(super) prompts: &'a Prompts,
    pub(super) language: Language,
    /// The maximum tokens of the whole request.
    pub(super) limit: u64,
    /// The number of newest turns shortened as little as possible.
    pub(super) keep_turns: u64,
}

impl ContextWindow<'_> {
    /// Returns the messages to send, and the fitting result.
    ///
    /// # Errors
    /// Returns [`ContextTooLong`] if the pinned parts do not fit.
    pub(super) fn fit_messages(
        &self,
        fixed_texts: &FixedTexts<'_>,
        mut groups: Vec<MessageGroup>,
        count: impl Fn(&str) -> u64,
    ) -> Result<(Vec<Message>, FittedParts), ContextTooLong> {
        if let Ok(fitted_parts) = fit_parts(&to_pieces(fixed_texts, &groups), self.limit, &count)
            && fitted_parts.dropped.is_none()
        {
            let messages = groups.into_iter().flat_map(|group| group.messages).collect();
            return Ok((messages, fitted_parts));
        }
        self.shorten_groups(fixed_texts, &mut groups, &count);
        let limit = self.limit.saturating_sub(NOTE_TOKENS);
        let fitted_parts = fit_parts(&to_pieces(fixed_texts, &groups), limit, &count)?;
        Ok((self.remove_dropped(groups, &fitted_parts), fitted_parts))
    }

    /// Shortens the groups within the room left by the instructions and the question. Half of the room goes
    /// to the newest turn. Three eighths are shared by the turns before, and an eighth goes to the
    /// compaction. The newest turn also gets the unused rest.
    fn shorten_groups(
        &self,
        fixed_texts: &FixedTexts<'_>,
        groups: &mut [MessageGroup],
        count: &impl Fn(&str) -> u64,
    ) {
        let weigh = |group: &MessageGroup| group.to_piece().total_weight(count);
        let words =
            |short: &ShortenedText<'_>, whole: Option<&FileName>| self.elision_text(short, whole);
        let as_they_are = groups.iter().filter(|group| group.kind == GroupKind::Fixed);
        let fixed_tokens = fixed_piece(fixed_texts).total_weight(count)
            + as_they_are.map(weigh).sum::<u64>()
            + NOTE_TOKENS;
        let room = self.limit.saturating_sub(fixed_tokens);
        let others = self.keep_turns.saturating_sub(1);
        let newest = groups.iter().rposition(|group| group.kind == GroupKind::Turn);
        let mut kept_turns = 0;
        let mut used_tokens = 0;
        for (place, group) in groups.iter_mut().enumerate().rev() {
            match group.kind {
                GroupKind::Fixed | GroupKind::Attached => continue,
                GroupKind::Turn if Some(place) == newest => continue,
                GroupKind::Earlier => group.shorten_texts(room / 8, count, words),
                GroupKind::Turn | GroupKind::Exchange => {
                    group.shorten_texts(room / 8 * 3 / others.max(1), count, words);
                }
            }
            if group.kind == GroupKind::Earlier || kept_turns < others {
                kept_turns += 1;
                used_tokens += weigh(group);
            }
        }
        if let Some(group) = newest.and_then(|newest| groups.get_mut(newest)) {
            group.shorten_texts(room.saturating_sub(used_tokens), count, words);
        }
    }

    fn elision_text(&self, short: &ShortenedText<'_>, whole: Option<&FileName>) -> String {
        let file = whole.map_or("", FileName::as_str);
        let ShortenedText { head, tail, omitted: left_out, characters } = short;
        let (head, tail) = balance_frames(head, tail);
        let values = json!({"head": head, "tail": tail, "left_out": left_out,
            "characters": characters, "file": file});
        self.prompts.render(self.language, prompt::OUTCOME_SHORTENED, values)
    }

    /// Removes dropped groups. Adds a note about the dropped groups behind the question.
    fn remove_dropped(
        &self,
        groups: Vec<MessageGroup>,
        fitted_parts: &FittedParts,
    ) -> Vec<Message> {
        let is_kept = |place: usize| fitted_parts.kept.get(place + 1).copied().unwrap_or(true);
        let count_dropped = |kind: GroupKind| {
            let of_kind = groups.iter().enumerate().filter(|(_, group)| group.kind == kind);
            of_kind.filter(|(place, _)| !is_kept(*place)).count()
        };
        let exchanges = count_dropped(GroupKind::Exchange);
        let turns = count_dropped(GroupKind::Turn);
        let mut note = (exchanges + turns > 0).then(|| {
            let values = json!({"exchanges": exchanges, "turns": turns});
            Message::User(self.prompts.render(self.language, prompt::NOTE_LEFT_OUT, values))
        });
        let mut messages = Vec::new();
        for (place, group) in groups.into_iter().enumerate() {
            if !is_kept(place) {
                continue;
            }
            let is_question = group.kind == GroupKind::Fixed;
            messages.extend(group.messages);
            messages.extend(is_question.then(|| note.take()).flatten());
        }
        messages
    }
}

/// Returns the instructions and tools as one piece, followed by a piece for each group.
fn to_pieces<'a>(fixed_texts: &FixedTexts<'a>, groups: &'a [MessageGroup]) -> Vec<RequestPart<'a>> {
    [fixed_piece(fixed_texts)]
        .into_iter()
        .chain(groups.iter().map(MessageGroup::to_piece))
        .collect()
}

fn fixed_piece<'a>(fixed_texts: &FixedTexts<'a>) -> RequestPart<'a> {
    RequestPart { label: "system", texts: fixed_texts.clone(), image_tokens: 0, pinned: true }
}
