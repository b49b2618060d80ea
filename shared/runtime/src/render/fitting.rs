//! Making a conversation fit: first long texts are shortened, the older ones more, then the oldest
//! groups are left out.

use djinn_core::context::{Fitted, Piece, Shortened, TooLong, fit};
use djinn_core::id::FileName;
use djinn_core::settings::Language;
use serde_json::json;

use super::group::{Group, Kind};
use crate::port::model::Message;
use crate::prompt::frame::mended;
use crate::prompt::{self, Prompts};

/// Tokens of the words that say what was left out, at most.
const NOTE: u64 = 150;

/// The instructions and the tools.
pub(super) type Fixed<'a> = Vec<&'a str>;

/// The window that a conversation has to fit into.
pub(super) struct Room<'a> {
    pub(super) prompts: &'a Prompts,
    pub(super) language: Language,
    /// Its tokens.
    pub(super) limit: u64,
    /// The newest turns that are kept as whole as can be.
    pub(super) keep: u64,
}

impl Room<'_> {
    /// The messages that are sent, and what that took.
    ///
    /// # Errors
    /// [`TooLong`] when what cannot be shortened does not fit.
    pub(super) fn fit(
        &self,
        fixed: &Fixed<'_>,
        mut groups: Vec<Group>,
        count: impl Fn(&str) -> u64,
    ) -> Result<(Vec<Message>, Fitted), TooLong> {
        if let Ok(fitted) = fit(&pieces(fixed, &groups), self.limit, &count)
            && fitted.dropped.is_none()
        {
            let messages = groups.into_iter().flat_map(|group| group.messages).collect();
            return Ok((messages, fitted));
        }
        self.shorten(fixed, &mut groups, &count);
        let limit = self.limit.saturating_sub(NOTE);
        let fitted = fit(&pieces(fixed, &groups), limit, &count)?;
        Ok((self.without_dropped(groups, &fitted), fitted))
    }

    /// Half of what the instructions and the question leave is the newest turn's, three eighths are
    /// shared by those before it, and an eighth is left to what was summed up. What these do not
    /// need, the newest turn may have.
    fn shorten(&self, fixed: &Fixed<'_>, groups: &mut [Group], count: &impl Fn(&str) -> u64) {
        let weigh = |group: &Group| group.piece().weight(count);
        let words =
            |short: &Shortened<'_>, whole: Option<&FileName>| self.words_between(short, whole);
        let as_they_are = groups.iter().filter(|group| group.kind == Kind::Fixed);
        let taken = piece_of(fixed).weight(count) + as_they_are.map(weigh).sum::<u64>() + NOTE;
        let room = self.limit.saturating_sub(taken);
        let others = self.keep.saturating_sub(1);
        let newest = groups.iter().rposition(|group| group.kind == Kind::Turn);
        let (mut kept, mut used) = (0, 0);
        for (place, group) in groups.iter_mut().enumerate().rev() {
            match group.kind {
                Kind::Fixed => continue,
                Kind::Turn if Some(place) == newest => continue,
                Kind::Earlier => group.shorten(room / 8, count, words),
                Kind::Turn | Kind::Exchange => {
                    group.shorten(room / 8 * 3 / others.max(1), count, words);
                }
            }
            if group.kind == Kind::Earlier || kept < others {
                kept += 1;
                used += weigh(group);
            }
        }
        if let Some(group) = newest.and_then(|newest| groups.get_mut(newest)) {
            group.shorten(room.saturating_sub(used), count, words);
        }
    }

    fn words_between(&self, short: &Shortened<'_>, whole: Option<&FileName>) -> String {
        let file = whole.map_or("", FileName::as_str);
        let Shortened { head, tail, left_out, characters } = short;
        let (head, tail) = mended(head, tail);
        let values = json!({"head": head, "tail": tail, "left_out": left_out,
            "characters": characters, "file": file});
        self.prompts.render(self.language, prompt::OUTCOME_SHORTENED, values)
    }

    /// What is left out is said, behind the question.
    fn without_dropped(&self, groups: Vec<Group>, fitted: &Fitted) -> Vec<Message> {
        let is_kept = |place: usize| fitted.kept.get(place + 1).copied().unwrap_or(true);
        let dropped = |kind: Kind| {
            let of_kind = groups.iter().enumerate().filter(|(_, group)| group.kind == kind);
            of_kind.filter(|(place, _)| !is_kept(*place)).count()
        };
        let (exchanges, turns) = (dropped(Kind::Exchange), dropped(Kind::Turn));
        let mut note = (exchanges + turns > 0).then(|| {
            let values = json!({"exchanges": exchanges, "turns": turns});
            Message::User(self.prompts.render(self.language, prompt::NOTE_LEFT_OUT, values))
        });
        let mut messages = Vec::new();
        for (place, group) in groups.into_iter().enumerate() {
            if !is_kept(place) {
                continue;
            }
            let is_question = group.kind == Kind::Fixed;
            messages.extend(group.messages);
            messages.extend(is_question.then(|| note.take()).flatten());
        }
        messages
    }
}

/// The instructions and the tools, and then a piece for each group.
fn pieces<'a>(fixed: &Fixed<'a>, groups: &'a [Group]) -> Vec<Piece<'a>> {
    [piece_of(fixed)].into_iter().chain(groups.iter().map(Group::piece)).collect()
}

fn piece_of<'a>(fixed: &Fixed<'a>) -> Piece<'a> {
    Piece { label: "system", texts: fixed.clone(), pinned: true }
}
