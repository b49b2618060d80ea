//! The previews of one reply, for viewers.

use djinn_core::agent::MIN_SHOWN_CHARS;
use djinn_core::agent_loop::shown_text;
use djinn_core::effect::ModelCall;
use djinn_core::id::{MessageId, Path};
use djinn_core::input::Reply;
use djinn_core::run::Run;
use djinn_core::settings::Role;
use djinn_core::tool::OfferedTool;
use djinn_protocol::preview::{Preview, TextKind};
use djinn_text::deliverables::Deliverables;
use djinn_text::deny::{DenyFilter, DenyList};
use djinn_text::images::ImageFilter;
use djinn_text::urls::{UrlExpander, Urls};

use super::expansion::text_end;
use super::image_links::image_filter;
use crate::port::model::Delta;

/// Converts deltas to previews, with offsets into the journal's text.
pub(super) struct ReplyPreviews<'a> {
    message: MessageId,
    attempt: u32,
    /// True for hidden replies: compactions are for the model alone. Of the employees call only the parsed
    /// names are shown.
    is_hidden: bool,
    text: VisibleText<'a>,
    reasoning: VisibleText<'a>,
    deliverables: Option<HiddenTail>,
    /// The text so far, as long as the reply may hand the run over.
    withheld: Option<String>,
    offered: &'a [OfferedTool],
}

/// The visible part of a text.
struct VisibleText<'a> {
    expander: UrlExpander,
    images: ImageFilter<'a>,
    gate: DenyFilter,
    sent_bytes: u64,
}

impl<'a> ReplyPreviews<'a> {
    /// Creates the previews of a call's reply, with the known URLs of the run and the offered tools.
    pub(super) fn for_run(
        call: &ModelCall,
        run: &Run,
        offered: &'a [OfferedTool],
        is_known: &'a (dyn Fn(&str) -> bool + Sync),
        deny: &DenyList,
    ) -> Self {
        let images = |kind| image_filter(run, kind, is_known);
        let can_hand_over = offered.iter().any(|tool| tool.policy.hands_over);
        Self {
            withheld: can_hand_over.then(String::new),
            offered,
            ..Self::new(call, run.urls(), images, deny, &run.deliverables())
        }
    }

    /// Hides a text from the first phrase of `deny` on, and the list of files at the end of a summary.
    fn new(
        call: &ModelCall,
        urls: &Urls,
        images: impl Fn(TextKind) -> ImageFilter<'a>,
        deny: &DenyList,
        deliverables: &Deliverables,
    ) -> Self {
        let nothing = |kind| VisibleText {
            expander: UrlExpander::new(urls.clone()),
            images: images(kind),
            gate: DenyFilter::new(deny.clone()),
            sent_bytes: 0,
        };
        Self {
            message: call.message.clone(),
            attempt: call.attempt,
            is_hidden: matches!(call.role, Role::Compactor | Role::Employees),
            text: nothing(TextKind::Text),
            reasoning: nothing(TextKind::Reasoning),
            deliverables: (call.role == Role::Summary)
                .then(|| HiddenTail::of(deliverables.clone())),
            withheld: None,
            offered: &[],
        }
    }

    pub(super) fn push_delta(&mut self, delta: Delta<'_>, at_ms: i64) -> Option<Preview> {
        let visible = self.visible_text_mut(delta.kind);
        let text = visible.expander.push(delta.text);
        let text = visible.images.push(&text);
        let text = self.hide_file_list(delta.kind, text);
        let text = self.visible_text_mut(delta.kind).gate.push(&text);
        let text = self.withhold_text(delta.kind, text);
        self.make_preview(delta.kind, text, at_ms)
    }

    /// Returns the text held back so far, after the end of the reply.
    pub(super) fn finish(&mut self, reply: &Reply, at_ms: i64) -> Vec<Preview> {
        let kinds = [TextKind::Reasoning, TextKind::Text].into_iter();
        let rest = kinds.filter_map(|kind| {
            let visible = self.visible_text_mut(kind);
            let end = text_end(reply, kind);
            let text = visible.expander.finish(end);
            let text = visible.images.push(&text) + &visible.images.finish(end);
            let mut text = self.hide_file_list(kind, text);
            if let (TextKind::Text, Some(tail)) = (kind, &mut self.deliverables) {
                text.push_str(&tail.finish());
            }
            let gate = &mut self.visible_text_mut(kind).gate;
            let mut text = gate.push(&text) + &gate.finish();
            if kind == TextKind::Text
                && let Some(withheld) = self.withheld.take()
            {
                let is_shown = !shown_text(reply, self.offered).is_empty();
                text = if is_shown { withheld + &text } else { String::new() };
            }
            self.make_preview(kind, text, at_ms)
        });
        rest.collect()
    }

    pub(super) fn has_sent_text(&self) -> bool {
        self.text.sent_bytes + self.reasoning.sent_bytes > 0
    }

    fn visible_text_mut(&mut self, kind: TextKind) -> &mut VisibleText<'a> {
        match kind {
            TextKind::Text => &mut self.text,
            TextKind::Reasoning => &mut self.reasoning,
        }
    }

    fn hide_file_list(&mut self, kind: TextKind, text: String) -> String {
        match (kind, &mut self.deliverables) {
            (TextKind::Text, Some(tail)) => tail.push_text(&text),
            (TextKind::Text, None) | (TextKind::Reasoning, _) => text,
        }
    }

    /// Withholds a text that is still so short that the reply may hand the run over unseen.
    fn withhold_text(&mut self, kind: TextKind, text: String) -> String {
        let Some(withheld) = self.withheld.as_mut().filter(|_| kind == TextKind::Text) else {
            return text;
        };
        withheld.push_str(&text);
        if withheld.chars().nth(MIN_SHOWN_CHARS - 1).is_none() {
            return String::new();
        }
        self.withheld.take().unwrap_or_default()
    }

    fn make_preview(&mut self, kind: TextKind, text: String, at_ms: i64) -> Option<Preview> {
        if text.is_empty() || self.is_hidden {
            return None;
        }
        let visible_text = self.visible_text_mut(kind);
        let offset = visible_text.sent_bytes;
        visible_text.sent_bytes += text.len() as u64;
        let message = self.message.clone();
        let attempt = self.attempt;
        Some(Preview { path: Path::default(), message, attempt, kind, offset, text, at_ms })
    }
}

/// Holds back the possible file list at the end of a summary.
struct HiddenTail {
    deliverables: Deliverables,
    pending: String,
}

impl HiddenTail {
    fn of(deliverables: Deliverables) -> Self {
        Self { deliverables, pending: String::new() }
    }

    fn push_text(&mut self, text: &str) -> String {
        self.pending.push_str(text);
        let rest = self.pending.split_off(self.deliverables.readable_len(&self.pending));
        std::mem::replace(&mut self.pending, rest)
    }

    /// Returns the rest of the text, without the file list.
    fn finish(&mut self) -> String {
        let pending = std::mem::take(&mut self.pending);
        self.deliverables.split_summary(&pending).0.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use djinn_core::effect::ToolChoice;
    use djinn_core::input::FinishReason;
    use djinn_text::images::TextForm;
    use djinn_text::urls::TextEnd;
    use proptest::prelude::*;

    use super::super::expansion::expand_urls;
    use super::*;

    #[test]
    fn the_file_names_behind_a_summary_are_never_shown_however_it_is_cut() {
        for (reply, text) in [
            ("North grew $5 most.$$$growth.md", "North grew $5 most."),
            ("It costs $$", "It costs $$"),
            ("Nobu ($$$) is best.", "Nobu ($$$) is best."),
            ("Nobu ($$$) is best.$$$a.md、b.md", "Nobu ($$$) is best."),
            ("From $$$ to $$$$: much.$$$", "From $$$ to $$$$: much."),
        ] {
            for cut in 0..=reply.len() {
                if !reply.is_char_boundary(cut) {
                    continue;
                }
                let mut tail = HiddenTail::of(Deliverables::default());
                let shown =
                    [&reply[..cut], &reply[cut..]].map(|piece| tail.push_text(piece)).concat();
                assert_eq!(shown + &tail.finish(), text, "cut at {cut}");
            }
        }
    }

    fn is_known(url: &str) -> bool {
        url.ends_with('a')
    }

    fn shown(role: Role, urls: &Urls, reply: &Reply, at: usize) -> String {
        let message = MessageId::for_turn(1);
        let tool_choice = ToolChoice::Auto;
        let call = ModelCall {
            message,
            role,
            attempt: 1,
            failures: 0,
            crashes: 0,
            retries: 0,
            fallback: None,
            tool_choice,
            interrupts: 0,
            retry_at_ms: None,
            failing_since_ms: None,
            waits: false,
        };
        let deny = DenyList::new(&["ex x"]).unwrap();
        let images = |_| ImageFilter::new(TextForm::Message, &is_known);
        let mut pieces = ReplyPreviews::new(&call, urls, images, &deny, &Deliverables::default());
        let (first, second) = reply.text.split_at(at);
        let delta = |text| Delta { kind: TextKind::Text, text };
        let mut previews: Vec<Preview> = [first, second]
            .into_iter()
            .filter_map(|text| pieces.push_delta(delta(text), 7))
            .collect();
        previews.extend(pieces.finish(reply, 7));
        let mut shown = String::new();
        for preview in previews {
            assert_eq!(preview.offset, shown.len() as u64);
            shown.push_str(&preview.text);
        }
        shown
    }

    proptest! {
        #[test]
        fn previews_add_up_to_the_text_of_the_journal(
            words in proptest::collection::vec("https://[0-3a]|!?\\[x\\]\\(|<img src=|[ .,)>x/见]|\\$\\$\\$| e|ex", 0..9),
            cut in any::<prop::sample::Index>(),
            finish in prop_oneof![Just(FinishReason::Done), Just(FinishReason::Length)],
        ) {
            let mut urls = Urls::default();
            urls.register_urls(&format!("https://a.example/{0} https://b.example/{0}", "x".repeat(80)), TextEnd::Whole);
            let reply = Reply { text: words.concat(), finish, ..Reply::default() };
            let at = reply.text.floor_char_boundary(cut.index(reply.text.len() + 1));
            let whole = expand_urls(reply.clone(), &urls).text;
            let end = text_end(&reply, TextKind::Text);
            let whole = ImageFilter::new(TextForm::Message, &is_known).filter_text(&whole, end);
            let is_denied = DenyList::new(&["ex x"]).unwrap().is_match(&whole);
            if is_denied {
                let shown = shown(Role::React, &urls, &reply, at);
                prop_assert!(whole.starts_with(&shown) && !shown.contains("ex x"), "{shown}");
                return Ok(());
            }
            prop_assert_eq!(&shown(Role::React, &urls, &reply, at), &whole);
            let (answer, _) = Deliverables::default().split_summary(&whole);
            prop_assert_eq!(shown(Role::Summary, &urls, &reply, at), answer);
            prop_assert_eq!(shown(Role::Compactor, &urls, &reply, at), "");
        }
    }
}
